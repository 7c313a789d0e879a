import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Extension, useExtension, usePlan } from "../../api/extensions";
import { type Installation, isBusy, useUpdateInstallation } from "../../api/installations";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { CheckField } from "../../ui/Field";
import { useKept } from "../../ui/kept";
import { ProblemText } from "../../ui/Problem";
import { useSettled } from "../../ui/settled";
import { readValues } from "../extensions/facts";
import { PlanPanel } from "../extensions/PlanPanel";
import { VariableField } from "../extensions/VariableField";
import { type Given, give, otherProblem, problemsByName, sentValues, shownValue } from "../extensions/values";
import { mergedValues, onlyKeptSecrets } from "./merged";
import { WhatChanges } from "./WhatChanges";
import "../deployments/deployment.css";
import "../extensions/run.css";

/** Other values, and the text that the extension has now. */
export function Update({ installation }: { installation: Installation }) {
  const { installations: t, extensions } = useText();
  const mayRun = useMay("extension:run");
  const { data: extension, error } = useExtension(installation.extension_id);
  if (!mayRun) return <p class="notice">{extensions.viewer}</p>;
  if (error || extension?.deleted_at) return <p class="notice warn">{t.extensionGone}</p>;
  if (installation.execution_id === null) return <p class="notice warn">{t.neverInstalled}</p>;
  if (!extension) return <Loading />;
  return <UpdateForm installation={installation} extension={extension} />;
}

const NOTHING: Given = {};
const TYPING_MS = 400;

function UpdateForm({ installation, extension }: { installation: Installation; extension: Extension }) {
  const t = useText();
  const { route } = useLocation();
  const [given, setGiven] = useKept<Given>(`update ${installation.id}`, NOTHING);
  const [isTried, setTried] = useState(false);
  const [read, setRead] = useState("");
  const update = useUpdateInstallation(installation.id);
  const { variables } = extension;
  const stored = readValues(installation.variable_values);

  const planned = { name: installation.name, variables: mergedValues(variables, stored, given) };
  const settled = useSettled(JSON.stringify(planned), TYPING_MS);
  const plan = usePlan(extension, JSON.parse(settled));
  const isCurrent = settled === JSON.stringify(planned) && !plan.isFetching;
  // Secrets that stay are not known here, and those that cannot be made up make a plan fail.
  const isUnknown = onlyKeptSecrets(plan.error, variables, given);
  const planError = isUnknown ? null : plan.error;
  const error = update.error ?? planError;
  const problems = problemsByName(error);
  const rest = otherProblem(
    error,
    variables.map(({ variable_name }) => variable_name),
  );
  const mustRead = plan.data?.needs_host_access ?? false;
  // Another plan has to be read anew.
  const hasRead = read === JSON.stringify(plan.data);
  const isRefused = plan.data?.is_allowed === false || (mustRead && !hasRead) || isBusy(installation);

  const submit = () => {
    setTried(true);
    if (planError) return;
    update.mutate(
      { variables: sentValues(variables, given) },
      {
        onSuccess: ({ id }) => {
          setGiven(() => NOTHING);
          route(`/extensions/executions/${id}`);
        },
      },
    );
  };
  return (
    <form
      class="run-columns"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!update.isPending && isCurrent && !isRefused) submit();
      }}
    >
      <section class="card stack">
        <h2>{t.extensionRun.values}</h2>
        {variables.length === 0 && <p class="muted">{t.extensions.noVariables}</p>}
        {variables.map((variable) => {
          const name = variable.variable_name;
          return (
            <VariableField
              key={variable.id}
              variable={{ ...variable, is_required: variable.is_required && variable.variable_type !== "secret" }}
              value={shownValue(variable, given, stored)}
              problem={isTried || name in given ? (problems[name] ?? null) : null}
              secretHint={t.extensionRun.keptHint}
              onValue={(value) => {
                update.reset();
                setGiven((before) => give(before, name, value, shownValue(variable, {}, stored)));
              }}
            />
          );
        })}
      </section>
      <PlanPanel
        plan={plan.data}
        error={planError}
        isCurrent={isCurrent}
        isUnknown={isUnknown}
        head={<WhatChanges installation={installation} extension={extension} plan={plan.data} given={given} />}
      >
        <p class="muted small">{t.installations.updateText}</p>
        {mustRead && plan.data?.is_allowed && (
          <CheckField
            label={t.extensionRun.agree}
            checked={hasRead}
            onChecked={(is) => setRead(is ? JSON.stringify(plan.data) : "")}
          />
        )}
        {rest && (update.error || isTried) && <ProblemText error={rest} />}
        <div class="row">
          <Button type="submit" kind="primary" busy={update.isPending} disabled={isRefused || !isCurrent}>
            {t.installations.update}
          </Button>
          {Object.keys(given).length > 0 && (
            <Button onClick={() => setGiven(() => NOTHING)}>{t.settings.discard}</Button>
          )}
        </div>
      </PlanPanel>
    </form>
  );
}
