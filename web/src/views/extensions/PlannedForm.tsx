import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useText } from "../../text";
import { CheckField } from "../../ui/Field";
import type { Planned } from "./usePlanned";
import "./run.css";

interface Props {
  /** Only what the plan beside it shows can be sent. */
  canSubmit: boolean;
  onSubmit: () => void;
  children: ComponentChildren;
}

/** Values, and beside them what comes of them. A field that keeps the form from being sent gets the focus. */
export function PlannedForm({ canSubmit, onSubmit, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const focusProblem = () => form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  return (
    <form
      ref={form}
      class="run-columns"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!canSubmit) return;
        onSubmit();
        requestAnimationFrame(focusProblem);
      }}
    >
      {children}
    </form>
  );
}

/** Asked for where the plan reaches beyond the organization's own containers. */
export function Agreement({ planned }: { planned: Planned }) {
  const t = useText().extensionRun;
  if (!planned.mustAgree) return null;
  return <CheckField label={t.agree} checked={planned.hasAgreed} onChecked={planned.agree} />;
}
