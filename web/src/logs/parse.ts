import { parseAnsi, type Span, visible } from "./ansi";
import { type Level, levelOf } from "./level";
import type { Line } from "./line";
import { structured } from "./structured";

export interface Parsed {
  level: Level | null;
  spans: readonly Span[];
  /** The text of the spans, as it is shown, searched for hits and copied. */
  shown: string;
  /** What can be unfolded: names and values of a structured line. */
  fields: readonly [name: string, value: string][];
  /** Characters that are not shown until all are asked for. */
  cut: number;
}

/** Of a longer line only so much is shown at first. */
export const SHOWN_CHARACTERS = 2_000;
const FIELDS_LOOK = { dim: true } as const;

const short = new WeakMap<Line, Parsed>();
const whole = new WeakMap<Line, Parsed>();

/** What a line shows. It is worked out once, when the line is first shown, and forgotten with the line. */
export function parse(line: Line, isWhole: boolean): Parsed {
  const cache = isWhole ? whole : short;
  let parsed = cache.get(line);
  if (!parsed) {
    parsed = read(line.text, isWhole ? Number.POSITIVE_INFINITY : SHOWN_CHARACTERS);
    cache.set(line, parsed);
  }
  return parsed;
}

function read(text: string, most: number): Parsed {
  const found = structured(text);
  if (!found) {
    const spans = parseAnsi(text.length > most ? text.slice(0, most) : text);
    const shown = textOf(spans);
    return { level: levelOf(shown), spans, shown, fields: [], cut: Math.max(0, text.length - most) };
  }
  const fields = found.fields.map(([name, value]): [string, string] => [visible(name), value]);
  const rest = fields.map(([name, value]) => `${name}=${visible(value)}`).join(" ");
  const spans = [...parseAnsi(found.message)];
  if (rest) spans.push({ text: found.message ? ` ${rest}` : rest, look: FIELDS_LOOK });
  const length = textOf(spans).length;
  const kept = limited(spans, most);
  return { level: found.level, spans: kept, shown: textOf(kept), fields, cut: Math.max(0, length - most) };
}

const textOf = (spans: readonly Span[]): string => spans.map(({ text }) => text).join("");

function limited(spans: readonly Span[], most: number): Span[] {
  const kept: Span[] = [];
  let left = most;
  for (const span of spans) {
    if (left <= 0) break;
    kept.push(span.text.length > left ? { ...span, text: span.text.slice(0, left) } : span);
    left -= span.text.length;
  }
  return kept;
}
