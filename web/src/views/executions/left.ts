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
