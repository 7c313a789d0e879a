import type { ExtensionVariable } from "../../api/extensions";
import { type Text, useText } from "../../text";
import { type Column, Table } from "../../ui/Table";
import { valueText } from "./facts";

/** What it asks for. */
export function VariableTable({ of }: { of: readonly ExtensionVariable[] }) {
  const t = useText();
  return (
    <section class="stack">
      <h2>{t.extensions.variables}</h2>
      {of.length === 0 ? (
        <p class="muted">{t.extensions.noVariables}</p>
      ) : (
        <Table label={t.extensions.variables} columns={columns(t)} rows={of} rowKey={({ id }) => id} />
      )}
    </section>
  );
}

function columns(t: Text): Column<ExtensionVariable>[] {
  return [
    { title: t.extensions.variable, isName: true, cell: (one) => <code>{one.variable_name}</code> },
    { title: t.extensions.kind, bare: true, cell: (one) => t.extensions.variableType[one.variable_type] },
    { title: t.extensions.meaning, bare: true, cell: (one) => one.description },
    { title: t.extensions.value, cell: (one) => <Default of={one} /> },
  ];
}

function Default({ of }: { of: ExtensionVariable }) {
  const t = useText();
  const text = valueText(of.default_value).split("\n").join(", ");
  if (text !== "") return <code>{text}</code>;
  if (of.is_required) return <span class="tag">{t.extensions.required}</span>;
  return <span class="muted">{of.variable_type === "secret" ? t.extensions.madeUp : t.extensions.none}</span>;
}
