import { type Execution, type ExecutionStep, isUnderWay } from "../../api/executions";
import { useText } from "../../text";
import { Duration } from "../../ui/Time";
import "../../ui/steps.css";
import "./executions.css";

/** Each step with its state, how long it took, and what became of it. */
export function StepTable({ execution }: { execution: Execution }) {
  return (
    <ol class="steps execution-steps">
      {execution.steps.map((step) => (
        <Step key={step.id} step={step} execution={execution} />
      ))}
    </ol>
  );
}

const LOOKS: Readonly<Record<ExecutionStep["status"], string>> = {
  pending: "later",
  running: "now",
  completed: "done",
  failed: "failed",
  skipped: "later",
  cancelled: "later",
};

function Step({ step, execution }: { step: ExecutionStep; execution: Execution }) {
  const t = useText();
  const { started_at, completed_at, status, undo_status } = step;
  const isOver = status !== "running";
  const isNeverReached = status === "pending" && !isUnderWay(execution);
  // Where it failed, what could not be undone is told above.
  const message = execution.status === "completed" ? step.undo_message : "";
  return (
    <li class={LOOKS[status]} aria-current={status === "running" ? "step" : undefined}>
      <span class="execution-step">
        <span class="break">{step.step_name}</span>{" "}
        <span class="muted small">
          {[t.extensions.stepType[step.step_type] ?? step.step_type, t.executions.undo[undo_status]]
            .filter(Boolean)
            .join(" · ")}
        </span>
        {message && <span class="small break">{message}</span>}
      </span>
      <span class="execution-step-end">
        <span class="small">{isNeverReached ? t.executions.notReached : t.executions.stepStates[status]}</span>
        {started_at && <Duration from={started_at} to={isOver ? (completed_at ?? started_at) : null} />}
      </span>
    </li>
  );
}
