import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { append, type Lines, linesAfter, linesBefore, NO_LINES, newestLines, prepend } from "./lines";

const POLL_MS = 2_000;

function againLater(error: Error): never[] {
  if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
  return [];
}

/** What the services of an installation print. The server has no stream of it: new lines are asked for while the tab is looked at. */
export function useLines(id: string, isFollowing: boolean) {
  const [state, setState] = useState<Lines | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [attempt, setAttempt] = useState(0);
  const follows = useRef(isFollowing);
  follows.current = isFollowing;
  const newest = useRef(0);

  useEffect(() => {
    const ending = new AbortController();
    const { signal } = ending;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const poll = async () => {
      if (!document.hidden && follows.current) {
        // What is away for a moment is asked again with the next turn.
        const more = await linesAfter(id, newest.current, signal).catch(againLater);
        newest.current = more.at(-1)?.sequence ?? newest.current;
        if (more.length > 0) setState((before) => append(before ?? NO_LINES, more));
      }
      if (!signal.aborted) timer = setTimeout(run, POLL_MS);
    };
    const run = () => void poll().catch(fail);
    const fail = (thrown: Error) => signal.aborted || setError(thrown);
    newestLines(id, signal)
      .then((found) => {
        newest.current = found.lines.at(-1)?.sequence ?? 0;
        setState(found);
        run();
      })
      .catch(fail);
    return () => {
      ending.abort();
      clearTimeout(timer);
    };
  }, [id, attempt]);

  const earlier = async () => {
    const first = state?.lines[0]?.sequence;
    if (!first) return;
    try {
      const found = await linesBefore(id, first, new AbortController().signal);
      setState((before) => before && prepend(before, found.lines, found.hasEarlier));
    } catch (thrown) {
      setError(thrown as Error);
    }
  };
  /** Begins anew at the newest lines. */
  const again = () => {
    setError(null);
    setAttempt(attempt + 1);
  };
  return { state, error, earlier, again };
}
