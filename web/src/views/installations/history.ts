import type { Execution } from "../../api/executions";
import type { Installation } from "../../api/installations";

/** Executions that have brought a text and values into force, newest first. */
const inForce = (executions: readonly Execution[]): Execution[] =>
  executions.filter(
    ({ kind, status }) => status === "completed" && (kind === "install" || kind === "update" || kind === "rollback"),
  );

const currentOf = ({ execution_id }: Installation, executions: readonly Execution[]): number =>
  inForce(executions).findIndex(({ id }) => id === execution_id);

/** Only what is known to be without an earlier version is not offered to be rolled back. */
export function canRollBack(installation: Installation, executions: readonly Execution[]): boolean {
  if (installation.execution_id === null) return false;
  const all = inForce(executions);
  const at = currentOf(installation, executions);
  if (at < 0) return true;
  return all[at]?.kind !== "install" && at < all.length - 1;
}

/** What a rollback brings back. After a rollback the answers of the server do not tell how far back the next one goes. */
export function beforeLast(installation: Installation, executions: readonly Execution[]): Execution | null {
  const all = inForce(executions);
  const at = currentOf(installation, executions);
  if (at < 0 || all[at]?.kind === "rollback") return null;
  return all[at + 1] ?? null;
}
