import type { UpdateUptime, Uptime } from "../../api/uptime";

/** As the form shows it: texts. */
export interface UptimeDraft {
  path: string;
  interval: string;
  expected: string;
  timeout: string;
  failures: string;
}

export const draftOf = (uptime: Uptime): UptimeDraft => ({
  path: uptime.path,
  interval: String(uptime.interval_seconds),
  expected: String(uptime.expected_status),
  timeout: String(uptime.timeout_seconds),
  failures: String(uptime.failures),
});

/** Only what differs from what the user began with: another user may have changed the rest meanwhile. */
export function changedBody(begun: UptimeDraft, draft: UptimeDraft): UpdateUptime {
  const body: UpdateUptime = {};
  if (draft.path !== begun.path) body.path = draft.path.trim();
  if (draft.interval !== begun.interval) body.interval_seconds = Number(draft.interval);
  if (draft.expected !== begun.expected) body.expected_status = Number(draft.expected);
  if (draft.timeout !== begun.timeout) body.timeout_seconds = Number(draft.timeout);
  if (draft.failures !== begun.failures) body.failures = Number(draft.failures);
  return body;
}
