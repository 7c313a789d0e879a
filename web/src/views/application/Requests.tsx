import { useState } from "preact/hooks";
import { sum, type Traffic, useTraffic } from "../../api/traffic";
import { useText } from "../../text";
import { Bars } from "../../ui/Bars";
import { Problem } from "../../ui/Problem";
import { exact } from "../../ui/time";

const HOURS = [1, 6, 24] as const;
const HEIGHT = 56;

/** What visitors asked for, as the edge has counted it. */
export function Requests({ applicationId }: { applicationId: string }) {
  const t = useText();
  const [hours, setHours] = useState<number>(1);
  const { data, error, refetch } = useTraffic(applicationId, hours);
  return (
    <section class="card stack">
      <div class="row between">
        <h2>{t.traffic.title}</h2>
        <select
          class="period"
          aria-label={t.traffic.period}
          value={hours}
          onChange={({ currentTarget }) => setHours(Number(currentTarget.value))}
        >
          {HOURS.map((value) => (
            <option key={value} value={value}>
              {t.traffic.hours(value)}
            </option>
          ))}
        </select>
      </div>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {data && <Chart traffic={data} />}
    </section>
  );
}

function Chart({ traffic }: { traffic: Traffic }) {
  const t = useText();
  const [mine] = traffic.applications;
  const nothing = Array.from({ length: traffic.slots }, () => 0);
  const { requests, errors, answer_ms } = mine ?? { requests: nothing, errors: nothing, answer_ms: nothing };
  const [all, failed] = [sum(requests), sum(errors)];
  const weighted = sum(requests.map((count, slot) => count * (answer_ms[slot] ?? 0)));
  const begin = (slot: number) => Date.parse(traffic.from) + slot * traffic.slot_seconds * 1000;
  const title = (slot: number) =>
    `${exact(begin(slot), t.language)}: ${t.traffic.count(requests[slot] ?? 0, errors[slot] ?? 0)}`;
  return (
    <>
      <p>{t.traffic.count(all, failed) + (all > 0 ? `, ${t.traffic.average(Math.round(weighted / all))}` : "")}</p>
      <Bars label={t.traffic.count(all, failed)} requests={requests} errors={errors} height={HEIGHT} title={title} />
    </>
  );
}
