import { useState } from "preact/hooks";
import { type Outage, type Uptime, useOutages } from "../../api/uptime";
import { type Text, useText } from "../../text";
import { CursorPages } from "../../ui/CursorPages";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Duration, Time } from "../../ui/Time";

export function Outages({ uptime }: { uptime: Uptime }) {
  const t = useText();
  const [before, setBefore] = useState<string | null>(null);
  const part = { lastCheckAt: uptime.last_check_at, before };
  const { data, error, refetch } = useOutages(uptime.application_id, part);
  return (
    <section class="stack">
      <h2>{t.uptime.outages}</h2>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && data.outages.length === 0 && <p class="muted">{before ? t.uptime.noOlder : t.uptime.noOutages}</p>}
      {data && data.outages.length > 0 && (
        <Table label={t.uptime.outages} columns={columns(t)} rows={data.outages} rowKey={({ id }) => id} />
      )}
      <CursorPages
        label={t.uptime.outagesPages}
        before={before}
        next={data?.next_cursor ?? null}
        onBefore={setBefore}
      />
    </section>
  );
}

function columns(t: Text): Column<Outage>[] {
  return [
    { title: t.uptime.began, isName: true, cell: ({ started_at }) => <Time at={started_at} /> },
    {
      title: t.uptime.duration,
      numeric: true,
      cell: ({ started_at, ended_at }) => <Duration from={started_at} to={ended_at} />,
    },
    { title: t.uptime.end, bare: true, cell: (outage) => <End of={outage} /> },
    { title: t.uptime.reason, bare: true, cell: ({ reason }) => reason },
  ];
}

function End({ of: { ended_at, recovered } }: { of: Outage }) {
  const t = useText().uptime;
  if (ended_at === null) return <span class="state bad">{t.lasts}</span>;
  return <span class={`state ${recovered ? "good" : ""}`}>{recovered ? t.recovered : t.ended}</span>;
}
