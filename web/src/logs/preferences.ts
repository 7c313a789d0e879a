import { useState } from "preact/hooks";
import type { TimeMode } from "./clock";

export interface Preferences {
  wraps: boolean;
  times: TimeMode;
}

const KEY = "windlass.logs";

function stored(): Preferences {
  // A narrow screen has no room for times and long lines.
  const isNarrow = matchMedia("(max-width: 45rem)").matches;
  const usual: Preferences = { wraps: isNarrow, times: isNarrow ? "none" : "absolute" };
  try {
    return { ...usual, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Preferences>) };
  } catch {
    return usual;
  }
}

/** How lines are shown, in all logs and until it is changed. */
export function usePreferences(): [Preferences, (change: Partial<Preferences>) => void] {
  const [preferences, setPreferences] = useState(stored);
  const change = (changed: Partial<Preferences>) => {
    const next = { ...preferences, ...changed };
    setPreferences(next);
    try {
      localStorage.setItem(KEY, JSON.stringify(next));
    } catch {
      // A browser that stores nothing forgets it with the page.
    }
  };
  return [preferences, change];
}
