import { type Extension, useExtension, usePlan } from "../../api/extensions";
import { ALL, useInstallations } from "../../api/installations";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Facts } from "../../ui/Facts";
import { Time } from "../../ui/Time";
import { addressOf, asksForNothing, changesTheMachine, type Step, stepsOf } from "./facts";
import { HostAccess } from "./HostAccess";
import { problemsIn } from "./problems";
import { InstallationStateBadge } from "./State";
import { VariableTable } from "./VariableTable";

/** What it does, what it asks for, who made it. */
export function Overview({ extension }: { extension: Extension }) {
  const t = useText();
  const mayRun = useMay("extension:run");
  const steps = stepsOf(extension);
  return (
    <>
      {extension.validation_status === "invalid" && <Draft extension={extension} />}
      {!mayRun && <p class="notice">{t.extensions.viewer}</p>}
      {extension.is_behind && (
        <p class="notice">
          <span>
            {t.extensions.behindText} <a href={addressOf(extension, "parent")}>{t.offers.toParent}</a>
          </span>
        </p>
      )}
      <p class="prose">{extension.description}</p>
      <InstalledHere extension={extension} />
      <div class="columns">
        {extension.validation_status === "valid" && (
          <section class="card stack">
            <Host extension={extension} />
            <Steps title={t.extensions.phase.run} steps={steps.run} />
            <Steps title={t.extensions.phase.validate} steps={steps.validate} />
          </section>
        )}
        <section class="card stack">
          <h2>{t.extensions.about}</h2>
          <Facts rows={facts(t, extension)} />
          <p class="muted small">{extension.is_verified ? t.extensions.verifiedText : t.extensions.unverifiedText}</p>
        </section>
      </div>
      {extension.validation_status === "valid" && <VariableTable of={extension.variables} />}
    </>
  );
}

function facts(t: Text, extension: Extension): Parameters<typeof Facts>[0]["rows"] {
  return [
    [t.extensions.key, <code key="k">{extension.extension_id}</code>],
    [t.extensions.version, extension.version],
    [t.extensions.author, extension.author],
    [t.extensions.forkOf, extension.parent_extension_id && <Parent key="p" id={extension.parent_extension_id} />],
    [t.extensions.changed, <Time key="t" at={extension.updated_at} />],
  ];
}

/** The one that it was forked from may be gone. */
function Parent({ id }: { id: string }) {
  const t = useText().extensions;
  const { data } = useExtension(id);
  return data ? <a href={addressOf(data)}>{data.name || data.extension_id}</a> : <span>{t.forkOfText}</span>;
}

function Draft({ extension }: { extension: Extension }) {
  const t = useText().extensions;
  return (
    <section class="notice warn">
      <h2>{t.draftTitle}</h2>
      <p>
        {t.draftText(problemsIn(extension.validation_errors).length)}{" "}
        <a href={addressOf(extension, "text")}>{t.toText}</a>
      </p>
    </section>
  );
}

/** With no values to give, the server says all; else the types of the steps say the most. */
function Host({ extension }: { extension: Extension }) {
  const { data: plan } = usePlan(extension, {}, asksForNothing(extension));
  const { run, validate } = stepsOf(extension);
  const isNeeded = plan?.needs_host_access ?? [...run, ...validate].some(changesTheMachine);
  return <HostAccess isNeeded={isNeeded} dangers={plan?.dangers ?? []} />;
}

function Steps({ title, steps }: { title: string; steps: readonly Step[] }) {
  const t = useText().extensions;
  if (steps.length === 0) return null;
  return (
    <div class="stack">
      <h2>{title}</h2>
      <ol class="step-list">
        {steps.map((step) => (
          <li key={step.name}>
            {step.name} <span class="muted small">{t.stepType[step.type] ?? step.type}</span>
            {step.conditions.map((condition) => (
              <span key={condition} class="muted small">
                {t.when(condition)}
              </span>
            ))}
            {step.ignore_errors && <span class="muted small">{t.ignoresErrors}</span>}
          </li>
        ))}
      </ol>
    </div>
  );
}

function InstalledHere({ extension }: { extension: Extension }) {
  const t = useText().extensions;
  const all = useInstallations(1, ALL).data?.installations ?? [];
  const own = all.filter(({ extension_id }) => extension_id === extension.id);
  if (own.length === 0) return null;
  return (
    <section class="card row">
      <h2>{t.installations}:</h2>
      {own.map((installation) => (
        <span key={installation.id} class="row">
          <a href={`/extensions/installations/${installation.id}`}>{installation.name}</a>
          <InstallationStateBadge state={installation.state} />
          {installation.has_update && <span class="tag warn">{t.updateThere}</span>}
        </span>
      ))}
    </section>
  );
}
