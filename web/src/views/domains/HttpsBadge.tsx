import type { Domain } from "../../api/domains";
import { useText } from "../../text";

const TONES: Readonly<Record<Domain["https"], string>> = { served: "good", ordering: "busy", failed: "bad", none: "" };

export function HttpsBadge({ state }: { state: Domain["https"] }) {
  return <span class={`state ${TONES[state]}`}>{useText().domains.states[state]}</span>;
}
