const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["week", 604_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** Formats are slow to make and quick to use. */
function once<T>(make: (language: string) => T): (language: string) => T {
  const made = new Map<string, T>();
  return (language) => {
    const known = made.get(language) ?? make(language);
    made.set(language, known);
    return known;
  };
}

const relativeFormat = once((language) => new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" }));
const exactFormat = once((language) => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "long" }));

/** How long ago, or how long until, in the coarsest unit that is not zero. */
export function relative(then: number, now: number, language: string): string {
  const seconds = Math.round((then - now) / 1000);
  const [unit, size] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1];
  return relativeFormat(language).format(Math.trunc(seconds / size), unit);
}

/** As short as it can be read: `0.8 s`, `42 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min${seconds % 60 ? ` ${seconds % 60} s` : ""}`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 ? ` ${minutes % 60} min` : ""}`;
}

export function exact(then: number, language: string): string {
  return exactFormat(language).format(then);
}
