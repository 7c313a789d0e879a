import { ApiError } from "../../api/client";
import type { ExtensionVariable } from "../../api/extensions";
import { valueText } from "./facts";

/** What a user has changed in the form, by the name of the variable. What is not in it has its default. */
export type Given = Readonly<Record<string, string>>;

/** What is sent: lists are written one per line, and read by the server with commas between them. */
export function sentValues(variables: readonly ExtensionVariable[], given: Given): Record<string, string> {
  const sent: Record<string, string> = {};
  for (const { variable_name, variable_type } of variables) {
    const text = given[variable_name];
    if (text === undefined) continue;
    // An empty secret is none: the server makes one up, or keeps the one that is there.
    if (variable_type === "secret" && text === "") continue;
    sent[variable_name] = variable_type === "array" ? listText(text) : text;
  }
  return sent;
}

const listText = (text: string): string =>
  text
    .split("\n")
    .map((item) => item.trim())
    .filter(Boolean)
    .join(",");

/** What the form shows: what was given, else what is stored or the default. */
export function shownValue(
  variable: ExtensionVariable,
  given: Given,
  stored?: Readonly<Record<string, unknown>>,
): string {
  const own = given[variable.variable_name];
  if (own !== undefined) return own;
  if (variable.variable_type === "secret") return "";
  return valueText(stored?.[variable.variable_name] ?? variable.default_value);
}

export function give(given: Given, name: string, value: string, unchanged: string): Given {
  const { [name]: _, ...rest } = given;
  return value === unchanged ? rest : { ...rest, [name]: value };
}

/** What the server says about each variable: it tells everything that is wrong at once, one per line. */
export function problemsByName(error: Error | null): Record<string, string> {
  const problems: Record<string, string> = {};
  if (!(error instanceof ApiError) || error.code !== "invalid_request") return problems;
  for (const line of error.message.split("\n")) {
    const [, name, message] = /^(?:variables\.)([A-Za-z_]\w*): (.*)$/.exec(line) ?? [];
    if (name && message) problems[name] = message;
  }
  return problems;
}

/** What is wrong and stands at no field of the form. */
export function otherProblem(error: Error | null, names: readonly string[]): Error | null {
  if (!error) return null;
  const problems = problemsByName(error);
  const isAtFields = Object.keys(problems).length > 0 && Object.keys(problems).every((name) => names.includes(name));
  return isAtFields ? null : error;
}

/** A name that no installation has yet. */
export function freeName(key: string, taken: readonly string[]): string {
  if (!taken.includes(key)) return key;
  for (let number = 2; ; number += 1) {
    const ending = `-${number}`;
    const name = `${key.slice(0, 50 - ending.length).replace(/-+$/, "")}${ending}`;
    if (!taken.includes(name)) return name;
  }
}
