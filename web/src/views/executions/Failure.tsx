import type { Execution } from "../../api/executions";
import { useText } from "../../text";
import { Evidence } from "../../ui/Evidence";
import { evidenceOf, whatIsLeft } from "./left";

/** Why it failed or was cancelled: the step, what was seen, what was undone and what was not. */
export function Failure({ execution }: { execution: Execution }) {
  const t = useText().executions;
  if (execution.status !== "failed" && execution.status !== "cancelled") return null;
  const failed = execution.steps.find(({ status }) => status === "failed");
  const isFailed = execution.status === "failed";
  const left = whatIsLeft(execution.steps);
  const { reason, output } = evidenceOf(execution.error_message, failed);
  return (
    <section class={`notice ${isFailed ? "bad" : ""}`} aria-labelledby="failure">
      <h2 id="failure">{!isFailed ? t.cancelledTitle : failed ? t.failedStep(failed.step_name) : t.failedTitle}</h2>
      {reason && <p class="break">{reason}</p>}
      {isFailed && output && (
        <>
          <h3>{t.output}</h3>
          <Evidence text={output} />
        </>
      )}
      {left.undone > 0 && <p>{t.undone(left.undone)}</p>}
      {left.isBeingUndone && <p>{t.undoing}</p>}
      {left.notUndone.length > 0 && (
        <>
          <p>{t.notUndone}</p>
          <ul class="bullets">
            {left.notUndone.map((step) => (
              <li key={step.id}>
                {step.step_name}
                {step.undo_message && `: ${step.undo_message}`}
              </li>
            ))}
          </ul>
        </>
      )}
      {(execution.kind === "update" || execution.kind === "rollback") && <p class="muted">{t.oldServes}</p>}
    </section>
  );
}
