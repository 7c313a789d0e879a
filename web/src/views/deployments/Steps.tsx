import { type Deployment, isUnderWay, useDeploymentNotes } from "../../api/deployments";
import { useText } from "../../text";
import { Duration } from "../../ui/Time";
import { stepsOf } from "./steps";
import "../../ui/steps.css";

export function Steps({ deployment }: { deployment: Deployment }) {
  const t = useText();
  const underWay = isUnderWay(deployment);
  const { data } = useDeploymentNotes(deployment.id, underWay);
  const steps = stepsOf(data?.logs ?? [], deployment.completed_at);
  if (steps.length === 0) return underWay ? <p class="muted">{t.deployment.waiting}</p> : null;
  return (
    <ol class="steps">
      {steps.map(({ name, startedAt, endedAt }, index) => {
        const isLast = index === steps.length - 1;
        const state = isLast && underWay ? "now" : isLast && deployment.failure ? "failed" : "done";
        return (
          <li key={name} class={state} aria-current={state === "now" ? "step" : undefined}>
            <span>{t.deployment.step[name]}</span>
            <Duration from={startedAt} to={endedAt ?? (underWay ? null : startedAt)} />
          </li>
        );
      })}
    </ol>
  );
}
