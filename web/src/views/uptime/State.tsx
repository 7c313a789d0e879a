import type { ComponentChildren } from "preact";
import type { Uptime } from "../../api/uptime";
import { type Text, useText } from "../../text";
import { Facts } from "../../ui/Facts";
import { Time } from "../../ui/Time";
import { duration } from "../../ui/time";
import { Actions } from "./Actions";
import { meaning, STATE_TONES } from "./facts";
import "../../ui/states.css";

/** What is known of the application, why, and how it is asked. */
export function State({ uptime }: { uptime: Uptime }) {
  const t = useText();
  return (
    <section class="card stack">
      <div class="row between">
        <h2>{t.uptime.state}</h2>
        <span role="status">
          <span class={`state ${STATE_TONES[uptime.state]}`}>{t.uptime.states[uptime.state]}</span>
        </span>
      </div>
      <p>
        {meaning(t, uptime)}{" "}
        {uptime.state === "blocked" && <a href={`/applications/${uptime.application_id}/access`}>{t.access.title}</a>}
      </p>
      <Facts rows={rows(t, uptime)} />
      <Actions uptime={uptime} />
    </section>
  );
}

function rows(t: Text, uptime: Uptime): [string, ComponentChildren][] {
  const { reason, since, last_check_at, next_check_at, expected_status } = uptime;
  const how = [
    t.uptime.every(duration(uptime.interval_seconds * 1000)),
    t.uptime.within(duration(uptime.timeout_seconds * 1000)),
  ];
  return [
    [t.uptime.reason, reason],
    [t.uptime.since, since && <Time key="s" at={since} />],
    [t.uptime.last, last_check_at && <Time key="l" at={last_check_at} />],
    [t.uptime.next, next_check_at && <Time key="n" at={next_check_at} />],
    [
      t.uptime.how,
      <span key="h">
        <code class="break">{uptime.path}</code> {how.join(", ")}
      </span>,
    ],
    [t.uptime.expected, expected_status === 0 ? t.uptime.anyGood : String(expected_status)],
    [t.uptime.failures, String(uptime.failures)],
  ];
}
