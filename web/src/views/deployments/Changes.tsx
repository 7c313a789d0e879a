import type { ReleaseChange } from "../../api/deployments";
import { useText } from "../../text";
import { type Column, Table } from "../../ui/Table";

/** In what two releases differ, field by field. */
export function Changes({ changes }: { changes: readonly ReleaseChange[] }) {
  const t = useText();
  if (changes.length === 0) return <p class="muted">{t.deployments.noChanges}</p>;
  const columns: Column<ReleaseChange>[] = [
    { title: t.deployments.field, isName: true, cell: ({ field, variable }) => <code>{variable || field}</code> },
    { title: t.deployments.before, cell: ({ before, is_cut }) => <Value of={before} isCut={is_cut} /> },
    { title: t.deployments.after, cell: ({ after, is_cut }) => <Value of={after} isCut={is_cut} /> },
    { title: t.deployments.concerns, minor: true, cell: ({ effect }) => t.deployments.effect[effect] },
  ];
  return (
    <Table
      label={t.deployments.changes}
      columns={columns}
      rows={changes}
      rowKey={({ field, variable }) => `${field} ${variable}`}
    />
  );
}

function Value({ of, isCut }: { of: string | null; isCut: boolean }) {
  const t = useText();
  if (of === null) return <span class="muted">{t.deployments.notThere}</span>;
  return of === "" ? (
    <span class="muted">{t.deployments.empty}</span>
  ) : (
    <code class="break">{isCut ? `${of} …` : of}</code>
  );
}
