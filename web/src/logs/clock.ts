import { relative } from "../ui/time";

export type TimeMode = "absolute" | "relative" | "none";

const two = (value: number): string => String(value).padStart(2, "0");

/** In the reader's time zone; with the date when that is not today's. */
export function clockTime(at: string, now: number): string {
  const then = new Date(at);
  const time = `${two(then.getHours())}:${two(then.getMinutes())}:${two(then.getSeconds())}`;
  const exact = `${time}.${String(then.getMilliseconds()).padStart(3, "0")}`;
  if (then.toDateString() === new Date(now).toDateString()) return exact;
  return `${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())} ${exact}`;
}

export function timeText(at: string, mode: TimeMode, now: number, language: string): string {
  if (mode === "none" || !at) return "";
  return mode === "relative" ? relative(Date.parse(at), now, language) : clockTime(at, now);
}
