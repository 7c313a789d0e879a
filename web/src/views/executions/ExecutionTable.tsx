import type { Execution } from "../../api/executions";
import { useText } from "../../text";
import { type Column, Table } from "../../ui/Table";
import { Duration, Time } from "../../ui/Time";
import { ExecutionStateBadge } from "../extensions/State";
import { OfExtension } from "./OfExtension";
import { UserName } from "./UserName";

interface Props {
  executions: readonly Execution[];
  /** Whether each row says which extension it is of. */
  hasExtension: boolean;
}

export function ExecutionTable({ executions, hasExtension }: Props) {
  const t = useText();
  const columns: Column<Execution>[] = [
    {
      title: t.executions.what,
      isName: true,
      cell: (execution) => (
        <a class="row-link" href={`/extensions/executions/${execution.id}`}>
          {t.executions.kind[execution.kind]}
        </a>
      ),
    },
    { title: t.executions.extension, bare: true, cell: (execution) => <OfExtension execution={execution} /> },
    { title: t.executions.state, bare: true, cell: ({ status }) => <ExecutionStateBadge state={status} /> },
    { title: t.executions.version, minor: true, cell: ({ version }) => version },
    { title: t.executions.by, minor: true, cell: ({ user_id }) => <UserName id={user_id} /> },
    { title: t.executions.started, bare: true, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: t.executions.duration,
      numeric: true,
      cell: ({ started_at, completed_at }) => started_at && <Duration from={started_at} to={completed_at} />,
    },
  ];
  return (
    <Table
      label={t.executions.title}
      columns={columns.filter(({ title }) => hasExtension || title !== t.executions.extension)}
      rows={executions}
      rowKey={({ id }) => id}
    />
  );
}
