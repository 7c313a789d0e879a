import type { LogLine } from "../../api/deployments";

export interface Step {
  name: LogLine["step"];
  startedAt: string;
  /** Null as long as no later step has begun and the deployment is not at its end. */
  endedAt: string | null;
}

/** What happens after the end of a deployment is told by its state and its log, not as a step of it. */
const AFTERWARDS: readonly LogLine["step"][] = ["run"];

/**
 * The steps of a deployment, by the times of the lines that Windlass has written in each: a step ends where the next one begins. A
 * step that is come back to, as after a server was stopped, counts from its first line.
 */
export function stepsOf(lines: readonly LogLine[], completedAt: string | null): Step[] {
  const steps: Step[] = [];
  for (const line of lines) {
    if (AFTERWARDS.includes(line.step) || steps.some(({ name }) => name === line.step)) continue;
    const last = steps.at(-1);
    if (last) last.endedAt = line.created_at;
    steps.push({ name: line.step, startedAt: line.created_at, endedAt: null });
  }
  const last = steps.at(-1);
  if (last && completedAt) last.endedAt = last.startedAt > completedAt ? last.startedAt : completedAt;
  return steps;
}
