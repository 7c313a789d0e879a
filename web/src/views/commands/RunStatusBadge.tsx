import type { RunStatus } from "../../api/runs";
import { useText } from "../../text";
import "../../ui/states.css";

const TONES: Readonly<Record<RunStatus, string>> = {
  queued: "busy",
  running: "busy",
  succeeded: "good",
  failed: "bad",
  cancelled: "",
  timed_out: "bad",
  interrupted: "bad",
  skipped: "",
};

export function RunStatusBadge({ status }: { status: RunStatus }) {
  return <span class={`state ${TONES[status]}`}>{useText().runs.states[status]}</span>;
}
