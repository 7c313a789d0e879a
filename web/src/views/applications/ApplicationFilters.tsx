import type { Application, ApplicationFilter, ApplicationState } from "../../api/applications";
import { useText } from "../../text";
import { FilterChoice, FilterSearch, Filters, FilterText } from "../../ui/Filter";
import { changeFilter, type FilterChange, isFiltered } from "../../ui/filter";
import { STATES } from "./filter";

interface Props {
  filter: ApplicationFilter;
  /** What is listed now: its labels and environments are proposed. */
  listed: readonly Application[];
  onFilter: (filter: ApplicationFilter) => void;
}

const sorted = (texts: readonly string[]): string[] => [...new Set(texts)].sort();

const splitLabels = (text: string): string[] =>
  text
    .split(",")
    .map((label) => label.trim())
    .filter(Boolean);

export function ApplicationFilters({ filter, listed, onFilter }: Props) {
  const t = useText();
  const change = (part: FilterChange<ApplicationFilter>) => onFilter(changeFilter(filter, part));
  return (
    <Filters onClear={isFiltered(filter) && (() => onFilter({}))}>
      <FilterSearch
        label={t.applications.search}
        hint={t.applications.searchHint}
        value={filter.search ?? ""}
        onValue={(search) => change({ search })}
      />
      <FilterChoice
        label={t.applications.state}
        value={filter.state ?? ""}
        options={STATES.map((state) => [state, t.state.application[state]])}
        onValue={(state) => change({ state: state as ApplicationState })}
      />
      <FilterText
        label={t.applications.environment}
        value={filter.environment ?? ""}
        proposed={sorted(listed.map(({ environment }) => environment))}
        onValue={(environment) => change({ environment: environment.toLowerCase().replace(/[^a-z0-9-]/g, "") })}
      />
      <FilterText
        label={t.applications.label}
        value={filter.label?.join(", ") ?? ""}
        proposed={sorted(listed.flatMap(({ labels }) => labels))}
        onValue={(text) => change({ label: splitLabels(text) })}
      />
    </Filters>
  );
}
