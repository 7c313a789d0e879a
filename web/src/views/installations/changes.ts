import { valueText } from "../extensions/facts";
import { HIDDEN } from "../variables/changes";

export interface ValueChange {
  name: string;
  /** Null where it has none. */
  before: string | null;
  after: string | null;
}

type Values = Readonly<Record<string, unknown>>;

const textIn = (values: Values, name: string): string | null => {
  const text = valueText(values[name]).split("\n").join(", ");
  return text === "" ? null : text;
};

/** Values that are others afterwards. Of secrets only stars are known: they are left out. */
export function valueChanges(before: Values, after: Values): ValueChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .map((name) => ({ name, before: textIn(before, name), after: textIn(after, name) }))
    .filter((change) => change.before !== change.after)
    .filter((change) => change.before !== HIDDEN && change.after !== HIDDEN);
}

/** Images that go and images that come. */
export function imageChanges(before: readonly string[], after: readonly string[]): { gone: string[]; come: string[] } {
  const unique = (images: readonly string[]) => [...new Set(images)];
  return {
    gone: unique(before).filter((image) => !after.includes(image)),
    come: unique(after).filter((image) => !before.includes(image)),
  };
}
