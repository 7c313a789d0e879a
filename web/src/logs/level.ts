export type Level = "error" | "warn" | "info" | "debug";

const NAMES: Readonly<Record<string, Level>> = {
  panic: "error",
  fatal: "error",
  critical: "error",
  crit: "error",
  alert: "error",
  emerg: "error",
  emergency: "error",
  severe: "error",
  error: "error",
  err: "error",
  eror: "error",
  warning: "warn",
  warn: "warn",
  wrn: "warn",
  information: "info",
  info: "info",
  inf: "info",
  notice: "info",
  debug: "debug",
  dbg: "debug",
  trace: "debug",
  verbose: "debug",
};

/** A level in words, or as a number: pino and bunyan count from 10 (trace) to 60 (fatal). */
export function levelNamed(value: unknown): Level | null {
  if (typeof value === "string") return NAMES[value.toLowerCase()] ?? null;
  if (typeof value !== "number") return null;
  if (value >= 50) return "error";
  if (value >= 40) return "warn";
  if (value >= 30) return "info";
  return value >= 10 ? "debug" : null;
}

const WORDS = Object.keys(NAMES).join("|");
/** A level stands near the beginning, after at most a time and a name. */
const LOOKED_AT = 120;
const UPPER = new RegExp(`\\b(${WORDS.toUpperCase()})\\b`);
const MARKED = new RegExp(`(?:[[<(|]\\s*(${WORDS})\\s*[\\])>|]|\\b(?:level|lvl|severity)[=:]\\s*"?(${WORDS})\\b)`, "i");
const LEADING = new RegExp(`^(?:\\S+ )?(?:[\\w.]*?)(${WORDS})(?:\\[\\w+\\])?:(?!//)`, "i");
/** As Go's and Kubernetes' programs begin: a letter, month and day, time. */
const KLOG = /^([IWEF])\d{4} \d\d:\d\d:\d\d/;
const KLOG_LEVELS: Readonly<Record<string, Level>> = { I: "info", W: "warn", E: "error", F: "error" };
const FAULT =
  /^(?:Traceback \(most recent|Exception in thread|Caused by: |Unhandled |Uncaught |panic: |thread '.*' panicked at|npm ERR!)/;
const EXCEPTION = /^(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception)\b/;

/** What a plain line says about itself. A word such as "error" in the middle of a sentence says nothing. */
export function levelOf(text: string): Level | null {
  const head = text.slice(0, LOOKED_AT).trimStart();
  const marked = MARKED.exec(head);
  if (marked) return levelNamed(marked[1] ?? marked[2]);
  const plain = UPPER.exec(head) ?? LEADING.exec(head);
  if (plain) return levelNamed(plain[1]);
  const klog = KLOG.exec(head);
  if (klog) return KLOG_LEVELS[klog[1] ?? ""] ?? null;
  return FAULT.test(head) || EXCEPTION.test(head) ? "error" : null;
}
