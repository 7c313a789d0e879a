import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { type FigureInstance, type Figures as Told, useFigures } from "../../api/figures";
import { type Text, useText } from "../../text";
import { bytes } from "../../ui/bytes";
import { Chart, type Line } from "../../ui/Chart";
import { lastOf } from "../../ui/chart";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { exact } from "../../ui/time";
import { count, milliseconds, percent, perSecond } from "./words";
import "./figures.css";

const HOURS = [1, 6, 24, 168, 720] as const;

/** What the application uses and what visitors ask of it, over time. */
export default function Figures({ application }: { application: Application }) {
  const t = useText();
  const [hours, setHours] = useState<number>(1);
  const [instance, setInstance] = useState("");
  const { data, error, refetch } = useFigures(application.id, hours, instance);
  return (
    <>
      <div class="row">
        <select
          class="figure-choice"
          aria-label={t.figures.period}
          value={hours}
          onChange={({ currentTarget }) => setHours(Number(currentTarget.value))}
        >
          {HOURS.map((value) => (
            <option key={value} value={value}>
              {t.figures.hours(value)}
            </option>
          ))}
        </select>
        <select
          class="figure-choice"
          aria-label={t.figures.instance}
          value={instance}
          onChange={({ currentTarget }) => setInstance(currentTarget.value)}
        >
          <option value="">{t.figures.allInstances}</option>
          {data?.instances.map((one) => (
            <option key={`${one.deployment_id} ${one.id}`} value={one.id}>
              {nameOf(t, one)}
            </option>
          ))}
        </select>
      </div>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {!error && !data && <Loading />}
      {data && <Charts told={data} />}
    </>
  );
}

function nameOf(t: Text, { service, ordinal, first_at }: FigureInstance): string {
  return t.figures.instanceSince(service, ordinal, exact(Date.parse(first_at), t.language));
}

function Charts({ told }: { told: Told }) {
  const t = useText();
  const { lines, from, step_seconds } = told;
  if (lastOf([lines.cpu_millis, lines.requests]) === null) {
    return (
      <Empty title={t.figures.none}>
        <p>{t.figures.noneText}</p>
      </Empty>
    );
  }
  const shared = { from, stepSeconds: step_seconds };
  const line = (name: string, values: Line["values"]): Line => ({ name, values });
  return (
    <>
      <div class="columns">
        <Chart
          {...shared}
          title={t.figures.processor}
          lines={[line(t.figures.used, lines.cpu_millis)]}
          format={percent(t)}
        />
        <Chart
          {...shared}
          title={t.figures.memory}
          lines={[line(t.figures.average, lines.memory_bytes), line(t.figures.most, lines.memory_peak_bytes)]}
          format={bytes}
          ofBytes
        />
        <Chart
          {...shared}
          title={t.figures.requests}
          lines={[line(t.figures.all, lines.requests), line(t.figures.errors, lines.errors)]}
          format={count(t)}
        />
        <Chart
          {...shared}
          title={t.figures.answers}
          lines={[line("p50", lines.p50_ms), line("p95", lines.p95_ms), line("p99", lines.p99_ms)]}
          format={milliseconds(t)}
        />
        <Chart
          {...shared}
          title={t.figures.network}
          lines={[line(t.figures.received, lines.network_received), line(t.figures.sent, lines.network_sent)]}
          format={perSecond}
          ofBytes
        />
        <Chart
          {...shared}
          title={t.figures.disk}
          lines={[line(t.figures.read, lines.disk_read), line(t.figures.written, lines.disk_written)]}
          format={perSecond}
          ofBytes
        />
        <Chart {...shared} title={t.figures.restarts} lines={[line(t.figures.all, lines.restarts)]} format={count(t)} />
      </div>
      <p class="muted small">{t.figures.step(step_seconds)}</p>
    </>
  );
}
