import { useRef, useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { useRun } from "../../api/executions";
import { type Extension, type RunExtension, usePlan } from "../../api/extensions";
import { ALL, type Installation, useInstallations, useVolumesLeftBehind } from "../../api/installations";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { CheckField, TextField } from "../../ui/Field";
import { useKept } from "../../ui/kept";
import { fieldMessage, ProblemText, split } from "../../ui/Problem";
import { useSettled } from "../../ui/settled";
import { PlanPanel } from "./PlanPanel";
import { VariableField } from "./VariableField";
import { VolumesLeft } from "./VolumesLeft";
import { freeName, type Given, give, otherProblem, problemsByName, sentValues, shownValue } from "./values";
import "../deployments/deployment.css";
import "./run.css";

interface RunDraft {
  given: Given;
  /** Null as long as it is proposed. */
  name: string | null;
  volumes: readonly string[];
}

const NO_DRAFT: RunDraft = { given: {}, name: null, volumes: [] };
const TYPING_MS = 400;

/** A form made of the extension's variables, and beside it what running it with these values would do. */
export function Run({ extension }: { extension: Extension }) {
  const t = useText();
  const { route } = useLocation();
  const mayRun = useMay("extension:run");
  const form = useRef<HTMLFormElement>(null);
  const [draft, setDraft] = useKept(`run ${extension.id}`, NO_DRAFT);
  const [isTried, setTried] = useState(false);
  const [read, setRead] = useState("");
  const run = useRun(extension.id);
  const isInstall = extension.extension_type === "install";
  const installations = useInstallations(1, ALL);
  const installed = installations.data?.installations;
  const name = draft.name ?? freeName(extension.extension_id, takenNames(extension, installed ?? []));
  const left = (useVolumesLeftBehind(isInstall).data ?? []).filter((volume) => volume.application_name === name);

  const body: RunExtension = { variables: sentValues(extension.variables, draft.given) };
  if (isInstall) body.name = name;
  const volumes = draft.volumes.filter((one) => left.some((volume) => volume.name === one));
  if (volumes.length > 0) body.volumes = [...volumes];
  const settled = useSettled(JSON.stringify(body), TYPING_MS);
  const plan = usePlan(extension, JSON.parse(settled) as RunExtension, !isInstall || !installations.isPending);
  const isCurrent = settled === JSON.stringify(body) && !plan.isFetching;

  // A name is proposed once it is known which are taken.
  if (isInstall && installations.isPending) return <Loading />;
  if (!mayRun) return <p class="notice">{t.extensions.viewer}</p>;
  const error = run.error ?? plan.error;
  const problems = problemsByName(error);
  const names = extension.variables.map(({ variable_name }) => variable_name);
  const other = otherProblem(error, names);
  const [field, rest] = split(other, ["name"]);
  const problemAt = (one: string) => (isTried || one in draft.given ? (problems[one] ?? null) : null);
  const change = (part: Partial<RunDraft>) => {
    run.reset();
    setDraft((before) => ({ ...before, ...part }));
  };
  const submit = () => {
    setTried(true);
    if (plan.error) {
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
      return;
    }
    run.mutate(body, {
      onSuccess: ({ id }) => {
        setDraft(() => NO_DRAFT);
        route(`/extensions/executions/${id}`);
      },
    });
  };
  const mustRead = plan.data?.needs_host_access ?? false;
  // Another plan has to be read anew.
  const hasRead = read === JSON.stringify(plan.data);
  const isRefused = plan.data?.is_allowed === false || (mustRead && !hasRead);

  return (
    <form
      ref={form}
      class="run-columns"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!run.isPending && isCurrent && !isRefused) submit();
      }}
    >
      <section class="card stack">
        <h2>{t.extensionRun.values}</h2>
        {extension.variables.length === 0 && !isInstall && <p class="muted">{t.extensionRun.noValues}</p>}
        {isInstall && (
          <TextField
            label={t.extensionRun.name}
            hint={t.extensionRun.nameHint}
            value={name}
            onValue={(value) => change({ name: value })}
            autocomplete="off"
            spellcheck={false}
            maxLength={50}
            problem={other && field === "name" ? fieldMessage(other) : null}
          />
        )}
        {extension.variables.map((variable) => {
          const unchanged = shownValue(variable, {});
          return (
            <VariableField
              key={variable.id}
              variable={variable}
              value={shownValue(variable, draft.given)}
              problem={problemAt(variable.variable_name)}
              secretHint={t.extensionRun.secretHint}
              onValue={(value) => change({ given: give(draft.given, variable.variable_name, value, unchanged) })}
            />
          );
        })}
        <VolumesLeft left={left} chosen={draft.volumes} onChosen={(chosen) => change({ volumes: chosen })} />
      </section>
      <PlanPanel plan={plan.data} error={plan.error} isCurrent={isCurrent}>
        {mustRead && plan.data?.is_allowed && (
          <CheckField
            label={t.extensionRun.agree}
            checked={hasRead}
            onChecked={(is) => setRead(is ? JSON.stringify(plan.data) : "")}
          />
        )}
        {rest && (run.error || isTried) && <ProblemText error={rest} />}
        <div class="row">
          <Button type="submit" kind="primary" busy={run.isPending} disabled={isRefused || !isCurrent}>
            {isInstall ? t.extensions.install : t.extensions.run}
          </Button>
        </div>
      </PlanPanel>
    </form>
  );
}

/** One whose first execution failed is tried again under its name. */
function takenNames(extension: Extension, installed: readonly Installation[]): string[] {
  const isAgain = (one: Installation) =>
    one.extension_id === extension.id && one.state === "failed" && one.execution_id === null;
  return installed.filter((one) => !isAgain(one)).map(({ name }) => name);
}
