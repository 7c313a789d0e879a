import type { Schemas } from "../../api/client";
import { type Instance, REFRESH_MS, useHealth, useInstance } from "../../api/instance";
import { useText } from "../../text";
import { bytes } from "../../ui/bytes";
import { Loading } from "../../ui/Empty";
import { Facts } from "../../ui/Facts";
import { Meter } from "../../ui/Meter";
import { Problem } from "../../ui/Problem";
import { Time } from "../../ui/Time";
import { Machine } from "./Machine";

/** How the server is, as it is now. */
export function Health() {
  const t = useText();
  const health = useHealth();
  const instance = useInstance(REFRESH_MS);
  const error = (health.data ? null : health.error) ?? (instance.data ? null : instance.error);
  const again = () => {
    void health.refetch();
    void instance.refetch();
  };
  return (
    <>
      {error && <Problem error={error} onAgain={again} />}
      {!error && !(health.data && instance.data) && <Loading />}
      <div class="columns">
        {health.data && <Parts health={health.data} />}
        {instance.data && <Server instance={instance.data} />}
        {health.data && instance.data && (
          <div class="stack">
            <Room disk={instance.data.disk} cache={health.data.build_cache} />
            <Numbers of={instance.data} />
          </div>
        )}
      </div>
      <Machine />
      {health.data && <p class="muted small">{t.instance.refreshed}</p>}
    </>
  );
}

function Parts({ health }: { health: Schemas["Health"] }) {
  const t = useText();
  const unwell = health.dependencies.filter(({ ready }) => !ready).length;
  return (
    <section class="card stack">
      <h2>
        <span class={`state ${unwell ? "bad" : "good"}`}>{unwell ? t.instance.unwell(unwell) : t.instance.well}</span>
      </h2>
      <ul class="parts" aria-label={t.instance.dependencies}>
        {health.dependencies.map(({ name, ready, reason }) => (
          <li key={name}>
            <div class="row between">
              <span>{t.instance.dependency[name] ?? name}</span>
              <span class={`state ${ready ? "good" : "bad"}`}>{ready ? t.instance.isWell : t.instance.isUnwell}</span>
            </div>
            {reason && <p class="problem-text break">{reason}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Server({ instance }: { instance: Instance }) {
  const t = useText();
  return (
    <section class="card stack">
      <h2>{t.instance.server}</h2>
      <Facts
        rows={[
          [t.instance.version, instance.version],
          [t.instance.since, <Time key="since" at={instance.started_at} />],
          [t.instance.database, t.instance.databases[instance.database] ?? instance.database],
          [t.instance.publicUrl, instance.public_url],
          [t.instance.edgeAddresses, instance.edge_addresses.join(", ")],
        ]}
      />
    </section>
  );
}

/** A disk with less than this part free is about to be a problem. */
const LOW = 0.15;
const VERY_LOW = 0.05;

function Room({ disk, cache }: { disk: Instance["disk"]; cache: Schemas["BuildCache"] }) {
  const t = useText();
  const free = disk && disk.total_bytes > 0 ? disk.free_bytes / disk.total_bytes : 1;
  return (
    <section class="card stack">
      <h2>{t.instance.room}</h2>
      {disk && (
        <Meter
          label={t.instance.disk}
          text={t.instance.diskText(bytes(disk.free_bytes), bytes(disk.total_bytes))}
          part={1 - free}
          tone={free < VERY_LOW ? "bad" : free < LOW ? "warn" : undefined}
        />
      )}
      <Meter
        label={t.instance.cache}
        text={
          cache.budget_bytes > 0
            ? t.instance.cacheText(bytes(cache.bytes), bytes(cache.budget_bytes))
            : t.instance.cacheNoLimit(bytes(cache.bytes))
        }
        part={cache.budget_bytes > 0 ? cache.bytes / cache.budget_bytes : 0}
      />
    </section>
  );
}

function Numbers({ of }: { of: Instance }) {
  const t = useText();
  const { queue } = of;
  const numbers: [string, number][] = [
    [t.instance.running, queue.running],
    [t.instance.waiting, queue.waiting],
    [t.instance.applications, of.applications],
    [t.instance.organizations, of.organizations],
    [t.instance.users, of.users],
  ];
  return (
    <section class="card stack">
      <h2>{t.instance.counts}</h2>
      <dl class="numbers">
        {numbers.map(([name, count]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{count.toLocaleString(t.language)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
