import { useHostFigures } from "../../api/figures";
import { useText } from "../../text";
import { bytes } from "../../ui/bytes";
import { Chart } from "../../ui/Chart";
import { lastOf } from "../../ui/chart";
import { Meter } from "../../ui/Meter";
import { Problem } from "../../ui/Problem";
import { percent } from "../figures/words";

/** What the machine of the server uses, over the last hour. */
export function Machine() {
  const t = useText();
  const { data, error, refetch } = useHostFigures();
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return null;
  const { lines, from, step_seconds, engine } = data;
  const shared = { from, stepSeconds: step_seconds };
  return (
    <section class="stack" aria-labelledby="machine">
      <h2 id="machine">{t.figures.machine(data.processors, bytes(data.memory_total_bytes))}</h2>
      {data.problem && <p class="notice warn">{data.problem}</p>}
      {engine && engine.total_bytes > 0 && (
        <Meter
          label={t.figures.engineDisk}
          text={t.instance.diskText(bytes(engine.free_bytes), bytes(engine.total_bytes))}
          part={1 - engine.free_bytes / engine.total_bytes}
        />
      )}
      {lastOf([lines.load, lines.memory_bytes]) === null ? (
        <p class="muted">{t.figures.none}</p>
      ) : (
        <div class="columns">
          <Chart
            {...shared}
            title={t.figures.processors}
            lines={[{ name: t.figures.used, values: lines.cpu_millis }]}
            format={percent(t)}
          />
          <Chart
            {...shared}
            title={t.figures.memory}
            lines={[{ name: t.figures.used, values: lines.memory_bytes }]}
            format={bytes}
            ofBytes
          />
          <Chart
            {...shared}
            title={t.figures.load}
            lines={[{ name: t.figures.average, values: lines.load }]}
            format={(load) => load.toLocaleString(t.language, { maximumFractionDigits: 2 })}
          />
        </div>
      )}
    </section>
  );
}
