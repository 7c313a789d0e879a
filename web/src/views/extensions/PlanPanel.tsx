import type { ComponentChildren } from "preact";
import type { ExtensionPlan } from "../../api/extensions";
import { useText } from "../../text";
import { PlanView } from "./PlanView";
import { problemsByName } from "./values";

interface Props {
  plan: ExtensionPlan | undefined;
  error: Error | null;
  /** False while a newer plan is awaited. */
  isCurrent: boolean;
  /** What follows the plan: the way to carry it out. */
  children: ComponentChildren;
}

/** The plan as the server makes it of the present values. It stays in sight while the next one is made. */
export function PlanPanel({ plan, error, isCurrent, children }: Props) {
  const t = useText().extensionRun;
  const waits = error && Object.keys(problemsByName(error)).length > 0;
  return (
    <section class="card stack plan" aria-busy={!isCurrent}>
      <h2>{t.plan}</h2>
      {!plan && !error && <p class="muted">{t.planLoading}</p>}
      {error && <p class="muted">{waits ? t.planWaits : t.planFails}</p>}
      {error && !waits && <p class="problem-text break">{error.message}</p>}
      {plan && !error && <PlanView plan={plan} />}
      {children}
    </section>
  );
}
