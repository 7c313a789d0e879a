import { useText } from "../../text";
import { TextField } from "../../ui/Field";
import { Outside } from "../../ui/Outside";
import { type ConnectionDraft, HOSTS, hasAddress, nameOf, publicAddress, tokenPage } from "./hosts";

interface Props {
  draft: ConnectionDraft;
  change: (part: Partial<ConnectionDraft>) => void;
  problem: (field: string) => string | null;
}

/** What a connection by token needs: where the host is, and the token, with what it must be allowed to do. */
export function TokenFields({ draft, change, problem }: Props) {
  const t = useText();
  const { host } = draft;
  const usual = publicAddress(host);
  const page = tokenPage(host, draft.baseUrl);
  return (
    <section class="card stack">
      <h2>{HOSTS[host]}</h2>
      <div class="fields">
        <TextField
          label={t.connections.name}
          hint={t.connections.nameHint}
          required
          autocomplete="off"
          value={nameOf(draft)}
          onValue={(name) => change({ name })}
          problem={problem("name")}
        />
        {hasAddress(host) && (
          <TextField
            label={t.connections.baseUrl}
            hint={usual ? t.connections.baseUrlUsual(usual) : t.connections.baseUrlOwn}
            optional={usual !== ""}
            required={usual === ""}
            autocomplete="off"
            placeholder={usual || "https://git.example.org"}
            value={draft.baseUrl}
            onValue={(baseUrl) => change({ baseUrl })}
            problem={problem("base_url")}
          />
        )}
        {host === "bitbucket" && (
          <>
            <TextField
              label={t.connections.workspace}
              hint={t.connections.workspaceHint}
              required
              autocomplete="off"
              value={draft.workspace}
              onValue={(workspace) => change({ workspace })}
              problem={problem("workspace")}
            />
            <TextField
              label={t.connections.username}
              hint={t.connections.usernameHint}
              optional
              autocomplete="off"
              value={draft.username}
              onValue={(username) => change({ username })}
              problem={problem("username")}
            />
          </>
        )}
        <div class="wide stack">
          <TextField
            label={t.connections.token}
            hint={t.connections.tokenHint}
            type="password"
            required
            autocomplete="off"
            value={draft.token}
            onValue={(token) => change({ token })}
            problem={problem("token")}
          />
          <div class="needs">
            <h3>{t.connections.needs}</h3>
            <ul>
              {t.connections.scopes[host].map((scope) => (
                <li key={scope}>{scope}</li>
              ))}
            </ul>
            {page && <Outside href={page}>{t.connections.makeToken(HOSTS[host])}</Outside>}
          </div>
        </div>
      </div>
    </section>
  );
}
