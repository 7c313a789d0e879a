import { useState } from "preact/hooks";

const kept = new Map<string, unknown>();

/**
 * A state that survives its view: a user who looks at another tab meanwhile finds the draft as it was. It lives in this page's
 * memory and nowhere else. Setting `initial` again forgets it.
 */
export function useKept<T>(key: string, initial: T): [T, (change: (before: T) => T) => void] {
  const [value, setValue] = useState<T>(() => (kept.has(key) ? (kept.get(key) as T) : initial));
  const change = (next: (before: T) => T) =>
    setValue((before) => {
      const after = next(before);
      if (after === initial || isEmpty(after)) kept.delete(key);
      else kept.set(key, after);
      return after;
    });
  return [value, change];
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

// A reload would lose what is kept: the browser asks first.
addEventListener("beforeunload", (event) => {
  if (kept.size > 0) event.preventDefault();
});
