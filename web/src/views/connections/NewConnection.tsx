import { useLocation } from "preact-iso";
import { type CodeHost, useCreateConnection } from "../../api/connections";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { useKept } from "../../ui/kept";
import { Page } from "../../ui/Page";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { tell } from "../../ui/Toast";
import { AppForm } from "./AppForm";
import { bodyOf, type ConnectionDraft, EMPTY_DRAFT, HOSTS } from "./hosts";
import { TokenFields } from "./TokenFields";
import "./connections.css";

const FIELDS = ["name", "base_url", "workspace", "username", "token"];

/** Which code host, then by a token or, at GitHub, by an app. */
export default function NewConnection() {
  const t = useText();
  const { may, membership } = useSession();
  const [draft, setDraft] = useKept(`connection ${membership.organization_id}`, EMPTY_DRAFT);
  const change = (part: Partial<ConnectionDraft>) => setDraft((before) => ({ ...before, ...part }));
  const forget = () => setDraft(() => EMPTY_DRAFT);
  if (!may("connection:create")) {
    return (
      <Page title={t.connections.newTitle}>
        <p class="notice">{t.connections.emptyViewer}</p>
      </Page>
    );
  }
  return (
    <Page title={t.connections.newTitle}>
      <div class="stack form-page">
        <section class="card stack">
          <h2>{t.connections.whichHost}</h2>
          <fieldset class="hosts">
            <legend class="hidden-text">{t.connections.whichHost}</legend>
            {(Object.entries(HOSTS) as [CodeHost, string][]).map(([host, name]) => (
              <label key={host}>
                <input
                  type="radio"
                  name="host"
                  checked={draft.host === host}
                  onChange={() => change({ host, baseUrl: "", token: "" })}
                />
                {name}
              </label>
            ))}
          </fieldset>
        </section>
        {draft.host === "github" && (
          <section class="card stack">
            <h2>{t.connections.way}</h2>
            <fieldset class="stack">
              <legend class="hidden-text">{t.connections.way}</legend>
              {(["app", "token"] as const).map((way) => (
                <label key={way} class="way">
                  <input type="radio" name="way" checked={draft.way === way} onChange={() => change({ way })} />
                  <span>
                    <strong>{t.connections.ways[way][0]}</strong>
                    <span class="hint">{t.connections.ways[way][1]}</span>
                  </span>
                </label>
              ))}
            </fieldset>
          </section>
        )}
        {draft.host === "github" && draft.way === "app" ? (
          <AppForm draft={draft} change={change} onDone={forget} />
        ) : (
          <TokenForm draft={draft} change={change} onDone={forget} />
        )}
      </div>
    </Page>
  );
}

export interface FormProps {
  draft: ConnectionDraft;
  change: (part: Partial<ConnectionDraft>) => void;
  onDone: () => void;
}

function TokenForm({ draft, change, onDone }: FormProps) {
  const t = useText();
  const { route } = useLocation();
  const create = useCreateConnection();
  const [problem, rest] = splitProblem(create.error, FIELDS);
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (create.isPending) return;
        create.mutate(bodyOf(draft), {
          onSuccess: ({ id, name }) => {
            onDone();
            tell(t.connections.connected(name));
            route(`/connections/${id}`);
          },
        });
      }}
    >
      <TokenFields draft={draft} change={change} problem={problem} />
      <ProblemText error={rest} />
      <div class="row">
        <Button type="submit" kind="primary" busy={create.isPending}>
          {t.connections.create}
        </Button>
        <ButtonLink kind="quiet" href="/connections">
          {t.common.cancel}
        </ButtonLink>
      </div>
    </form>
  );
}
