import { useState } from "preact/hooks";
import { type Setting, useInstance } from "../../api/instance";
import { useText } from "../../text";
import { Empty, Loading } from "../../ui/Empty";
import { CheckField } from "../../ui/Field";
import { FilterSearch, Filters } from "../../ui/Filter";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { matching } from "./settings";

/** How the server was started. It cannot be changed here, so there is nothing to save. */
export function InstanceSettings() {
  const t = useText();
  const { data, error, refetch } = useInstance(false);
  const [search, setSearch] = useState("");
  const [onlyChanged, setOnlyChanged] = useState(false);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  const shown = matching(data.settings, search, onlyChanged);
  const columns: Column<Setting>[] = [
    {
      title: t.instance.setting,
      isName: true,
      cell: ({ name, help, is_default }) => (
        <>
          <code>{name}</code> {!is_default && <span class="tag">{t.instance.changed}</span>}
          <span class="setting-help muted small">{help}</span>
        </>
      ),
    },
    {
      title: t.instance.value,
      bare: true,
      cell: ({ value }) => (value ? <code>{value}</code> : <span class="muted">{t.instance.empty}</span>),
    },
  ];
  return (
    <>
      <p class="muted">{t.instance.settingsText}</p>
      <Filters class="row">
        <FilterSearch label={t.instance.searchSettings} value={search} onValue={setSearch} />
        <div class="filter-check">
          <CheckField
            label={t.instance.onlyChanged(data.settings.filter(({ is_default }) => !is_default).length)}
            checked={onlyChanged}
            onChecked={setOnlyChanged}
          />
        </div>
      </Filters>
      {shown.length === 0 ? (
        <Empty title={t.instance.noSettings} />
      ) : (
        <Table label={t.instance.settings} columns={columns} rows={shown} rowKey={({ name }) => name} />
      )}
    </>
  );
}
