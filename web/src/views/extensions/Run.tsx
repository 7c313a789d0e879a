import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useRun } from "../../api/executions";
import type { Extension, RunExtension } from "../../api/extensions";
import { ALL, type Installation, useInstallations, useVolumesLeftBehind } from "../../api/installations";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { TextField } from "../../ui/Field";
import { useKept } from "../../ui/kept";
import { ProblemText, splitProblem } from "../../ui/Problem";
import { Agreement, PlannedForm } from "./PlannedForm";
import { PlanPanel } from "./PlanPanel";
import { usePlanned } from "./usePlanned";
import { VariableFields } from "./VariableFields";
import { VolumesLeft } from "./VolumesLeft";
import { freeName, type Given, otherProblem, sentValues } from "./values";

interface RunDraft {
  given: Given;
  /** Null as long as it is proposed. */
  name: string | null;
  volumes: readonly string[];
}

const NO_DRAFT: RunDraft = { given: {}, name: null, volumes: [] };

const isInstalled = ({ extension_type }: Extension): boolean => extension_type === "install";

export function Run({ extension }: { extension: Extension }) {
  const t = useText();
  const mayRun = useMay("extension:run");
  const installations = useInstallations(1, ALL);
  // A name is proposed once it is known which are taken.
  if (isInstalled(extension) && installations.isPending) return <Loading />;
  if (!mayRun) return <p class="notice">{t.extensions.viewer}</p>;
  return <RunForm extension={extension} installed={installations.data?.installations ?? []} />;
}

/** A form made of the extension's variables, and beside it what running it with these values would do. */
function RunForm({ extension, installed }: { extension: Extension; installed: readonly Installation[] }) {
  const t = useText();
  const { route } = useLocation();
  const [draft, setDraft] = useKept(`run ${extension.id}`, NO_DRAFT);
  const [isTried, setTried] = useState(false);
  const run = useRun(extension.id);
  const { variables } = extension;
  const isInstall = isInstalled(extension);
  const name = draft.name ?? freeName(extension.extension_id, takenNames(extension, installed));
  const left = (useVolumesLeftBehind(isInstall).data ?? []).filter((volume) => volume.application_name === name);
  const volumes = draft.volumes.filter((one) => left.some((volume) => volume.name === one));
  const body = bodyOf(extension, { given: draft.given, name, volumes });
  const planned = usePlanned(extension, body);
  const error = run.error ?? planned.error;
  const other = otherProblem(
    error,
    variables.map(({ variable_name }) => variable_name),
  );
  const [problem, rest] = splitProblem(other, ["name"]);
  const change = (part: Partial<RunDraft>) => {
    run.reset();
    setDraft((before) => ({ ...before, ...part }));
  };
  const onStarted = ({ id }: { id: string }) => {
    setDraft(() => NO_DRAFT);
    route(`/extensions/executions/${id}`);
  };
  const submit = () => {
    setTried(true);
    if (!planned.error) run.mutate(body, { onSuccess: onStarted });
  };
  const canSubmit = planned.isCurrent && !planned.isRefused;
  return (
    <PlannedForm canSubmit={canSubmit && !run.isPending} onSubmit={submit}>
      <section class="card stack">
        <h2>{t.extensionRun.values}</h2>
        {variables.length === 0 && !isInstall && <p class="muted">{t.extensionRun.noValues}</p>}
        {isInstall && <NameField name={name} problem={problem("name")} onName={(typed) => change({ name: typed })} />}
        <VariableFields {...{ variables, given: draft.given, error, isTried }} onGiven={(given) => change({ given })} />
        <VolumesLeft left={left} chosen={draft.volumes} onChosen={(chosen) => change({ volumes: chosen })} />
      </section>
      <PlanPanel planned={planned} error={planned.error}>
        <Agreement planned={planned} />
        {(run.error || isTried) && <ProblemText error={rest} />}
        <div class="row">
          <Button type="submit" kind="primary" busy={run.isPending} disabled={!canSubmit}>
            {isInstall ? t.extensions.install : t.extensions.run}
          </Button>
        </div>
      </PlanPanel>
    </PlannedForm>
  );
}

interface NameProps {
  name: string;
  problem: string | null;
  onName: (name: string) => void;
}

function NameField({ name, problem, onName }: NameProps) {
  const t = useText().extensionRun;
  return (
    <TextField
      label={t.name}
      hint={t.nameHint}
      value={name}
      onValue={onName}
      autocomplete="off"
      spellcheck={false}
      maxLength={50}
      problem={problem}
    />
  );
}

function bodyOf(extension: Extension, { given, name, volumes }: RunDraft & { name: string }): RunExtension {
  const body: RunExtension = { variables: sentValues(extension.variables, given) };
  if (isInstalled(extension)) body.name = name;
  if (volumes.length > 0) body.volumes = [...volumes];
  return body;
}

/** One whose first execution failed is tried again under its name. */
function takenNames(extension: Extension, installed: readonly Installation[]): string[] {
  const isAgain = (one: Installation) =>
    one.extension_id === extension.id && one.state === "failed" && one.execution_id === null;
  return installed.filter((one) => !isAgain(one)).map(({ name }) => name);
}
