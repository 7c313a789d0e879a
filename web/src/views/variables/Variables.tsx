import { useState } from "preact/hooks";
import type { Application } from "../../api/applications";
import { useMay } from "../../session";
import { type Text, useText } from "../../text";
import { Button } from "../../ui/Button";
import { type Column, Table } from "../../ui/Table";
import { Pending } from "../application/Pending";
import { HIDDEN, readVariables } from "./changes";
import { EditVariables } from "./EditVariables";
import { KINDS, type VariableKind } from "./kinds";
import { VariableFiles } from "./VariableFiles";
import "./variables.css";

export default function Variables({ application }: { application: Application }) {
  const t = useText();
  const mayRead = useMay("variable:read");
  const mayUpdate = useMay("deploy:update") && mayRead;
  const [edited, setEdited] = useState<VariableKind | null>(null);
  return (
    <>
      <Pending application={application} />
      {!mayRead && <p class="notice">{t.variables.masked}</p>}
      {KINDS.map((kind) => (
        <section key={kind} class="stack">
          <div class="row between">
            <h2>{kind === "environment_variables" ? t.variables.run : t.variables.build}</h2>
            <div class="row">
              <VariableFiles application={application} kind={kind} />
              {mayUpdate && <Button onClick={() => setEdited(kind)}>{t.variables.edit}</Button>}
            </div>
          </div>
          <List application={application} kind={kind} />
        </section>
      ))}
      {edited && <EditVariables application={application} kind={edited} onClose={() => setEdited(null)} />}
    </>
  );
}

type Row = readonly [name: string, value: string];

function List({ application, kind }: { application: Application; kind: VariableKind }) {
  const t = useText();
  const rows = Object.entries(readVariables(application[kind])).sort(([a], [b]) => a.localeCompare(b));
  const secrets = new Set(application.secret_names);
  if (rows.length === 0) return <p class="muted">{t.variables.empty}</p>;
  return (
    <Table
      label={kind === "environment_variables" ? t.variables.run : t.variables.build}
      columns={columns(t, secrets)}
      rows={rows}
      rowKey={([name]) => name}
    />
  );
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
