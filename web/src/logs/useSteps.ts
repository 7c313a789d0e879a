import { useRef } from "preact/hooks";
import { useText } from "../text";
import type { Filter } from "./filter";
import { find } from "./line";
import { readerOf } from "./reader";
import type { LogSession } from "./session";
import type { LogSource } from "./source";
import type { Question } from "./useQuestion";
import type { Viewport } from "./viewport";

interface Options {
  source: LogSource;
  session: LogSession | null;
  viewport: Viewport;
  question: Question;
  filter: Filter;
  marked: number | null;
  onHit: (cursor: number) => void;
  onNotice: (notice: string) => void;
}

/** Goes from one hit to the next. Where only hits are shown, these are the lines beside; elsewhere the server is asked. */
export function useSteps(options: Options): (isBackwards: boolean) => Promise<void> {
  const t = useText().logs;
  const asking = useRef<AbortController | null>(null);
  const { source, session, viewport, question, filter, marked, onHit, onNotice } = options;

  return async (isBackwards) => {
    if (!session || !question.search) return;
    const { lines } = session.window;
    const isNear = marked !== null && session.window.has(marked);
    const from = isNear ? marked : viewport.anchor + (isBackwards ? 0 : -1);
    asking.current?.abort();
    asking.current = new AbortController();
    const { signal } = asking.current;
    onNotice("");
    let hit: number | null;
    if (filter.search) {
      const at = find(lines, from);
      hit = lines[isBackwards ? at - 1 : lines[at]?.cursor === from ? at + 1 : at]?.cursor ?? null;
    } else {
      const reader = readerOf(source, { ...filter, search: question.search });
      onNotice(t.searching);
      hit = await reader.next(from, isBackwards, signal).catch((error: Error) => {
        if (!signal.aborted) onNotice(error.message);
        return null;
      });
      if (signal.aborted) return;
      onNotice("");
    }
    if (hit === null) {
      onNotice(isBackwards ? t.noEarlierHits : t.noLaterHits);
      return;
    }
    onHit(hit);
    await session.toLine(hit);
  };
}
