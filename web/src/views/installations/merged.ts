import type { ExtensionVariable } from "../../api/extensions";
import { type Given, problemsByName, sentValues } from "../extensions/values";

/** What an update would run with: what is stored, with what is given in its place, or the extension's default. Secrets that stay are not known here. */
export function mergedValues(
  variables: readonly ExtensionVariable[],
  stored: Readonly<Record<string, unknown>>,
  given: Given,
  defaults: readonly string[] = [],
): Record<string, string> {
  const merged: Record<string, string> = {};
  for (const { variable_name, variable_type } of variables) {
    const value = stored[variable_name];
    if (variable_type === "secret" || value === undefined || value === null) continue;
    if (defaults.includes(variable_name)) continue;
    merged[variable_name] = Array.isArray(value) ? value.join(",") : String(value);
  }
  return { ...merged, ...sentValues(variables, given) };
}

/** The only thing that keeps the server from a plan is a secret that the installation has and that is not sent. */
export function onlyKeptSecrets(error: Error | null, variables: readonly ExtensionVariable[], given: Given): boolean {
  const names = Object.keys(problemsByName(error));
  const isKept = (name: string) =>
    !given[name] && variables.some((one) => one.variable_name === name && one.variable_type === "secret");
  return names.length > 0 && names.every(isKept);
}
