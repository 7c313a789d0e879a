import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { useConnections, useCreateGithubApp } from "../../api/connections";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { Outside } from "../../ui/Outside";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { nameOf } from "./hosts";
import type { FormProps } from "./NewConnection";

const FIELDS = ["name", "base_url", "github_organization"];
/** While a person is at GitHub, in another tab. */
const LOOK_MS = 3_000;

type Link = Schemas["GithubAppLink"];

/**
 * An app of GitHub. The dashboard's policy lets it send no form to another server; so the server gives the address of a page of its
 * own, whose button goes to GitHub.
 */
export function AppForm({ draft, change, onDone }: FormProps) {
  const t = useText();
  const create = useCreateGithubApp();
  const [link, setLink] = useState<Link | null>(null);
  const [problem, rest] = splitProblem(create.error, FIELDS);
  if (link) return <AtGithub link={link} name={nameOf(draft)} onAgain={() => setLink(null)} onDone={onDone} />;

  const submit = () => {
    const body: Schemas["CreateGithubApp"] = { name: nameOf(draft).trim() };
    if (draft.baseUrl.trim()) body.base_url = draft.baseUrl.trim();
    if (draft.githubOrganization.trim()) body.github_organization = draft.githubOrganization.trim();
    create.mutate(body, { onSuccess: setLink });
  };
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (!create.isPending) submit();
      }}
    >
      <section class="card fields">
        <TextField
          label={t.connections.name}
          hint={t.connections.nameHint}
          required
          autocomplete="off"
          value={nameOf(draft)}
          onValue={(name) => change({ name })}
          problem={problem("name")}
        />
        <TextField
          label={t.connections.githubOrganization}
          hint={t.connections.githubOrganizationHint}
          optional
          autocomplete="off"
          value={draft.githubOrganization}
          onValue={(githubOrganization) => change({ githubOrganization })}
          problem={problem("github_organization")}
        />
        <TextField
          label={t.connections.baseUrl}
          hint={t.connections.enterprise}
          optional
          autocomplete="off"
          placeholder="https://github.com"
          value={draft.baseUrl}
          onValue={(baseUrl) => change({ baseUrl })}
          problem={problem("base_url")}
        />
      </section>
      <ProblemText error={rest} />
      <div class="row">
        <Button type="submit" kind="primary" busy={create.isPending}>
          {t.connections.appNext}
        </Button>
        <ButtonLink kind="quiet" href="/connections">
          {t.common.cancel}
        </ButtonLink>
      </div>
    </form>
  );
}

interface AtGithubProps {
  link: Link;
  name: string;
  onAgain: () => void;
  onDone: () => void;
}

/** Waits until the server has heard from GitHub. */
function AtGithub({ link, name, onAgain, onDone }: AtGithubProps) {
  const t = useText();
  const { data } = useConnections(true, LOOK_MS);
  const made = data?.connections.find(
    (connection) => connection.kind === "github_app" && connection.created_at > beforeAnHour(link.expires_at),
  );
  if (made) {
    return (
      <section class="card stack" role="status">
        <h2>{t.connections.connected(made.name)}</h2>
        <p>{t.connections.appInstall}</p>
        <div class="row">
          <Outside href={made.install_url} button="primary">
            {t.connections.install}
          </Outside>
          <a class="button plain" href={`/connections/${made.id}`} onClick={onDone}>
            {t.connections.toConnection}
          </a>
        </div>
      </section>
    );
  }
  return (
    <section class="card stack">
      <h2>{t.connections.appTitle(name)}</h2>
      <ol class="numbered">
        {t.connections.appSteps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <p class="muted" role="status">
        {t.connections.appWaiting} {t.connections.appExpires} <Time at={link.expires_at} />
      </p>
      <div class="row">
        <Outside href={link.link} button="primary">
          {t.connections.appOpen}
        </Outside>
        <Button kind="quiet" onClick={onAgain}>
          {t.common.back}
        </Button>
      </div>
    </section>
  );
}

const HOUR_MS = 3_600_000;

/** Links last an hour, so this is when it was asked for, by the server's clock. */
const beforeAnHour = (expiresAt: string): string => new Date(Date.parse(expiresAt) - HOUR_MS).toISOString();
