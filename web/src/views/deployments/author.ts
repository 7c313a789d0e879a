import type { Deployment } from "../../api/deployments";
import type { Text } from "../../text";

/** Who set a deployment off: by name, as far as it is known. */
export function author(t: Text, { triggered_by, user_name }: Deployment): string {
  const kind = t.deployments.trigger[triggered_by];
  if (!user_name) return kind;
  return triggered_by === "user" ? user_name : `${user_name} (${kind})`;
}
