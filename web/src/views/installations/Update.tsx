import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Extension, useExtension } from "../../api/extensions";
import { type Installation, isBusy, useUpdateInstallation, useUpdateOffer } from "../../api/installations";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { useKept } from "../../ui/kept";
import { ProblemText } from "../../ui/Problem";
import { readValues } from "../extensions/facts";
import { Agreement, PlannedForm } from "../extensions/PlannedForm";
import { PlanPanel } from "../extensions/PlanPanel";
import { usePlanned } from "../extensions/usePlanned";
import { VariableFields } from "../extensions/VariableFields";
import { type Given, otherProblem, sentValues } from "../extensions/values";
import { UpdateOffer } from "../offers/UpdateOffer";
import { mergedValues, onlyKeptSecrets } from "./merged";
import { WhatChanges } from "./WhatChanges";

interface Props {
  installation: Installation;
  extension: Extension;
}

/** Other values, and the text that the extension has now. */
export function Update({ installation }: { installation: Installation }) {
  const t = useText().installations;
  const mayRun = useMay("extension:run");
  const { data: extension, error } = useExtension(installation.extension_id);
  if (error || extension?.deleted_at) return <p class="notice warn">{t.extensionGone}</p>;
  if (installation.execution_id === null) return <p class="notice warn">{t.neverInstalled}</p>;
  if (!extension) return <Loading />;
  if (!mayRun) return <LookAtOffer installation={installation} extension={extension} />;
  return <UpdateForm installation={installation} extension={extension} />;
}

/** For those who may not update. */
function LookAtOffer({ installation, extension }: Props) {
  const t = useText().extensions;
  const { data: offer, error } = useUpdateOffer(installation.id, extension.content_hash);
  return (
    <>
      <p class="notice">{t.viewer}</p>
      <ProblemText error={error} />
      {offer && <UpdateOffer offer={offer} />}
    </>
  );
}

const NOTHING: Given = {};
const NO_DEFAULTS: readonly string[] = [];

function UpdateForm({ installation, extension }: Props) {
  const t = useText();
  const { route } = useLocation();
  const [given, setGiven] = useKept<Given>(`update ${installation.id}`, NOTHING);
  const [chosen, setDefaults] = useKept(`defaults ${installation.id}`, NO_DEFAULTS);
  const [isTried, setTried] = useState(false);
  const update = useUpdateInstallation(installation.id);
  const { variables } = extension;
  const { data: offer, error: offerError } = useUpdateOffer(installation.id, extension.content_hash);
  // What is given goes before a default.
  const defaults = chosen.filter((name) => !(name in given));
  const stored = readValues(installation.variable_values);
  const values = mergedValues(variables, stored, given, defaults);
  const planned = usePlanned(extension, { name: installation.name, variables: values });
  // Secrets that stay are not known here, and those that cannot be made up make a plan fail.
  const isUnknown = onlyKeptSecrets(planned.error, variables, given);
  const planError = isUnknown ? null : planned.error;
  const error = update.error ?? planError;
  const rest = otherProblem(
    error,
    variables.map(({ variable_name }) => variable_name),
  );
  const change = (next: Given) => {
    update.reset();
    setGiven(() => next);
  };
  const onStarted = ({ id }: { id: string }) => {
    setGiven(() => NOTHING);
    setDefaults(() => NO_DEFAULTS);
    route(`/extensions/executions/${id}`);
  };
  const submit = () => {
    setTried(true);
    if (planError) return;
    // Only the text that was looked at.
    const content_hash = offer?.new_content_hash ?? extension.content_hash;
    update.mutate(
      {
        variables: sentValues(variables, given),
        content_hash,
        ...(defaults.length > 0 ? { defaults: [...defaults] } : {}),
      },
      { onSuccess: onStarted },
    );
  };
  const canSubmit = planned.isCurrent && !planned.isRefused && !isBusy(installation);
  return (
    <>
      {installation.has_update && !offer && <ProblemText error={offerError} />}
      {offer && (
        <UpdateOffer
          offer={offer}
          defaults={defaults}
          onDefaults={(next) => {
            update.reset();
            setDefaults(() => next);
            setGiven((before) => without(before, next));
          }}
        />
      )}
      <PlannedForm canSubmit={canSubmit && !update.isPending} onSubmit={submit}>
        <section class="card stack">
          <h2>{t.extensionRun.values}</h2>
          {variables.length === 0 && <p class="muted">{t.extensions.noVariables}</p>}
          <VariableFields
            {...{ variables, given, error, isTried }}
            stored={without(stored, defaults)}
            onGiven={change}
          />
        </section>
        <PlanPanel
          planned={planned}
          error={planError}
          isUnknown={isUnknown}
          head={<WhatChanges installation={installation} extension={extension} plan={planned.plan} given={given} />}
        >
          <p class="muted small">{t.installations.updateText}</p>
          <Agreement planned={planned} />
          {(update.error || isTried) && <ProblemText error={rest} />}
          <div class="row">
            <Button type="submit" kind="primary" busy={update.isPending} disabled={!canSubmit}>
              {t.installations.update}
            </Button>
            {Object.keys(given).length > 0 && <Button onClick={() => change(NOTHING)}>{t.settings.discard}</Button>}
          </div>
        </PlanPanel>
      </PlannedForm>
    </>
  );
}

const without = <T,>(values: Readonly<Record<string, T>>, names: readonly string[]): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
