/** A text with its selection, as a text field has it. */
export interface Edited {
  text: string;
  start: number;
  end: number;
}

/** What replaces a part of the text, and where the selection is then. */
export interface Replacement {
  from: number;
  to: number;
  text: string;
  start: number;
  end: number;
}

const INDENT = "  ";

const lineStart = (text: string, at: number): number => text.lastIndexOf("\n", at - 1) + 1;

/** Two spaces at the caret, or before each of the selected lines. */
export function indent({ text, start, end }: Edited): Replacement {
  if (start === end) return { from: start, to: end, text: INDENT, start: start + 2, end: start + 2 };
  const from = lineStart(text, start);
  const before = text.slice(from, end);
  const after = before.replace(/^(?=.)/gm, INDENT);
  return { from, to: end, text: after, start: start + INDENT.length, end: end + after.length - before.length };
}

/** Up to two spaces less before each of the selected lines. */
export function outdent({ text, start, end }: Edited): Replacement {
  const from = lineStart(text, start);
  const before = text.slice(from, end);
  const whole = text.slice(from, text.indexOf("\n", end) < 0 ? text.length : text.indexOf("\n", end));
  const after = whole.replace(/^ {1,2}/gm, "");
  const first = /^ {0,2}/.exec(before + text.slice(end))?.[0].length ?? 0;
  const newStart = Math.max(from, start - first);
  const newEnd = Math.max(newStart, end - (whole.length - after.length));
  return { from, to: from + whole.length, text: after, start: newStart, end: newEnd };
}

/** A new line begins below the one before it; deeper after a colon, and below the words of an item of a list. */
export function newLine({ text, start, end }: Edited): Replacement {
  const line = text.slice(lineStart(text, start), start);
  const spaces = /^ */.exec(line)?.[0] ?? "";
  const isOpened = /:\s*$/.test(line);
  const added = `\n${spaces}${isOpened ? INDENT : ""}${/^\s*- \S/.test(line) && isOpened ? INDENT : ""}`;
  return { from: start, to: end, text: added, start: start + added.length, end: start + added.length };
}

/** Where a line and a column are in the text. Columns count characters, from 1 on. */
export function offsetOf(text: string, line: number, column: number): number {
  let at = 0;
  for (let current = 1; current < line; current += 1) {
    const next = text.indexOf("\n", at);
    if (next < 0) return text.length;
    at = next + 1;
  }
  const ending = text.indexOf("\n", at);
  const row = text.slice(at, ending < 0 ? text.length : ending);
  return at + [...row].slice(0, column - 1).join("").length;
}
