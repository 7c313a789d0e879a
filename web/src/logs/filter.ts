import type { Line, Step, Stream } from "./line";

export interface Search {
  text: string;
  isRegex: boolean;
}

/** Which lines are wanted. Empty lists stand for all. */
export interface Filter {
  search: Search | null;
  streams: readonly Stream[];
  steps: readonly Step[];
  /** Of a compose file; empty stands for all lines. */
  service: string;
}

export const STREAMS: readonly Stream[] = ["stdout", "stderr", "windlass"];
export const STEPS: readonly Step[] = [
  "queue",
  "fetch",
  "build",
  "hold",
  "data",
  "pre_run",
  "start",
  "health",
  "switch",
  "drain",
  "post_run",
  "report",
  "run",
];

export const isEverything = ({ search, streams, steps, service }: Filter): boolean =>
  !search && streams.length === 0 && steps.length === 0 && !service;

/** The filter as the server takes it. */
export function serverPart({ search, streams, steps, service }: Filter): Record<string, string | undefined> {
  return {
    search_term: search && !search.isRegex ? search.text : undefined,
    regex: search?.isRegex ? search.text : undefined,
    stream: streams.join(",") || undefined,
    step: steps.join(",") || undefined,
    service: service || undefined,
  };
}

type Accepts = (line: Line) => boolean;

/** Everything at once, for lines that the server cannot filter. */
export function acceptsWhole(filter: Filter): Accepts | null {
  if (isEverything(filter)) return null;
  const { search, streams } = filter;
  const pattern = search && patternOf(search);
  return (line) =>
    line.missing !== undefined ||
    ((!search || (pattern ? pattern.test(line.text) : line.text.includes(search.text))) &&
      (streams.length === 0 || streams.includes(line.stream)));
}

/** A group that repeats and is repeated: the server's expressions take no harm from it, the browser's can hang. */
const REPEATED_TWICE = /\((?:[^()\\]|\\.)*[+*}](?:[^()\\]|\\.)*\)[+*{]/;

/** The search as an expression of the browser; null where it is none, or one that could hang. It has no state. */
export function patternOf({ text, isRegex }: Search, flags = ""): RegExp | null {
  if (!isRegex) return compile(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), `i${flags}`);
  const [, own = "", rest = ""] = /^(?:\(\?([imsx]+)\))?(.*)$/s.exec(text) ?? [];
  if (REPEATED_TWICE.test(rest) || own.includes("x")) return null;
  return compile(rest, own + flags);
}

function compile(text: string, flags: string): RegExp | null {
  for (const unicode of ["u", ""]) {
    try {
      return new RegExp(text, flags + unicode);
    } catch {
      // Without `u`, escapes that only the server's expressions have are plain letters.
    }
  }
  return null;
}
