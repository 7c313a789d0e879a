import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { useText } from "../text";
import { useNow } from "../ui/Time";
import { type TimeMode, timeText } from "./clock";
import type { Line } from "./line";
import { parse } from "./parse";
import { Row, type RowActions } from "./Row";
import { selectedIn, selectedText } from "./selection";
import type { LogSession } from "./session";
import type { Viewport } from "./viewport";

interface Props {
  session: LogSession;
  viewport: Viewport;
  wraps: boolean;
  times: TimeMode;
  pattern: RegExp | null;
  marked: number | null;
  onContext: ((cursor: number) => void) | null;
  onReading: () => void;
}

const NONE: ReadonlySet<number> = new Set();

/** The lines that are seen, and few others. */
export function Lines({ session, viewport, wraps, times, pattern, marked, onContext, onReading }: Props) {
  const t = useText();
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLDivElement>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const [unfolded, setUnfolded] = useState(NONE);
  const [whole, setWhole] = useState(NONE);
  const now = useNow(times === "relative" ? 5_000 : null);
  const actions = useMemo<RowActions>(() => {
    const change = (set: typeof setWhole) => (cursor: number) => {
      viewport.heights.unset(cursor);
      set((before) => toggled(before, cursor));
    };
    return { onFold: change(setUnfolded), onWhole: change(setWhole), onContext };
  }, [viewport, onContext]);

  const look = `${wraps} ${times}`;
  const lastLook = useRef("");
  if (look !== lastLook.current) {
    lastLook.current = look;
    viewport.heights.wraps = wraps;
    viewport.heights.forget();
  }
  viewport.arrange(session);
  const { lines } = session.window;
  const { layout, selected } = viewport;

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const detach = viewport.attach(element);
    const observer = new ResizeObserver(() => viewport.resize() && redraw(undefined));
    observer.observe(element);
    return () => {
      observer.disconnect();
      detach();
    };
  }, [viewport]);

  useLayoutEffect(() => {
    if (viewport.settle(session, canvas.current?.children ?? [], whole.size + unfolded.size > 0)) redraw(undefined);
  });

  useEffect(() => {
    const onSelect = () => {
      const next = box.current && selectedIn(box.current);
      if (String(next) === String(viewport.selected)) return;
      viewport.selected = next;
      redraw(undefined);
      onReading();
    };
    document.addEventListener("selectionchange", onSelect);
    return () => document.removeEventListener("selectionchange", onSelect);
  }, [viewport, onReading]);

  const timeOf = (line: Line) => timeText(line.at, times, now, t.language);
  const shown = (line: Line) => [timeOf(line), parse(line, whole.has(line.cursor)).shown].filter(Boolean).join(" ");
  const [from, to] = viewport.range();
  const drawn = withSelected(lines.slice(from, to), lines, from, to, selected);
  return (
    <div
      class={`log-lines${wraps ? " wraps" : ""}`}
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      role="log"
      aria-live={viewport.follows && session.connection.isCalm ? "polite" : "off"}
      aria-label={t.logs.title}
      onScroll={() => {
        const what = viewport.scrolled(session);
        if (what === "rows") redraw(undefined);
        if (what === "all") onReading();
      }}
      onCopy={(event) => {
        const text = selectedText(lines, shown);
        if (text === null || !event.clipboardData) return;
        event.clipboardData.setData("text/plain", text);
        event.preventDefault();
      }}
    >
      <div class="log-canvas" style={{ height: layout.height }}>
        <div ref={canvas} style={{ transform: `translateY(${-layout.origin}px)` }}>
          {drawn.map(([line, index]) => (
            <Row
              key={line.cursor}
              line={line}
              top={layout.top(index)}
              times={times}
              now={now}
              pattern={pattern}
              isMarked={line.cursor === marked}
              isUnfolded={unfolded.has(line.cursor)}
              isWhole={whole.has(line.cursor)}
              actions={actions}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function toggled(set: ReadonlySet<number>, cursor: number): ReadonlySet<number> {
  const next = new Set(set);
  if (!next.delete(cursor)) next.add(cursor);
  return next;
}

/** The rows that a selection begins and ends in are drawn wherever they are. */
function withSelected(
  seen: readonly Line[],
  lines: readonly Line[],
  from: number,
  to: number,
  selected: Viewport["selected"],
): [line: Line, index: number][] {
  const drawn = seen.map((line, at): [Line, number] => [line, from + at]);
  if (!selected) return drawn;
  const ends = new Set(selected);
  const outside = lines
    .map((line, index): [Line, number] => [line, index])
    .filter(([{ cursor }, index]) => ends.has(cursor) && (index < from || index >= to));
  return [...outside, ...drawn].sort(([, one], [, other]) => one - other);
}
