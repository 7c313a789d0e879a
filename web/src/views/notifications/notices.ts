import { queryText } from "../../api/client";
import type { Notice, NoticeChannel, NoticeFilter, NoticeState } from "../../api/notifications";
import type { Text } from "../../text";

export const CHANNELS: readonly NoticeChannel[] = ["slack", "discord", "teams", "telegram", "ntfy", "webhook", "email"];
export const STATES: readonly NoticeState[] = ["waiting", "sent", "failed", "folded", "dropped"];

export const STATE_TONES: Readonly<Record<NoticeState, string>> = {
  waiting: "busy",
  sent: "good",
  failed: "bad",
  folded: "",
  dropped: "",
};

const LOG = "/organization/notifications/log";
const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);

export const channelName = (t: Text, channel: NoticeChannel): string =>
  channel === "email" ? t.notifications.mailTitle : t.notifications.kind[channel];

/** Filters live in the address, so that they can be linked to and survive going back. */
export const noticesAddress = (filter: NoticeFilter): string => LOG + queryText(filter);

/** What the API would refuse is left out. */
export function readFilter(query: Readonly<Record<string, string>>): NoticeFilter {
  const filter: NoticeFilter = {};
  const channel = CHANNELS.find((known) => known === query.channel);
  const state = STATES.find((known) => known === query.state);
  if (channel) filter.channel = channel;
  if (state) filter.state = state;
  if (query.application_id && isId(query.application_id)) filter.application_id = query.application_id;
  if (query.before && isId(query.before)) filter.before = query.before;
  return filter;
}

export const isFiltered = ({ before: _, ...rest }: NoticeFilter): boolean => Object.keys(rest).length > 0;

/** Another message has said it, or it has arrived: sending it again would only say it twice. */
export const canBeSentAgain = ({ state }: Notice): boolean => state !== "folded" && state !== "sent";
