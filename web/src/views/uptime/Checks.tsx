import { useState } from "preact/hooks";
import { type CheckResult, type Uptime, type UptimeCheck, useUptimeChecks } from "../../api/uptime";
import { type Text, useText } from "../../text";
import { AsTable } from "../../ui/AsTable";
import { CursorPages } from "../../ui/CursorPages";
import { Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { exact } from "../../ui/time";
import { milliseconds } from "../figures/words";
import { CheckStrip } from "./CheckStrip";
import { RESULT_TONES } from "./facts";

/** One by one, as long as they are kept. */
export function Checks({ uptime }: { uptime: Uptime }) {
  const t = useText();
  const [before, setBefore] = useState<string | null>(null);
  const part = { lastCheckAt: uptime.last_check_at, before };
  const { data, error, refetch } = useUptimeChecks(uptime.application_id, part);
  return (
    <section class="card stack">
      <h2>{t.uptime.checks}</h2>
      {error && !data && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && data.checks.length === 0 && <p class="muted">{before ? t.uptime.noOlder : t.uptime.noChecks}</p>}
      {data && data.checks.length > 0 && (
        <>
          <CheckStrip checks={data.checks} />
          <AsTable title={t.uptime.checks}>
            {() => <Table label={t.uptime.checks} columns={columns(t)} rows={data.checks} rowKey={({ id }) => id} />}
          </AsTable>
        </>
      )}
      <CursorPages label={t.uptime.checksPages} before={before} next={data?.next_cursor ?? null} onBefore={setBefore} />
    </section>
  );
}

function columns(t: Text): Column<UptimeCheck>[] {
  return [
    { title: t.uptime.when, isName: true, cell: ({ checked_at }) => exact(Date.parse(checked_at), t.language) },
    { title: t.uptime.result, bare: true, cell: ({ result }) => <ResultBadge of={result} /> },
    { title: t.uptime.status, numeric: true, cell: ({ status }) => status },
    {
      title: t.uptime.answer,
      numeric: true,
      cell: ({ answer_ms }) => answer_ms !== null && milliseconds(t)(answer_ms),
    },
    { title: t.uptime.reason, bare: true, cell: ({ reason }) => reason },
  ];
}

function ResultBadge({ of }: { of: CheckResult }) {
  return <span class={`state ${RESULT_TONES[of]}`}>{useText().uptime.results[of]}</span>;
}
