import { CHECKS_OF_A_PAGE, type UptimeCheck } from "../../api/uptime";
import { type Text, useText } from "../../text";
import { exact } from "../../ui/time";
import { milliseconds } from "../figures/words";
import { heightOf, summarize } from "./facts";

const WIDTH = 600;
const HEIGHT = 48;
const SLOT = WIDTH / CHECKS_OF_A_PAGE;

/** A bar for each check, the newest at the right: as high as its answer took long. Those that failed are broken lines. */
export function CheckStrip({ checks }: { checks: readonly UptimeCheck[] }) {
  const t = useText();
  const { good, failed, others, averageMs, slowestMs } = summarize(checks);
  const average = averageMs === null ? "" : `; ${t.uptime.answeredIn(milliseconds(t)(averageMs))}`;
  const summary = `${t.uptime.summary(good, failed, others)}${average}`;
  const [newest, oldest] = [checks[0], checks.at(-1)];
  const time = (check: UptimeCheck | undefined) => (check ? exact(Date.parse(check.checked_at), t.language) : "");
  return (
    <>
      <p>{summary}</p>
      <svg
        class="check-strip"
        role="img"
        aria-label={`${t.uptime.checks}: ${summary}`}
        height={HEIGHT}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
      >
        <line class="check-foot" x1="0" x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
        {checks.map((check, index) => (
          <Bar
            key={check.id}
            check={check}
            at={WIDTH - (index + 1) * SLOT}
            slowestMs={slowestMs}
            title={title(t, check)}
          />
        ))}
      </svg>
      <p class="muted small">{t.uptime.fromTo(time(oldest), time(newest))}</p>
    </>
  );
}

function title(t: Text, { checked_at, result, answer_ms, reason }: UptimeCheck): string {
  const said = [t.uptime.results[result], answer_ms !== null && milliseconds(t)(answer_ms), reason];
  return `${exact(Date.parse(checked_at), t.language)}: ${said.filter(Boolean).join(", ")}`;
}

interface BarProps {
  check: UptimeCheck;
  at: number;
  slowestMs: number;
  title: string;
}

function Bar({ check, at, slowestMs, title }: BarProps) {
  const [middle, top] = [at + SLOT / 2, HEIGHT * (1 - heightOf(check, slowestMs))];
  return (
    <g>
      <rect class="check-target" x={at} y="0" width={SLOT} height={HEIGHT}>
        <title>{title}</title>
      </rect>
      <line
        class={`check-bar ${check.result}`}
        x1={middle}
        x2={middle}
        y1={HEIGHT}
        y2={top}
        stroke-width={SLOT * 0.7}
      />
    </g>
  );
}
