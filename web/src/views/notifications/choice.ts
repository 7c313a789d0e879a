import type { Schemas } from "../../api/client";
import type { EventName, NoticeChannel, Preference } from "../../api/notifications";

/** What a user chooses for a channel. */
export interface Choice {
  events: readonly EventName[];
  recoveries: boolean;
  /** Null for all of them. */
  applications: readonly string[] | null;
}

export const choiceOf = ({ events, recoveries, application_ids }: Preference): Choice => ({
  events,
  recoveries,
  applications: application_ids.length > 0 ? application_ids : null,
});

/** To the API no application means all: a choice of some must name one. */
export const isComplete = ({ applications }: Choice): boolean => applications === null || applications.length > 0;

export const bodyFor = (channel: NoticeChannel, choice: Choice): Schemas["UpdateNotificationPreference"] => ({
  channel,
  events: [...choice.events],
  recoveries: choice.recoveries,
  application_ids: [...(choice.applications ?? [])],
});

/** Puts these in or takes them out; whatever else was chosen stays. */
export function withEvents(
  chosen: readonly EventName[],
  offered: readonly EventName[],
  wanted: readonly EventName[],
): EventName[] {
  return [...chosen.filter((name) => !offered.includes(name)), ...offered.filter((name) => wanted.includes(name))];
}
