import type { ApplicationState } from "../api/applications";
import type { DeploymentState } from "../api/deployments";
import { useText } from "../text";
import "./states.css";

const TONES: Readonly<Record<ApplicationState | DeploymentState, string>> = {
  running: "good",
  deployed: "good",
  failed: "bad",
  stopped: "",
  cancelled: "",
  queued: "busy",
  cloning: "busy",
  building: "busy",
  deploying: "busy",
};

export function ApplicationStateBadge({ state }: { state: ApplicationState }) {
  return <span class={`state ${TONES[state]}`}>{useText().state.application[state]}</span>;
}

export function DeploymentStateBadge({ state }: { state: DeploymentState }) {
  return <span class={`state ${TONES[state]}`}>{useText().state.deployment[state]}</span>;
}
