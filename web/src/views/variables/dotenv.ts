export type Variables = Readonly<Record<string, string>>;

export type LineProblem =
  | { line: number; kind: "notAPair" | "noName" | "unclosed" | "behindQuote" }
  | { line: number; kind: "twice"; name: string };

export interface Parsed {
  variables: Record<string, string>;
  problems: LineProblem[];
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** Reads .env text: comments, `export`, quotation marks over several lines. Every line that cannot be read is told. */
export function parse(text: string): Parsed {
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const variables: Record<string, string> = {};
  const problems: LineProblem[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = at + 1;
    const content = (lines[at] ?? "").trim().replace(/^export\s+/, "");
    if (content === "" || content.startsWith("#")) continue;
    const equals = content.indexOf("=");
    if (equals < 0) {
      problems.push({ line, kind: "notAPair" });
      continue;
    }
    const name = content.slice(0, equals).trim();
    const read = readValue(content.slice(equals + 1).trim(), lines, at);
    at = read.last;
    if (name === "") problems.push({ line, kind: "noName" });
    else if (read.value === null) problems.push({ line, kind: "unclosed" });
    else if (read.hasRest) problems.push({ line, kind: "behindQuote" });
    else if (Object.hasOwn(variables, name)) problems.push({ line, kind: "twice", name });
    else Object.defineProperty(variables, name, { value: read.value, enumerable: true });
  }
  return { variables, problems };
}

interface Read {
  /** Null: its quotation mark is not closed. */
  value: string | null;
  last: number;
  /** Something other than a comment comes after the closing mark. */
  hasRest?: boolean;
}

/** The value that begins on a line, and the last line that it takes. */
function readValue(rest: string, lines: readonly string[], first: number): Read {
  const quote = rest[0];
  if (quote !== '"' && quote !== "'") {
    return { value: rest.replace(/(^|\s)#.*$/, "").trim(), last: first };
  }
  let value = "";
  let body = rest.slice(1);
  for (let last = first; ; ) {
    for (let at = 0; at < body.length; at += 1) {
      const character = body[at] ?? "";
      if (character === quote) return { value, last, hasRest: !/^\s*(#.*)?$/.test(body.slice(at + 1)) };
      if (character === "\\" && quote === '"' && at + 1 < body.length) {
        at += 1;
        const escaped = body[at] ?? "";
        value += ESCAPES[escaped] ?? escaped;
      } else {
        value += character;
      }
    }
    last += 1;
    const next = lines[last];
    // Only the line with the mark is to blame: those after it are read on their own.
    if (next === undefined) return { value: null, last: first };
    value += "\n";
    body = next;
  }
}

/** Text from which `parse` reads the same variables again. */
export function format(variables: Variables): string {
  return Object.entries(variables)
    .map(([name, value]) => `${name}=${isPlain(value) ? value : quote(value)}`)
    .join("\n");
}

function isPlain(value: string): boolean {
  return value === value.trim() && !/["'\n\r\\#]/.test(value.slice(0, 1)) && !/[\n\r]|\s#/.test(value);
}

function quote(value: string): string {
  const escaped = value.replace(/[\\"]/g, "\\$&").replace(/\n/g, "\\n").replace(/\r/g, "\\r");
  return `"${escaped}"`;
}
