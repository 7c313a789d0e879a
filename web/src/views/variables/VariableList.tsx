import { useState } from "preact/hooks";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { type Column, Table } from "../../ui/Table";
import { HIDDEN } from "./changes";
import type { Variables } from "./dotenv";
import "./variables.css";

type Row = readonly [name: string, value: string];

interface Props {
  label: string;
  variables: Variables;
  secretNames: readonly string[];
}

export function VariableList({ label, variables, secretNames }: Props) {
  const t = useText();
  const rows = Object.entries(variables).sort(([a], [b]) => a.localeCompare(b));
  if (rows.length === 0) return <p class="muted">{t.variables.empty}</p>;
  return <Table label={label} columns={columns(t, new Set(secretNames))} rows={rows} rowKey={([name]) => name} />;
}

function columns(t: Text, secrets: ReadonlySet<string>): Column<Row>[] {
  return [
    {
      title: t.variables.name,
      isName: true,
      cell: ([name]) => (
        <>
          <code>{name}</code> {secrets.has(name) && <span class="tag">{t.variables.secret}</span>}
        </>
      ),
    },
    { title: t.variables.value, bare: true, cell: ([name, value]) => <Value name={name} value={value} /> },
  ];
}

/** Hidden until it is asked for, so that it is not seen over a shoulder. */
function Value({ name, value }: { name: string; value: string }) {
  const t = useText();
  const [isShown, setShown] = useState(false);
  if (value === HIDDEN) return <code class="muted">{HIDDEN}</code>;
  return (
    <span class="variable-value">
      <code class="break">{isShown ? value : "••••••••"}</code>
      <Button
        kind="quiet"
        aria-label={`${isShown ? t.common.hide : t.common.show}: ${name}`}
        onClick={() => setShown(!isShown)}
      >
        {isShown ? t.common.hide : t.common.show}
      </Button>
    </span>
  );
}
