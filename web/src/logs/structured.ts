import { type Level, levelNamed } from "./level";

export interface Structured {
  level: Level | null;
  message: string;
  /** In the order in which they were written, without the message and the level. */
  fields: [name: string, value: string][];
}

const MESSAGES = ["msg", "message", "@m", "@mt", "event", "text"];
const LEVELS = ["level", "lvl", "severity", "log.level", "loglevel", "@l", "levelname"];
/** Longer ones stay text: reading them would be felt. */
const LONGEST = 64 * 1024;

/** A line that is one JSON object or one row of `name=value`. */
export function structured(text: string): Structured | null {
  if (text.length > LONGEST) return null;
  const first = text.charCodeAt(text.search(/\S|$/));
  if (first === 0x7b /* { */) return fromJson(text);
  return text.includes("=") ? fromLogfmt(text) : null;
}

function fromJson(text: string): Structured | null {
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read !== "object" || read === null || Array.isArray(read)) return null;
    const entries = Object.entries(read);
    return entries.length > 0 ? fromEntries(entries) : null;
  } catch {
    return null;
  }
}

const PAIR = /([A-Za-z_@][\w.@/-]*)=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))(?:\s+|$)/y;

/** Only where the whole line is pairs, and one of them is known: `a=b` also stands in prose and in commands. */
function fromLogfmt(text: string): Structured | null {
  const trimmed = text.trim();
  const entries: [string, string][] = [];
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < trimmed.length) {
    const found = PAIR.exec(trimmed);
    if (!found) return null;
    const [, name = "", quoted, bare = ""] = found;
    entries.push([name, quoted === undefined ? bare : quoted.replace(/\\(.)/g, "$1")]);
  }
  const isKnown = entries.some(([name]) => MESSAGES.includes(name) || LEVELS.includes(name));
  return entries.length > 1 && isKnown ? fromEntries(entries) : null;
}

function fromEntries(entries: [string, unknown][]): Structured {
  const of = (names: readonly string[]) => names.find((name) => entries.some(([own]) => own === name));
  const [messageName, levelName] = [of(MESSAGES), of(LEVELS)];
  const value = (name: string | undefined) => entries.find(([own]) => own === name)?.[1];
  const level = levelNamed(value(levelName));
  const message = value(messageName);
  const isSaid = (name: string) =>
    (name === messageName && typeof message === "string") || (name === levelName && level);
  return {
    level,
    message: typeof message === "string" ? message : "",
    fields: entries.filter(([name]) => !isSaid(name)).map(([name, own]) => [name, written(own)]),
  };
}

const written = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
