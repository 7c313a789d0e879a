/** How a piece of text looks. Colours 0 to 15 are the theme's, others are written out. */
export interface Look {
  fore?: number | string;
  back?: number | string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export interface Span {
  text: string;
  look: Look | null;
}

const ESCAPE = "\u001b";
const [BELL, END] = ["\u0007", "\u009c"];
/** Colours and movements; titles and links; character sets; single letters. */
const SEQUENCE = new RegExp(
  [
    `${ESCAPE}\\[([0-?]*)[ -/]*([@-~])`,
    `${ESCAPE}[\\]PX^_][^${BELL}${END}${ESCAPE}]*(?:${BELL}|${END}|${ESCAPE}\\\\)`,
    `${ESCAPE}(?:[()][0-9A-Za-z]|[78=>Mc])`,
  ].join("|"),
  "y",
);
/** Control characters but the tab, and those that turn the direction of text around. */
const UNSEEN = /(?!\t)[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;

/** Control characters as pictures of them, and what would turn the text around as a mark: nothing hides. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => {
    const code = char.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : "\ufffd";
  });
}

/** Text with its colours; other sequences of terminals are left out. */
export function parseAnsi(raw: string): Span[] {
  const text = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
  if (!text.includes(ESCAPE)) return [{ text: visible(text), look: null }];
  const spans: Span[] = [];
  let look: Look | null = null;
  let plainFrom = 0;
  const flush = (to: number) => {
    if (to > plainFrom) spans.push({ text: visible(text.slice(plainFrom, to)), look });
  };
  for (let at = text.indexOf(ESCAPE); at >= 0; at = text.indexOf(ESCAPE, at)) {
    SEQUENCE.lastIndex = at;
    const found = SEQUENCE.exec(text);
    if (!found) {
      at += 1;
      continue;
    }
    flush(at);
    if (found[2] === "m") look = changed(look, found[1] ?? "");
    at = SEQUENCE.lastIndex;
    plainFrom = at;
  }
  flush(text.length);
  return spans;
}

/** The look after a sequence such as `1;38;5;208`. */
function changed(before: Look | null, parameters: string): Look | null {
  const codes = parameters.split(/[;:]/).map(Number);
  let look: Look = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, at + 1);
      if (colour !== null) look[code === 38 ? "fore" : "back"] = colour;
      at += used;
    } else {
      look = simple(look, code);
    }
  }
  return Object.keys(look).length > 0 ? look : null;
}

function simple(look: Look, code: number): Look {
  if (code >= 30 && code <= 37) return { ...look, fore: code - 30 };
  if (code >= 40 && code <= 47) return { ...look, back: code - 40 };
  if (code >= 90 && code <= 97) return { ...look, fore: code - 82 };
  if (code >= 100 && code <= 107) return { ...look, back: code - 92 };
  const added = ADDS[code];
  if (added) return { ...look, [added]: true };
  const removed = code === 0 ? ALL : (REMOVES[code] ?? []);
  return Object.fromEntries(Object.entries(look).filter(([name]) => !removed.includes(name)));
}

const ADDS: Readonly<Record<number, keyof Look>> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "strike",
};
const ALL: readonly string[] = [...Object.values(ADDS), "fore", "back"];
const REMOVES: Readonly<Record<number, readonly string[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
  39: ["fore"],
  49: ["back"],
};

/** After 38 or 48: `5;n` is one of 256 colours, `2;r;g;b` is any. Also how many numbers that were. */
function extended(codes: readonly number[], at: number): [colour: number | string | null, used: number] {
  const [kind, ...rest] = codes.slice(at, at + 4);
  if (kind === 5) return [indexed(rest[0] ?? 0), 2];
  if (kind === 2) return [`rgb(${[0, 1, 2].map((part) => byte(rest[part] ?? 0)).join(" ")})`, 4];
  return [null, 1];
}

const byte = (value: number): number => Math.min(255, Math.max(0, Math.trunc(value) || 0));

function indexed(index: number): number | string {
  const n = byte(index);
  if (n < 16) return n;
  if (n >= 232)
    return `rgb(${Array(3)
      .fill(8 + (n - 232) * 10)
      .join(" ")})`;
  const level = (part: number) => (part === 0 ? 0 : 55 + part * 40);
  return `rgb(${[36, 6, 1].map((size) => level(Math.floor((n - 16) / size) % 6)).join(" ")})`;
}
