import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "../ui/Button";
import { describe } from "../ui/Problem";
import { onFindKey, onLogKey } from "./keys";
import { Lines } from "./Lines";
import { usePreferences } from "./preferences";
import { SearchBar } from "./SearchBar";
import { Status } from "./Status";
import { canFilter, type LogSource } from "./source";
import { Toolbar } from "./Toolbar";
import { linkedLine, useMarked } from "./useLink";
import { useLog } from "./useLog";
import { useQuestion } from "./useQuestion";
import { useSteps } from "./useSteps";
import { Viewport } from "./viewport";
import "./logs.css";
import "./ansi.css";

interface Props {
  source: LogSource;
  isLive: boolean;
  /** Of a compose file, whose lines can be looked at alone. */
  services?: readonly string[];
}

/** A log, however long. It follows only while its reader is at the newest line. */
export function LogView({ source, isLive, services = [] }: Props) {
  const t = useText();
  const { question, filter, pattern, ask } = useQuestion();
  const [preferences, prefer] = usePreferences();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const beginAt = useRef(linkedLine());
  const session = useLog(source, filter, isLive, () => {
    const line = beginAt.current;
    beginAt.current = null;
    return line;
  });
  // Each session begins with a view of its own
  const viewport = useMemo(() => new Viewport(), [session]);
  const [marked, setMarked] = useMarked(useCallback((line: number) => void session?.toLine(line), [session]));
  const [notice, setNotice] = useState("");
  const search = useRef<HTMLInputElement>(null);
  const frame = useRef<HTMLElement>(null);

  const onReading = useCallback(() => redraw(undefined), []);
  const onContext = useCallback(
    (cursor: number) => {
      beginAt.current = cursor;
      setMarked(cursor);
      ask({ onlyHits: false, streams: [], steps: [], service: "" });
    },
    [setMarked],
  );
  const step = useSteps({ source, session, viewport, question, filter, marked, onHit: setMarked, onNotice: setNotice });
  const toNewest = () => {
    getSelection()?.removeAllRanges();
    viewport.selected = null;
    viewport.goToEnd();
    if (!session?.window.isAtNewest) void session?.toNewest();
    redraw(undefined);
  };
  const focusSearch = useCallback(() => {
    search.current?.focus();
    search.current?.select();
  }, []);
  const focusLines = () => frame.current?.querySelector<HTMLElement>(".log-lines")?.focus();

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => onFindKey(event, focusSearch);
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [focusSearch]);

  const onKeyDown = (event: KeyboardEvent) =>
    onLogKey(event, {
      search: focusSearch,
      nextHit: () => void step(false),
      previousHit: () => void step(true),
      newest: toNewest,
      oldest: () => void session?.toOldest(),
      wrap: () => prefer({ wraps: !preferences.wraps }),
      link: () => {
        location.hash = `line=${marked ?? viewport.anchor}`;
      },
    });

  if (!session) return null;
  const { window, error } = session;
  const isAway = !viewport.follows || !window.isAtNewest;
  return (
    <section class="log" ref={frame} aria-label={t.logs.title} onKeyDown={onKeyDown}>
      <div class="row between log-bar">
        <SearchBar
          inputRef={search}
          question={question}
          onAsk={ask}
          onStep={(back) => void step(back)}
          onLeave={focusLines}
        />
        <Toolbar
          {...{ source, services, question, filter, preferences }}
          onAsk={ask}
          onPrefer={prefer}
          onJump={(time) => void session.toTime(time)}
        />
      </div>
      {error && (
        <div class="row problem-text" role="alert">
          {describe(error, t).message} {describe(error, t).advice}
          <Button onClick={() => session.again()}>{t.common.again}</Button>
        </div>
      )}
      <div class="log-frame">
        <Lines
          key={session.number}
          {...{ session, viewport, pattern, marked }}
          wraps={preferences.wraps}
          times={preferences.times}
          onContext={filter.search && canFilter(source) ? onContext : null}
          onReading={onReading}
        />
        {isAway && window.lines.length > 0 && (
          <Button kind="primary" class="log-newest" onClick={toNewest}>
            {window.unseen > 0 ? t.logs.newLines(window.unseen) : t.logs.toEnd}
          </Button>
        )}
      </div>
      <Status session={session} isAway={isAway} isFiltered={!session.reader.isWhole} notice={notice} />
    </section>
  );
}
