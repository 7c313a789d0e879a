import { useState } from "preact/hooks";
import { useApplications } from "../../api/applications";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { SelectField } from "../../ui/Field";
import { FilterSearch } from "../../ui/Filter";

interface Props {
  chosen: readonly string[];
  /** With the name that the organization has for it, which can be changed. */
  onAdd: (id: string, name: string) => void;
}

/** One of those that are not shown yet. Previews are not checked, so they are not offered. */
export function AddApplication({ chosen, onAdd }: Props) {
  const t = useText().statusPage;
  const [search, setSearch] = useState("");
  const [picked, setPicked] = useState("");
  const { data } = useApplications(search ? { search } : {});
  if (!data) return null;
  const isMany = search !== "" || data.pagination.total_pages > 1;
  const offered = data.applications.filter(({ id, preview_of }) => !preview_of && !chosen.includes(id));
  const one = offered.find(({ id }) => id === picked);
  const add = () => {
    if (!one) return;
    onAdd(one.id, one.name);
    setPicked("");
  };
  if (offered.length === 0 && !isMany) return <p class="muted">{t.noOther}</p>;
  return (
    <div class="stack narrow">
      {isMany && <FilterSearch label={t.search} value={search} onValue={setSearch} />}
      <SelectField
        label={t.add}
        options={[["", t.choose], ...offered.map(({ id, name }) => [id, name] as const)]}
        value={one ? picked : ""}
        onValue={setPicked}
      />
      <div class="row">
        <Button disabled={!one} onClick={add}>
          {t.addAction}
        </Button>
      </div>
    </div>
  );
}
