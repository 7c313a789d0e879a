import { useLocation } from "preact-iso";
import { type Connection, useDeleteConnection } from "../../api/connections";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";

/** The server refuses it as long as applications use it, and names them. */
export function DeleteConnection({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const t = useText();
  const { route } = useLocation();
  const remove = useDeleteConnection(connection.id);
  return (
    <Confirm
      title={t.connections.removeTitle(connection.name)}
      action={t.connections.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(undefined, {
          onSuccess: () => {
            tell(t.connections.removed(connection.name));
            route("/connections");
          },
        })
      }
    >
      <p>{t.connections.removeText}</p>
      {connection.kind === "github_app" && <p>{t.connections.removeApp}</p>}
    </Confirm>
  );
}
