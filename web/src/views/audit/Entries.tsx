import type { ComponentChildren } from "preact";
import type { AuditActivity } from "../../api/audit";
import { useText } from "../../text";
import { Facts } from "../../ui/Facts";
import { ChevronIcon } from "../../ui/icons";
import { Time } from "../../ui/Time";
import { placeOf } from "./links";

/** Each entry opens to what it changed and where it came from. */
export function Entries({ entries }: { entries: readonly AuditActivity[] }) {
  const t = useText();
  return (
    <ol class="entries" aria-label={t.audit.title}>
      {entries.map((entry) => (
        <li key={entry.id}>
          <details>
            <summary>
              <span class={`entry-mark ${entry.action}`} aria-hidden="true" />
              <span class="entry-message">{entry.message}</span>
              <span class="entry-kind muted">{t.audit.resources[entry.resource] ?? entry.resource}</span>
              <span class="entry-time muted">
                <Time at={entry.timestamp} />
              </span>
              <ChevronIcon />
            </summary>
            <Entry of={entry} />
          </details>
        </li>
      ))}
    </ol>
  );
}

/** What tells where a change came from stands below what it changed. */
const ORIGIN = ["api_key", "ip_address", "request_id", "actor_id"];

function Entry({ of }: { of: AuditActivity }) {
  const t = useText();
  const place = placeOf(of);
  const kind = t.audit.resources[of.resource] ?? of.resource;
  const label = (name: string) => t.audit.facts[name] ?? name;
  const changes = Object.keys(of.metadata).filter((name) => !ORIGIN.includes(name));
  return (
    <div class="entry-body stack">
      <Facts
        rows={[
          [t.audit.actor, of.actor],
          [t.audit.action, t.audit.actions[of.action] ?? of.action],
          [t.audit.resource, kind],
          ...changes.map((name) => [label(name), of.metadata[name]] as [string, string]),
          ...ORIGIN.filter((name) => of.metadata[name]).map(
            (name) => [label(name), <code key={name}>{of.metadata[name]}</code>] as [string, ComponentChildren],
          ),
          [t.audit.resourceId, <code key="id">{of.resource_id}</code>],
          [t.audit.id, <code key="entry">{of.id}</code>],
        ]}
      />
      {place && (
        <p>
          <a href={place}>{`${t.audit.open}: ${kind}`}</a>
        </p>
      )}
    </div>
  );
}
