import type { CheckResult, Uptime, UptimeCheck, UptimeState } from "../../api/uptime";
import type { Text } from "../../text";

export const STATE_TONES: Readonly<Record<UptimeState, string>> = {
  off: "",
  up: "good",
  down: "bad",
  paused: "",
  not_live: "",
  blocked: "",
  unknown: "",
  no_recent_check: "",
};

export const RESULT_TONES: Readonly<Record<CheckResult, string>> = {
  up: "good",
  failed: "bad",
  paused: "",
  not_live: "",
  blocked: "",
  unknown: "",
};

/** What the server takes where nothing was said. */
export const USUAL = {
  path: "/",
  interval_seconds: 60,
  expected_status: 0,
  timeout_seconds: 10,
  failures: 2,
} as const;
const NAMES = Object.keys(USUAL) as (keyof typeof USUAL)[];

/** The API tells of a check that was never set up too: then it has nothing to show, and is as it usually is. */
export const isSetUp = (uptime: Uptime): boolean =>
  uptime.enabled || uptime.availability.last_30_days !== null || NAMES.some((name) => uptime[name] !== USUAL[name]);

/** What its state means, in the words of the dashboard. */
export function meaning(t: Text, { state, reason, failures, last_check_at }: Uptime): string {
  if (state === "no_recent_check" && last_check_at === null) return t.uptime.first;
  if (state === "up" && reason !== "") return t.uptime.wavers(failures);
  return t.uptime.means[state];
}

/** The server has rounded it down: what has failed once is never shown as whole. */
export function percent(t: Text, value: number | null): string {
  if (value === null) return t.uptime.notMeasured;
  return `${value.toLocaleString(t.language, { maximumFractionDigits: 3 })} %`;
}

export interface Summary {
  good: number;
  failed: number;
  /** Those that say nothing of the application. */
  others: number;
  /** Of all answers; null without any. */
  averageMs: number | null;
  slowestMs: number;
}

export function summarize(checks: readonly UptimeCheck[]): Summary {
  const count = (wanted: CheckResult) => checks.filter(({ result }) => result === wanted).length;
  const [good, failed] = [count("up"), count("failed")];
  const answers = checks.flatMap(({ answer_ms }) => answer_ms ?? []);
  const all = answers.reduce((sum, ms) => sum + ms, 0);
  return {
    good,
    failed,
    others: checks.length - good - failed,
    averageMs: answers.length > 0 ? Math.round(all / answers.length) : null,
    slowestMs: Math.max(0, ...answers),
  };
}

/** From 0 to 1. A good answer is seen however quick it was, and what says nothing stands at the foot. */
export function heightOf({ result, answer_ms }: UptimeCheck, slowestMs: number): number {
  if (result === "failed") return 1;
  if (result !== "up") return 0.1;
  return Math.max(0.15, slowestMs > 0 ? (answer_ms ?? 0) / slowestMs : 1);
}
