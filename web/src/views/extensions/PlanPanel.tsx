import type { ComponentChildren } from "preact";
import { useText } from "../../text";
import { PlanView } from "./PlanView";
import type { Planned } from "./usePlanned";
import { problemsByName } from "./values";

interface Props {
  planned: Planned;
  /** Why there is no plan, if its reader can do something about it. */
  error: Error | null;
  /** The server cannot make one, and this is no fault of the values. */
  isUnknown?: boolean;
  /** What goes before the plan. */
  head?: ComponentChildren;
  /** What follows the plan: the way to carry it out. */
  children: ComponentChildren;
}

/** The plan as the server makes it of the present values. It stays in sight while the next one is made. */
export function PlanPanel({ planned: { plan, isCurrent }, error, isUnknown = false, head, children }: Props) {
  const { extensionRun: t, installations } = useText();
  const waits = error && Object.keys(problemsByName(error)).length > 0;
  return (
    <section class="card stack plan" aria-busy={!isCurrent}>
      <h2>{t.plan}</h2>
      {head}
      {isUnknown && <p class="muted">{installations.planSecret}</p>}
      {!plan && !error && !isUnknown && <p class="muted">{t.planLoading}</p>}
      {error && <p class="muted">{waits ? t.planWaits : t.planFails}</p>}
      {error && !waits && <p class="problem-text break">{error.message}</p>}
      {plan && !error && <PlanView plan={plan} />}
      {children}
    </section>
  );
}
