import { useEffect, useLayoutEffect, useReducer, useState } from "preact/hooks";
import { useIsLapsed } from "../session";
import type { Filter } from "./filter";
import { readerOf } from "./reader";
import { LogSession } from "./session";
import type { LogSource } from "./source";

/** How long a tab may be hidden before its connection is closed: a look elsewhere need not cost a reconnection. */
const GRACE_MS = 10_000;

/** The session of a source and a filter; another one is another session, which begins at `line` or at the newest. */
export function useLog(
  source: LogSource,
  filter: Filter,
  isLive: boolean,
  line: () => number | null,
): LogSession | null {
  const [session, setSession] = useState<LogSession | null>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const { of, id } = source;

  // Whether it is live, and the line, are only where it begins
  useEffect(() => {
    const opened = new LogSession(readerOf({ of, id }, filter), () => redraw(undefined));
    setSession(opened);
    void opened.open(line(), isLive);
    const stopWatching = watchVisibility(opened);
    return () => {
      stopWatching();
      opened.end();
    };
  }, [of, id, filter]);

  useEffect(() => session?.setLive(isLive), [session, isLive]);

  const isLapsed = useIsLapsed();
  // The server ends the stream some seconds after the login. In the same frame as the dialog that says so, no line is shown any more.
  useLayoutEffect(() => {
    if (isLapsed) session?.sleep();
    else if (session?.isAsleep) session.again();
  }, [session, isLapsed]);
  return session;
}

function watchVisibility(session: LogSession): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => session.sleep(), GRACE_MS);
    else session.wake();
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}
