import { useState } from "preact/hooks";
import { type Connection, type UpdateConnection, useUpdateConnection } from "../../api/connections";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { Outside } from "../../ui/Outside";
import { splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { HOSTS, tokenPage } from "./hosts";

const FIELDS = ["name", "workspace", "username", "token"];

/** Another name or another token. Of an app only the name can change. */
export function EditConnection({ connection, onClose }: { connection: Connection; onClose: () => void }) {
  const t = useText();
  const update = useUpdateConnection(connection.id);
  const [draft, setDraft] = useState<UpdateConnection>({});
  const [problem, rest] = splitProblem(update.error, FIELDS);
  const { host, kind } = connection;
  const text = (name: "name" | "workspace" | "username") => ({
    autocomplete: "off" as const,
    value: draft[name] ?? connection[name],
    onValue: (value: string) => setDraft((before) => ({ ...before, [name]: value })),
    problem: problem(name),
  });
  return (
    <Confirm
      title={t.connections.editTitle(connection.name)}
      action={t.common.save}
      busy={update.isPending}
      error={rest}
      onClose={onClose}
      onConfirm={() => {
        const { token, ...others } = draft;
        update.mutate(token ? { ...others, token: token.trim() } : others, {
          onSuccess: () => {
            tell(t.common.saved);
            onClose();
          },
        });
      }}
    >
      <TextField label={t.connections.name} required {...text("name")} />
      {host === "bitbucket" && (
        <>
          <TextField label={t.connections.workspace} {...text("workspace")} />
          <TextField label={t.connections.username} hint={t.connections.usernameHint} {...text("username")} />
        </>
      )}
      {kind === "token" ? (
        <>
          <TextField
            label={t.connections.newToken}
            hint={t.connections.newTokenHint}
            type="password"
            autocomplete="off"
            optional
            value={draft.token ?? ""}
            onValue={(token) => setDraft((before) => ({ ...before, token }))}
            problem={problem("token")}
          />
          <p class="small">
            <Outside href={tokenPage(host, connection.base_url)}>{t.connections.makeToken(HOSTS[host])}</Outside>
          </p>
        </>
      ) : (
        <p class="muted">{t.connections.appOnlyName}</p>
      )}
    </Confirm>
  );
}
