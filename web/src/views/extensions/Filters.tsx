import { useEffect, useState } from "preact/hooks";
import { type ExtensionFilter, useCategories } from "../../api/extensions";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { isFiltered } from "./filter";
import "../applications/applications.css";

const TYPING_MS = 250;

export function Filters({ filter, onFilter }: { filter: ExtensionFilter; onFilter: (next: ExtensionFilter) => void }) {
  const t = useText().extensions;
  const { data: categories = [] } = useCategories();
  const change = (part: { [K in keyof ExtensionFilter]: ExtensionFilter[K] | undefined }) => {
    const { page: _, ...kept } = { ...filter, ...part };
    onFilter(Object.fromEntries(Object.entries(kept).filter(([, value]) => value)) as ExtensionFilter);
  };
  return (
    <search class="filters">
      <Search value={filter.search ?? ""} onValue={(search) => change({ search })} />
      <Choice
        label={t.category}
        value={filter.category ?? ""}
        options={categories.map((category) => [category, category])}
        onValue={(category) => change({ category })}
      />
      <Choice
        label={t.kind}
        value={filter.type ?? ""}
        options={Object.entries(t.type)}
        onValue={(type) => change({ type })}
      />
      {isFiltered(filter) && (
        <Button kind="quiet" onClick={() => onFilter({})}>
          {t.clear}
        </Button>
      )}
    </search>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onValue: (value: string) => void;
}

/** Its first entry stands for all. */
export function Choice({ label, value, options, onValue }: ChoiceProps) {
  const t = useText().extensions;
  return (
    <select aria-label={label} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
      <option value="">{`${label}: ${t.any}`}</option>
      {options.map(([name, shown]) => (
        <option key={name} value={name}>
          {shown}
        </option>
      ))}
    </select>
  );
}

/** Tells its value when typing has paused. */
function Search({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  const t = useText().extensions;
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value.trim()) return;
    const timer = setTimeout(() => onValue(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value, onValue]);
  return (
    <input
      class="filter-search"
      type="search"
      aria-label={t.search}
      placeholder={t.searchHint}
      autocomplete="off"
      maxLength={200}
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
}
