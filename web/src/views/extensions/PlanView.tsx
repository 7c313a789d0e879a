import type { ExtensionPlan } from "../../api/extensions";
import { useText } from "../../text";
import { Evidence } from "../../ui/Evidence";
import { Facts } from "../../ui/Facts";
import { duration } from "../../ui/time";
import { HostAccess } from "./HostAccess";

type PlannedStep = ExtensionPlan["steps"][number];

/** What would be done: first what it takes and makes, then step by step. */
export function PlanView({ plan }: { plan: ExtensionPlan }) {
  const t = useText();
  const list = (texts: readonly string[]) => texts.length > 0 && <List texts={texts} />;
  const phases = ["run", "validate"] as const;
  return (
    <div class="stack">
      <HostAccess isNeeded={plan.needs_host_access} dangers={plan.dangers} />
      <Facts
        rows={[
          [t.extensionRun.images, list(plan.images)],
          [t.extensionRun.domains, list(plan.domains)],
          [t.extensionRun.ports, list(plan.ports)],
          [t.extensionRun.volumesOf, list(plan.volumes)],
          [t.extensionRun.files, list(plan.files)],
        ]}
      />
      {phases.map((phase) => {
        const steps = plan.steps.filter((step) => step.phase === phase);
        if (steps.length === 0) return null;
        return (
          <div key={phase} class="stack">
            <h3>{t.extensions.phase[phase]}</h3>
            <ol class="step-list plan-steps">
              {steps.map((step) => (
                <Step key={step.step_order} step={step} />
              ))}
            </ol>
          </div>
        );
      })}
    </div>
  );
}

function List({ texts }: { texts: readonly string[] }) {
  return (
    <ul>
      {texts.map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

function Step({ step }: { step: PlannedStep }) {
  const t = useText();
  const notes = [
    step.skipped && t.extensionRun.skipped(step.skipped),
    step.ignore_errors && t.extensions.ignoresErrors,
    !step.skipped && t.extensionRun.limit(duration(step.timeout_seconds * 1000)),
  ].filter(Boolean);
  return (
    <li class={step.skipped ? "muted" : ""}>
      <span class="plan-step-name">{step.step_name}</span>
      <span class="muted small">{notes.join(" · ")}</span>
      {!step.skipped && (
        <ul class="plan-actions">
          {step.actions.map((action) => (
            <li key={action}>
              <Action text={action} />
            </li>
          ))}
        </ul>
      )}
      {!step.skipped && step.phase === "run" && (
        <details class="plan-undo small">
          <summary>{step.undo ? t.extensionRun.undo : t.extensionRun.notUndone}</summary>
          <Action text={step.undo || t.extensionRun.notUndone} />
        </details>
      )}
    </li>
  );
}

/** A command of several lines stands below what is said of it. */
function Action({ text }: { text: string }) {
  const [, said, command] = /^([^\n]*?: )([\s\S]*\n[\s\S]*)$/.exec(text.trimEnd()) ?? [];
  if (!command) return <span class="break">{text}</span>;
  return (
    <>
      {said}
      <Evidence label={said ?? ""} text={command} />
    </>
  );
}
