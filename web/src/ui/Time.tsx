import { useEffect, useState } from "preact/hooks";
import { useText } from "../text";
import { duration, exact, relative } from "./time";

/** The present time, which moves on while the page is looked at. */
export function useNow(everyMs: number | null): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (everyMs === null) return;
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now());
    }, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return now;
}

export function Time({ at }: { at: string }) {
  const { language } = useText();
  const then = Date.parse(at);
  const isRecent = Math.abs(Date.now() - then) < 120_000;
  const now = useNow(isRecent ? 5_000 : 60_000);
  return (
    <time class="nowrap" dateTime={at} title={exact(then, language)}>
      {relative(then, Math.max(now, Date.now()), language)}
    </time>
  );
}

/** From a time until another one, or until now. */
export function Duration({ from, to }: { from: string; to: string | null }) {
  const now = useNow(to ? null : 1_000);
  const end = to ? Date.parse(to) : Math.max(now, Date.now());
  return <span class="nowrap">{duration(Math.max(0, end - Date.parse(from)))}</span>;
}
