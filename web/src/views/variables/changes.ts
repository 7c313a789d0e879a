import type { Variables } from "./dotenv";

/** What the server writes in place of a value that is not shown, and reads as the one that is stored. */
export const HIDDEN = "********";

export interface Change {
  name: string;
  kind: "added" | "removed" | "changed" | "same";
  before: string | null;
  after: string | null;
}

/** What a new set of variables would change, in the order of their names. */
export function changes(before: Variables, after: Variables): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.map((name) => {
    const [old, fresh] = [valueIn(before, name), valueIn(after, name)];
    return { name, kind: kindOf(old, fresh), before: old, after: fresh };
  });
}

function valueIn(variables: Variables, name: string): string | null {
  return Object.hasOwn(variables, name) ? (variables[name] ?? null) : null;
}

function kindOf(before: string | null, after: string | null): Change["kind"] {
  if (before === null) return "added";
  if (after === null) return "removed";
  return before === after || after === HIDDEN ? "same" : "changed";
}

/** Names that usually hold what must not be seen. Only a proposal: the user decides. */
export function looksSecret(name: string): boolean {
  return /(^|_)(SECRET|TOKEN|PASSWORD|PASSWD|PASS|PWD|KEY|CREDENTIALS?|DSN)(_|$)|DATABASE_URL$/i.test(name);
}

/** Variables come as the text of a JSON object. */
export function readVariables(text: string): Record<string, string> {
  if (text === "") return {};
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== "object" || parsed === null) return {};
  return Object.fromEntries(Object.entries(parsed).map(([name, value]) => [name, String(value)]));
}
