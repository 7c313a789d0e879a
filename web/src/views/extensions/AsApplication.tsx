import { useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type CreateExtensionApplication, useCreateExtensionApplication } from "../../api/extensionSources";
import type { Extension } from "../../api/extensions";
import { randomId } from "../../api/random";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { TextField } from "../../ui/Field";
import { useKept } from "../../ui/kept";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { DOMAIN } from "./facts";
import { VariableFields } from "./VariableFields";
import { type Given, otherProblem, sentValues } from "./values";

interface ApplicationDraft {
  name: string;
  domain: string;
  given: Given;
}

const NO_DRAFT: ApplicationDraft = { name: "", domain: "", given: {} };

/** Makes an application of the extension's template. An address can be followed by every role. */
export default function AsApplication({ extension }: { extension: Extension }) {
  const t = useText().extensionApplication;
  if (!useMay("deploy:create")) return <p class="notice">{t.viewer}</p>;
  return <ApplicationForm extension={extension} />;
}

function ApplicationForm({ extension }: { extension: Extension }) {
  const t = useText();
  const { route } = useLocation();
  const [draft, setDraft] = useKept(`application of ${extension.id}`, NO_DRAFT);
  const [isTried, setTried] = useState(false);
  const create = useCreateExtensionApplication(extension.id);
  const sent = useRef({ body: "", key: "" });
  // Where visitors come is asked for once.
  const variables = extension.variables.filter(({ variable_name }) => variable_name !== DOMAIN);
  const names = variables.map(({ variable_name }) => variable_name);
  const [problem, rest] = splitProblem(otherProblem(create.error, names), ["name", "domain"]);
  const change = (part: Partial<ApplicationDraft>) => {
    create.reset();
    setDraft((before) => ({ ...before, ...part }));
  };
  const submit = () => {
    const body = bodyOf(variables, draft);
    const text = JSON.stringify(body);
    if (sent.current.body !== text) sent.current = { body: text, key: randomId() };
    setTried(true);
    create.mutate(
      { body, key: sent.current.key },
      {
        onSuccess: ({ id, deployments: [deployment] }) => {
          setDraft(() => NO_DRAFT);
          route(`/applications/${id}${deployment ? `/deployments/${deployment.id}` : ""}`);
        },
      },
    );
  };
  return (
    <form
      class="card stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!create.isPending) submit();
      }}
    >
      <h2>{t.extensionApplication.title}</h2>
      <p class="muted">{t.extensionApplication.text}</p>
      <TextField
        label={t.extensionApplication.name}
        value={draft.name}
        onValue={(name) => change({ name })}
        placeholder={extension.extension_id}
        optional
        autocomplete="off"
        problem={problem("name")}
      />
      <TextField
        label={t.extensionApplication.domain}
        hint={t.extensionApplication.domainHint}
        value={draft.domain}
        onValue={(domain) => change({ domain })}
        optional
        autocomplete="off"
        spellcheck={false}
        problem={problem("domain")}
      />
      <VariableFields
        {...{ variables, given: draft.given, error: create.error, isTried }}
        onGiven={(given) => change({ given })}
      />
      <ProblemText error={rest} />
      <div class="row">
        <Button type="submit" kind="primary" busy={create.isPending}>
          {t.extensionApplication.create}
        </Button>
      </div>
    </form>
  );
}

function bodyOf(
  variables: Extension["variables"],
  { name, domain, given }: ApplicationDraft,
): CreateExtensionApplication {
  return {
    ...(name.trim() === "" ? {} : { name: name.trim() }),
    ...(domain.trim() === "" ? {} : { domain: domain.trim() }),
    variables: sentValues(variables, given),
  };
}
