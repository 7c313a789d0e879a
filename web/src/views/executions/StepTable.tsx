import type { ExecutionStep } from "../../api/executions";
import { useText } from "../../text";
import { Duration } from "../../ui/Time";
import "../deployments/deployment.css";
import "./executions.css";

/** Each step with its state, how long it took, and what became of it. */
export function StepTable({ steps }: { steps: readonly ExecutionStep[] }) {
  return (
    <ol class="steps execution-steps">
      {steps.map((step) => (
        <Step key={step.id} step={step} />
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

function Step({ step }: { step: ExecutionStep }) {
  const t = useText();
  const { started_at, completed_at, status, undo_status } = step;
  const isOver = status !== "running";
  return (
    <li class={LOOKS[status]} aria-current={status === "running" ? "step" : undefined}>
      <span class="execution-step">
        <span class="break">{step.step_name}</span>{" "}
        <span class="muted small">
          {[t.extensions.stepType[step.step_type] ?? step.step_type, t.executions.undo[undo_status]]
            .filter(Boolean)
            .join(" · ")}
        </span>
        {step.undo_message && <span class="small break">{step.undo_message}</span>}
      </span>
      <span class="execution-step-end">
        <span class="small">{t.executions.stepStates[status]}</span>
        {started_at && <Duration from={started_at} to={isOver ? (completed_at ?? started_at) : null} />}
      </span>
    </li>
  );
}
