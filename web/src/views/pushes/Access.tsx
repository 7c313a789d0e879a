import { useState } from "preact/hooks";
import { type Application, useUpdateApplication } from "../../api/applications";
import { useConnections } from "../../api/connections";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Facts } from "../../ui/Facts";
import { tell } from "../../ui/Toast";
import { DeployKey } from "./DeployKey";
import { isOverSsh } from "./facts";

/** How the repository is read: by a connection, by a token or key that a member gave, or by a key that Windlass made. */
export function Access({ application }: { application: Application }) {
  const t = useText();
  const mayUpdate = useMay("deploy:update");
  const { data } = useConnections(application.connection_id !== null);
  const connection = data?.connections.find(({ id }) => id === application.connection_id);
  const [forgets, setForgets] = useState(false);
  const overSsh = isOverSsh(application.repository);
  return (
    <section class="card stack">
      <h2>{t.pushes.access}</h2>
      <Facts
        rows={[
          [t.create.repository, application.repository],
          [
            t.pushes.connection,
            connection ? <a href={`/connections/${connection.id}`}>{connection.name}</a> : t.pushes.none,
          ],
          [t.pushes.credentials, application.has_repository_credentials ? t.pushes.stored : t.pushes.none],
        ]}
      />
      {!application.connection_id && !application.has_repository_credentials && (
        <p class="muted">{t.pushes.publicOnly}</p>
      )}
      {overSsh && <DeployKey application={application} />}
      {mayUpdate && application.has_repository_credentials && !overSsh && (
        <div class="row">
          <Button onClick={() => setForgets(true)}>{t.pushes.forget}</Button>
        </div>
      )}
      {forgets && <Forget application={application} onClose={() => setForgets(false)} />}
    </section>
  );
}

/** The settings can only replace a token, since an empty field there keeps it. */
function Forget({ application, onClose }: { application: Application; onClose: () => void }) {
  const t = useText();
  const update = useUpdateApplication();
  return (
    <Confirm
      title={t.pushes.forgetTitle}
      action={t.pushes.forget}
      danger
      busy={update.isPending}
      error={update.error}
      onClose={onClose}
      onConfirm={() =>
        update.mutate(
          { id: application.id, repository_token: "", repository_ssh_key: "" },
          {
            onSuccess: () => {
              tell(t.common.saved);
              onClose();
            },
          },
        )
      }
    >
      <p>{t.pushes.forgetText}</p>
    </Confirm>
  );
}
