import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Installation, InstallationLog } from "../../api/installations";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { FilterChoice, Filters } from "../../ui/Filter";
import { Problem } from "../../ui/Problem";
import { useLines } from "./useLines";
import "../../logs/logs.css";

const NEAR_PX = 8;

/** What its services print. It follows only while its reader is at the newest line. */
export function InstallationLogs({ installation }: { installation: Installation }) {
  const t = useText().installations;
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const [service, setService] = useState("");
  const { state, error, earlier, again } = useLines(installation.id, isAtEnd);
  const shown = (state?.lines ?? []).filter((line) => !service || line.service === service);

  const toEnd = () => {
    setAtEnd(true);
    box.current?.scrollTo(0, box.current.scrollHeight);
  };
  // Lines that were let go while the reader was far back are read again.
  const isCut = state?.isCut ?? false;
  useEffect(() => {
    if (isAtEnd && isCut) again();
  }, [isAtEnd, isCut]);
  const last = shown.at(-1)?.sequence;
  useLayoutEffect(() => {
    if (isAtEnd) box.current?.scrollTo(0, box.current.scrollHeight);
  }, [last, isAtEnd, service]);
  useResize(box, isAtEnd ? toEnd : null);
  useKeepPlace(box, shown[0]?.sequence);

  if (error) return <Problem error={error} onAgain={again} />;
  if (!state) return <Loading />;
  if (state.lines.length === 0) return <Empty title={t.logEmpty} />;
  return (
    <section class="log" aria-label={t.tab.logs}>
      <Filters class="row between">
        <FilterChoice
          label={t.logService}
          value={service}
          options={installation.services.map(({ name }) => [name, name])}
          onValue={setService}
        />
        {state.hasEarlier && <Button onClick={() => void earlier()}>{t.logEarlier}</Button>}
      </Filters>
      <div class="log-frame">
        <div
          ref={box}
          class="log-lines installation-lines"
          role="log"
          aria-label={t.tab.logs}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          tabIndex={0}
          onScroll={({ currentTarget: at }) => setAtEnd(at.scrollHeight - at.scrollTop - at.clientHeight <= NEAR_PX)}
        >
          {shown.map((line) => (
            <Line key={line.sequence} line={line} />
          ))}
        </div>
        {!isAtEnd && (
          <Button kind="primary" class="log-newest" onClick={toEnd}>
            {t.logNewest}
          </Button>
        )}
      </div>
      <p class="muted small" role="status">
        {isAtEnd ? t.logFollowing : t.logPaused}
      </p>
    </section>
  );
}

/** Lines that wrap otherwise are of another height. */
function useResize(box: { current: HTMLDivElement | null }, onResize: (() => void) | null): void {
  const latest = useRef(onResize);
  latest.current = onResize;
  const element = box.current;
  useEffect(() => {
    if (!element) return;
    const observer = new ResizeObserver(() => latest.current?.());
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
}

/** When earlier lines come, what is read stays where it is. */
function useKeepPlace(box: { current: HTMLDivElement | null }, first: number | undefined): void {
  const before = useRef<{ first: number | undefined; top: number }>({ first, top: 0 });
  const rowOf = (sequence: number | undefined) =>
    box.current?.querySelector<HTMLElement>(`[data-sequence="${sequence}"]`) ?? null;
  useLayoutEffect(() => {
    const { first: old, top } = before.current;
    const row = rowOf(old);
    if (box.current && row && old && first && first < old) box.current.scrollTop += row.offsetTop - top;
    before.current = { first, top: rowOf(first)?.offsetTop ?? 0 };
  }, [first]);
}

function Line({ line }: { line: InstallationLog }) {
  const t = useText().installations;
  return (
    <div class={`installation-line ${line.stream}`} data-sequence={line.sequence}>
      <time class="log-time" dateTime={line.created_at} title={line.created_at}>
        {new Date(line.created_at).toLocaleTimeString(undefined, { hour12: false })}
      </time>
      <span class="muted">{line.service || t.logGone}</span> <span class="log-text">{line.message}</span>
    </div>
  );
}
