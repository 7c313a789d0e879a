import type { CommandRun } from "../../api/runs";
import { type Text, useText } from "../../text";
import { type Column, Table } from "../../ui/Table";
import { Duration, Time } from "../../ui/Time";
import { RunStatusBadge } from "./RunStatusBadge";

export const addressOfRun = ({ application_id, id }: CommandRun): string =>
  `/applications/${application_id}/commands/${id}`;

export function RunTable({ runs }: { runs: readonly CommandRun[] }) {
  const t = useText();
  return <Table label={t.runs.title} columns={columns(t)} rows={runs} rowKey={({ id }) => id} />;
}

function columns(t: Text): Column<CommandRun>[] {
  return [
    {
      title: t.runs.command,
      isName: true,
      cell: (run) => (
        <span class="row">
          <a class="row-link break" href={addressOfRun(run)}>
            <code>{firstLine(run.command)}</code>
          </a>
          {run.schedule_name && <span class="tag">{run.schedule_name}</span>}
          {run.service && <span class="tag">{run.service}</span>}
        </span>
      ),
    },
    { title: t.runs.status, bare: true, cell: ({ status }) => <RunStatusBadge status={status} /> },
    { title: t.runs.reason, minor: true, cell: ({ reason }) => <span class="break">{reason}</span> },
    { title: t.runs.by, minor: true, cell: ({ actor, schedule_name }) => (schedule_name ? t.runs.schedule : actor) },
    { title: t.runs.when, bare: true, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: t.runs.duration,
      numeric: true,
      cell: ({ started_at, completed_at }) => started_at && <Duration from={started_at} to={completed_at} />,
    },
  ];
}

/** Where there is no room for all of it. */
export function firstLine(command: string): string {
  const [first = "", ...rest] = command.split("\n");
  return rest.length > 0 ? `${first} …` : first;
}
