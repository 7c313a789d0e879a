import { useState } from "preact/hooks";
import { useApplication, useApplications } from "../../api/applications";
import { useText } from "../../text";
import { CheckField, CheckList, SelectField } from "../../ui/Field";
import { FilterSearch } from "../../ui/Filter";

/** More than this many are searched. */
const SEARCHED = 10;

interface Props {
  /** Null for all. */
  chosen: readonly string[] | null;
  onChosen: (chosen: readonly string[] | null) => void;
  problem: string | null;
}

/** All applications, or some of them. */
export function ApplicationChoice({ chosen, onChosen, problem }: Props) {
  const t = useText().notifications;
  return (
    <div class="stack">
      <div class="narrow">
        <SelectField
          label={t.applications}
          hint={chosen ? t.onlyTheirs : undefined}
          problem={problem}
          value={chosen ? "some" : "all"}
          options={[
            ["all", t.allApplications],
            ["some", t.someApplications],
          ]}
          onValue={(which) => onChosen(which === "some" ? [] : null)}
        />
      </div>
      {chosen && <Some chosen={chosen} onChosen={onChosen} />}
    </div>
  );
}

function Some({ chosen, onChosen }: { chosen: readonly string[]; onChosen: (chosen: readonly string[]) => void }) {
  const t = useText();
  const [search, setSearch] = useState("");
  const { data } = useApplications(search ? { search } : {});
  if (!data) return null;
  const found = data.applications;
  const isMany = search !== "" || data.pagination.total_count > SEARCHED;
  const others = chosen.filter((id) => !found.some((one) => one.id === id));
  const leaveOut = (id: string) => onChosen(chosen.filter((other) => other !== id));
  return (
    <fieldset class="stack">
      <legend class="hidden-text">{t.notifications.someApplications}</legend>
      {isMany && <FilterSearch label={t.notifications.searchApplications} value={search} onValue={setSearch} />}
      {data.pagination.total_count === 0 && <p class="muted">{t.notifications.noApplication}</p>}
      <div class="application-choice">
        <CheckList options={found.map(({ id, name }) => [id, name] as const)} chosen={chosen} onChosen={onChosen} />
        {others.map((id) => (
          <Other key={id} id={id} onLeaveOut={() => leaveOut(id)} />
        ))}
      </div>
    </fieldset>
  );
}

/** One that was chosen before and is not among those that are found. */
function Other({ id, onLeaveOut }: { id: string; onLeaveOut: () => void }) {
  const t = useText().notifications;
  const { data, error } = useApplication(id);
  return <CheckField label={data?.name ?? (error ? t.goneApplication : id)} checked onChecked={onLeaveOut} />;
}
