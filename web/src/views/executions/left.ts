import type { ExecutionStep } from "../../api/executions";

export interface Left {
  undone: number;
  isBeingUndone: boolean;
  notUndone: ExecutionStep[];
}

/** What became of the steps of an execution that did not get to its end. */
export function whatIsLeft(steps: readonly ExecutionStep[]): Left {
  return {
    undone: steps.filter(({ undo_status }) => undo_status === "undone").length,
    isBeingUndone: steps.some(({ undo_status }) => undo_status === "undoing"),
    notUndone: steps.filter(({ undo_status }) => undo_status === "failed" || undo_status === "impossible"),
  };
}

/** Why it failed, and what the step has printed before it said so. Neither repeats what is told beside it. */
export function evidenceOf(
  errorMessage: string,
  failed: ExecutionStep | undefined,
): { reason: string; output: string } {
  const name = `${failed?.step_name}: `;
  const reason = errorMessage.startsWith(name) ? errorMessage.slice(name.length) : errorMessage;
  const lines = (failed?.output ?? "").trimEnd().split("\n");
  if (lines.at(-1) === `Failed: ${reason}`) lines.pop();
  return { reason, output: lines.join("\n").trim() };
}
