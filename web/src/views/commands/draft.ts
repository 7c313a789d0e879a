import type { CreateSchedule, Overlap, Schedule, UpdateSchedule } from "../../api/schedules";

/** As the form shows them: texts and ticks. */
export interface ScheduleDraft {
  name: string;
  cron: string;
  command: string;
  service: string;
  overlap: Overlap;
  enabled: boolean;
  limit: string;
  keep: string;
}

export function draftOf(schedule: Schedule | null): ScheduleDraft {
  return {
    name: schedule?.name ?? "",
    cron: schedule?.cron ?? "30 3 * * *",
    command: schedule?.command ?? "",
    service: schedule?.service ?? "",
    overlap: schedule?.overlap ?? "skip",
    enabled: schedule?.enabled ?? true,
    limit: schedule ? String(schedule.timeout_seconds) : "",
    keep: String(schedule?.keep ?? 20),
  };
}

/** What is empty is left out, so that the server's defaults act. */
export function newBody(draft: ScheduleDraft): CreateSchedule {
  return {
    name: draft.name.trim(),
    cron: draft.cron.trim(),
    command: draft.command,
    overlap: draft.overlap,
    enabled: draft.enabled,
    keep: Number(draft.keep),
    ...(draft.service.trim() ? { service: draft.service.trim() } : {}),
    ...(draft.limit.trim() ? { timeout_seconds: Number(draft.limit) } : {}),
  };
}

/** Only what differs from what the user began with: another user may have changed the rest meanwhile. */
export function changedBody(begun: ScheduleDraft, draft: ScheduleDraft): UpdateSchedule {
  const body: UpdateSchedule = {};
  if (draft.name !== begun.name) body.name = draft.name.trim();
  if (draft.cron !== begun.cron) body.cron = draft.cron.trim();
  if (draft.command !== begun.command) body.command = draft.command;
  if (draft.service !== begun.service) body.service = draft.service.trim();
  if (draft.overlap !== begun.overlap) body.overlap = draft.overlap;
  if (draft.enabled !== begun.enabled) body.enabled = draft.enabled;
  if (draft.limit !== begun.limit) body.timeout_seconds = Number(draft.limit);
  if (draft.keep !== begun.keep) body.keep = Number(draft.keep);
  return body;
}
