import type { ExtensionChange } from "../../api/extensions";

export type Side = ExtensionChange["changed_by"];

/** Where both sides meet first, then what is new, then what is only of the organization. */
export const SIDES: readonly Side[] = ["conflict", "upstream", "both", "organization"];

/** The server tells no more of them. */
export const MOST_CHANGES = 200;

/** A value as people write it: it comes as JSON, and may be cut off. */
export function readable(value: string | null, isCut: boolean): string | null {
  if (value === null) return null;
  try {
    const parsed: unknown = JSON.parse(value);
    return typeof parsed === "string" && parsed !== "" ? parsed : value;
  } catch {
    return isCut ? `${value}…` : value;
  }
}

/** The variable whose default the author has changed. An update keeps the value that there is unless it is asked for. */
export function newDefaultOf({ path, changed_by, upstream }: ExtensionChange): string | null {
  const [, name] = /^variables\.([A-Za-z_]\w*)\.default$/.exec(path) ?? [];
  return name && upstream !== null && (changed_by === "upstream" || changed_by === "conflict") ? name : null;
}
