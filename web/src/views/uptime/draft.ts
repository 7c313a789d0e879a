import type { UpdateUptime, Uptime } from "../../api/uptime";

/** As the form shows it: texts. */
export interface UptimeDraft {
  path: string;
  interval: string;
  expected: string;
  timeout: string;
  failures: string;
}

/** What the API takes. */
export const LIMITS = {
  interval_seconds: { min: 30, max: 3600 },
  expected_status: { min: 0, max: 599 },
  timeout_seconds: { min: 1, max: 30 },
  failures: { min: 1, max: 10 },
} as const;

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
