import type { ExecutionStatus } from "../../api/executions";
import type { InstallationState } from "../../api/installations";
import { useText } from "../../text";
import "../../ui/states.css";

const TONES: Readonly<Record<ExecutionStatus | InstallationState, string>> = {
  pending: "busy",
  running: "busy",
  completed: "good",
  failed: "bad",
  cancelled: "",
  installing: "busy",
  installed: "good",
  updating: "busy",
  uninstalling: "busy",
};

export function ExecutionStateBadge({ state }: { state: ExecutionStatus }) {
  return <span class={`state ${TONES[state]}`}>{useText().executions.states[state]}</span>;
}

export function InstallationStateBadge({ state }: { state: InstallationState }) {
  return <span class={`state ${TONES[state]}`}>{useText().installations.states[state]}</span>;
}
