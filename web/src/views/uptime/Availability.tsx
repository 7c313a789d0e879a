import type { Uptime } from "../../api/uptime";
import { useText } from "../../text";
import { percent } from "./facts";

const PERIODS = ["last_24_hours", "last_7_days", "last_30_days"] as const;

export function Availability({ uptime }: { uptime: Uptime }) {
  const t = useText();
  return (
    <section class="card stack">
      <h2>{t.uptime.availability}</h2>
      <dl class="availability">
        {PERIODS.map((period) => (
          <div key={period}>
            <dt>{t.uptime.periods[period]}</dt>
            <dd>{percent(t, uptime.availability[period])}</dd>
          </div>
        ))}
      </dl>
      <p class="muted small">{t.uptime.availabilityHint}</p>
    </section>
  );
}
