import { type ExtensionFilter, useCategories } from "../../api/extensions";
import { useText } from "../../text";
import { FilterChoice, FilterSearch, Filters } from "../../ui/Filter";
import { changeFilter, isFiltered } from "../../ui/filter";

interface Props {
  filter: ExtensionFilter;
  onFilter: (next: ExtensionFilter) => void;
}

export function ExtensionFilters({ filter, onFilter }: Props) {
  const t = useText().extensions;
  const { data: categories = [] } = useCategories();
  return (
    <Filters onClear={isFiltered(filter) && (() => onFilter({}))}>
      <FilterSearch
        label={t.search}
        hint={t.searchHint}
        value={filter.search ?? ""}
        onValue={(search) => onFilter(changeFilter(filter, { search }))}
      />
      <FilterChoice
        label={t.category}
        value={filter.category ?? ""}
        options={categories.map((category) => [category, category])}
        onValue={(category) => onFilter(changeFilter(filter, { category }))}
      />
      <FilterChoice
        label={t.kind}
        value={filter.type ?? ""}
        options={Object.entries(t.type)}
        onValue={(type) => onFilter(changeFilter(filter, { type }))}
      />
    </Filters>
  );
}
