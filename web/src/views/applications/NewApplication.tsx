import { useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type BuildPack, createApplication } from "../../api/applications";
import { randomId } from "../../api/random";
import { useMay, useSession } from "../../session";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { Empty } from "../../ui/Empty";
import { AreaField, CheckField, SelectField, TextField } from "../../ui/Field";
import { useKept } from "../../ui/kept";
import { Page } from "../../ui/Page";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { startUpload } from "../../uploads/running";
import { buildPacks } from "../settings/options";
import { canBeSent } from "../uploads/ChooseUpload";
import { parse } from "../variables/dotenv";
import { LineProblems } from "../variables/LineProblems";
import { BuildPreview } from "./BuildPreview";
import {
  bodyOf,
  EMPTY_DRAFT,
  IMAGE,
  isSecret,
  type NewApplicationDraft,
  nameOf,
  PUSHED,
  UPLOADED,
} from "./newApplication";
import { type PartProps, SourceFields } from "./SourceFields";
import "./applications.css";

const FIELDS = [
  "repository",
  "image",
  "branch",
  "name",
  "base_path",
  "build_pack",
  "program",
  "port",
  "environment_variables",
  "repository_token",
];

/** An address can be followed by every role. */
export default function NewApplication() {
  const t = useText();
  if (useMay("deploy:create")) return <CreateForm />;
  return (
    <Page title={t.create.title}>
      <Empty title={t.problem.forbidden}>
        <ButtonLink href="/applications">{t.shell.toApplications}</ButtonLink>
      </Empty>
    </Page>
  );
}

function CreateForm() {
  const t = useText();
  const { route } = useLocation();
  const { membership } = useSession();
  const [draft, setDraft] = useKept(`new ${membership.organization_id}`, EMPTY_DRAFT);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  // The same body is sent with the same key, so that a request whose answer was lost is not done twice.
  const sent = useRef({ body: "", key: "" });

  const change = (part: Partial<NewApplicationDraft>) => setDraft((before) => ({ ...before, ...part }));
  const [problem, rest] = splitProblem(error, FIELDS);

  const submit = async () => {
    const body = bodyOf(draft);
    const text = JSON.stringify(body);
    if (sent.current.body !== text) sent.current = { body: text, key: randomId() };
    setBusy(true);
    setError(null);
    try {
      const made = await createApplication(body, sent.current.key);
      setDraft(() => EMPTY_DRAFT);
      if (draft.repository === UPLOADED && draft.upload) {
        startUpload(made.id, draft.upload);
        route(`/applications/${made.id}/upload`);
        return;
      }
      const [deployment] = made.deployments;
      // Without a deployment it waits for its first push.
      route(`/applications/${made.id}/${deployment ? `deployments/${deployment.id}` : "pushes"}`);
    } catch (thrown) {
      setError(thrown as Error);
      setBusy(false);
    }
  };

  return (
    <Page title={t.create.title}>
      <form
        class="stack form-page"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && parse(draft.variables).problems.length === 0) void submit();
        }}
      >
        <SourceFields draft={draft} change={change} problem={problem} />
        <section class="card fields">
          <TextField
            label={t.create.name}
            hint={t.create.nameHint}
            required
            autocomplete="off"
            value={nameOf(draft)}
            onValue={(name) => change({ name })}
            problem={problem("name")}
          />
          {draft.repository !== IMAGE && <BuildFields draft={draft} change={change} problem={problem} />}
          <TextField
            label={t.create.port}
            hint={t.create.portHint}
            optional
            inputMode="numeric"
            pattern="[0-9]*"
            value={draft.port}
            onValue={(port) => change({ port })}
            problem={problem("port")}
          />
        </section>
        <VariableFields draft={draft} change={change} problem={problem} />
        {draft.repository.trim() !== "" &&
          ![PUSHED, UPLOADED, IMAGE].includes(draft.repository) &&
          nameOf(draft).trim() !== "" && <BuildPreview draft={draft} change={change} />}
        <ProblemText error={rest} />
        <div class="row">
          <Button type="submit" kind="primary" busy={busy} disabled={!hasSource(draft)}>
            {draft.repository === PUSHED ? t.create.submitPushed : t.create.submit}
          </Button>
          <ButtonLink kind="quiet" href="/applications">
            {t.common.cancel}
          </ButtonLink>
        </div>
      </form>
    </Page>
  );
}

const hasSource = ({ repository, upload }: NewApplicationDraft): boolean =>
  repository === UPLOADED ? canBeSent(upload) : repository !== "";

/** How a repository becomes an artifact. */
function BuildFields({ draft, change, problem }: PartProps) {
  const t = useText();
  return (
    <>
      <TextField
        label={t.create.folder}
        hint={t.create.folderHint}
        optional
        autocomplete="off"
        value={draft.basePath}
        onValue={(basePath) => change({ basePath })}
        problem={problem("base_path")}
      />
      <SelectField
        label={t.settings.field.build_pack[0]}
        options={buildPacks(t)}
        value={draft.buildPack}
        onValue={(name) => change({ buildPack: name as BuildPack })}
        problem={problem("build_pack")}
      />
      {draft.program !== "" && (
        <TextField
          label={t.settings.field.program[0]}
          optional
          autocomplete="off"
          value={draft.program}
          onValue={(program) => change({ program })}
          problem={problem("program")}
        />
      )}
    </>
  );
}

/** Variables as one text, and which of them are secrets. */
function VariableFields({ draft, change, problem }: PartProps) {
  const t = useText().create;
  const { variables, problems } = parse(draft.variables);
  const names = Object.keys(variables);
  return (
    <section class="card stack">
      <AreaField
        label={t.variables}
        hint={t.variablesHint}
        optional
        rows={5}
        value={draft.variables}
        onValue={(text) => change({ variables: text })}
        problem={problem("environment_variables")}
      />
      <LineProblems problems={problems} />
      {names.length > 0 && (
        <fieldset class="stack">
          <legend>{t.secrets}</legend>
          <div class="choices">
            {names.map((name) => (
              <CheckField
                key={name}
                label={name}
                checked={isSecret(draft, name)}
                onChecked={(checked) => change({ secrets: { ...draft.secrets, [name]: checked } })}
              />
            ))}
          </div>
        </fieldset>
      )}
    </section>
  );
}
