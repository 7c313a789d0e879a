import { type Text, useText } from "../text";
import type { LogSession } from "./session";

interface Props {
  session: LogSession;
  isAway: boolean;
  isFiltered: boolean;
  notice: string;
}

/** What is going on, in a few words that are also read out. */
export function Status({ session, isAway, isFiltered, notice }: Props) {
  return (
    <p class="muted small log-status" role="status">
      {notice || told(session, isAway, isFiltered, useText())}
    </p>
  );
}

function told(session: LogSession, isAway: boolean, isFiltered: boolean, t: Text): string {
  const { window, connection, isJumping, isLoadingOlder, isLoadingNewer, error } = session;
  if (error) return "";
  if (isJumping) return t.common.loading;
  if ((isLoadingOlder || isLoadingNewer) && isFiltered) return t.logs.searching;
  if (connection.state === "waiting") return t.logs.reconnecting;
  if (window.lines.length === 0 && !window.hasOlder) return isFiltered ? t.logs.noHits : t.logs.empty;
  if (connection.state === "closed") return "";
  return isAway ? t.logs.paused : t.logs.following;
}
