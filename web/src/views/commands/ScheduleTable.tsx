import { useLocation } from "preact-iso";
import { useRunSchedule } from "../../api/runs";
import type { Schedule } from "../../api/schedules";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { useTellProblem } from "../../ui/Toast";
import { RunStatusBadge } from "./RunStatusBadge";
import { addressOfRun, firstLine } from "./RunTable";
import { useMayRun } from "./useMayRun";

interface Props {
  schedules: readonly Schedule[];
  onEdit: (schedule: Schedule) => void;
  onDelete: (schedule: Schedule) => void;
}

export function ScheduleTable({ schedules, onEdit, onDelete }: Props) {
  const t = useText();
  const mayRun = useMayRun();
  const actions: Column<Schedule> = {
    title: t.common.actions,
    hideTitle: true,
    numeric: true,
    cell: (schedule) => (
      <span class="row row-actions">
        <RunNow schedule={schedule} />
        <Button aria-label={`${t.schedules.edit}: ${schedule.name}`} onClick={() => onEdit(schedule)}>
          {t.schedules.edit}
        </Button>
        <Button kind="danger" aria-label={`${t.schedules.remove}: ${schedule.name}`} onClick={() => onDelete(schedule)}>
          {t.schedules.remove}
        </Button>
      </span>
    ),
  };
  const all = [...columns(t), ...(mayRun ? [actions] : [])];
  return <Table label={t.schedules.title} columns={all} rows={schedules} rowKey={({ id }) => id} />;
}

/** Also of one that is not enabled. */
function RunNow({ schedule }: { schedule: Schedule }) {
  const t = useText().schedules;
  const { route } = useLocation();
  const run = useRunSchedule(schedule.application_id);
  const tellProblem = useTellProblem();
  return (
    <Button
      aria-label={`${t.runNow}: ${schedule.name}`}
      title={t.runNowHint}
      busy={run.isPending}
      onClick={() =>
        run.mutate(schedule.id, { onError: tellProblem, onSuccess: (queued) => route(addressOfRun(queued)) })
      }
    >
      {t.runNow}
    </Button>
  );
}

function columns(t: Text): Column<Schedule>[] {
  return [
    {
      title: t.schedules.name,
      isName: true,
      cell: ({ name, command }) => (
        <>
          <span class="break">{name}</span>
          <p class="small muted break">
            <code>{firstLine(command)}</code>
          </p>
        </>
      ),
    },
    { title: t.schedules.cron, bare: true, cell: ({ cron, time_zone }) => <code>{`${cron} ${time_zone}`}</code> },
    {
      title: t.schedules.next,
      cell: ({ next_run_at }) => (next_run_at ? <Time at={next_run_at} /> : t.schedules.off),
    },
    {
      title: t.schedules.last,
      cell: ({ last_run }) =>
        last_run && (
          <a class="row" href={addressOfRun(last_run)}>
            <RunStatusBadge status={last_run.status} /> <Time at={last_run.created_at} />
          </a>
        ),
    },
  ];
}
