import type { Preference } from "../../api/notifications";
import { type Text, useText } from "../../text";
import { eventsIn, GROUPS, isUsual } from "./events";

/** What a channel tells, in a line that opens to every event. */
export function Told({ of }: { of: Preference }) {
  const t = useText().notifications;
  const line = summary(t, of);
  if (of.events.length === 0) return <p class="small">{line}</p>;
  return (
    <details class="small">
      <summary>{line}</summary>
      <ul class="told">
        {GROUPS.map((group) => {
          const names = eventsIn(group, of.events);
          if (names.length === 0) return null;
          return (
            <li key={group}>
              <strong>{t.groups[group]}</strong>: {names.map((name) => t.events[name]).join(", ")}
            </li>
          );
        })}
        {of.recoveries && <li>{t.recoveries}</li>}
      </ul>
    </details>
  );
}

function summary(t: Text["notifications"], { events, application_ids }: Preference): string {
  if (events.length === 0) return t.toldNothing;
  const what = isUsual(events) ? t.toldUsual : t.toldEvents(events.length);
  return application_ids.length > 0 ? `${what} ${t.toldOf(application_ids.length)}` : what;
}
