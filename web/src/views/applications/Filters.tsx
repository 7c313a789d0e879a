import { useEffect, useId, useState } from "preact/hooks";
import type { Application, ApplicationFilter, ApplicationState } from "../../api/applications";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { isFiltered, STATES } from "./filter";

interface Props {
  filter: ApplicationFilter;
  /** What is listed now: its labels and environments are proposed. */
  listed: readonly Application[];
  onFilter: (filter: ApplicationFilter) => void;
}

const TYPING_MS = 250;

export function Filters({ filter, listed, onFilter }: Props) {
  const t = useText();
  const id = useId();
  const change = (part: { [K in keyof ApplicationFilter]: ApplicationFilter[K] | undefined }) => {
    const { page: _, ...kept } = { ...filter, ...part };
    onFilter(Object.fromEntries(Object.entries(kept).filter(([, value]) => value?.length)) as ApplicationFilter);
  };
  const labels = [...new Set(listed.flatMap(({ labels: some }) => some))].sort();
  const environments = [...new Set(listed.map(({ environment }) => environment))].sort();
  return (
    <search class="filters">
      <TypedInput
        class="filter-search"
        type="search"
        label={t.applications.search}
        placeholder={t.applications.searchHint}
        value={filter.search ?? ""}
        onValue={(search) => change({ search })}
      />
      <select
        aria-label={t.applications.state}
        value={filter.state ?? ""}
        onChange={({ currentTarget }) => change({ state: (currentTarget.value || undefined) as ApplicationState })}
      >
        <option value="">{`${t.applications.state}: ${t.applications.any}`}</option>
        {STATES.map((state) => (
          <option key={state} value={state}>
            {t.state.application[state]}
          </option>
        ))}
      </select>
      <TypedInput
        type="text"
        list={`${id}-environments`}
        label={t.applications.environment}
        placeholder={t.applications.environment}
        value={filter.environment ?? ""}
        onValue={(environment) => change({ environment: environment.toLowerCase().replace(/[^a-z0-9-]/g, "") })}
      />
      <datalist id={`${id}-environments`}>
        {environments.map((environment) => (
          <option key={environment} value={environment} />
        ))}
      </datalist>
      <TypedInput
        type="text"
        list={`${id}-labels`}
        label={t.applications.label}
        placeholder={t.applications.label}
        value={filter.label?.join(", ") ?? ""}
        onValue={(text) =>
          change({
            label: text
              .split(",")
              .map((label) => label.trim())
              .filter(Boolean),
          })
        }
      />
      <datalist id={`${id}-labels`}>
        {labels.map((label) => (
          <option key={label} value={label} />
        ))}
      </datalist>
      {isFiltered(filter) && (
        <Button kind="quiet" onClick={() => onFilter({})}>
          {t.applications.clear}
        </Button>
      )}
    </search>
  );
}

interface TypedProps {
  label: string;
  value: string;
  onValue: (value: string) => void;
  type: string;
  placeholder: string;
  list?: string;
  class?: string;
}

/** Tells its value when typing has paused. */
export function TypedInput({ label, value, onValue, ...rest }: TypedProps) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value.trim()) return;
    const timer = setTimeout(() => onValue(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value, onValue]);
  return (
    <input
      {...rest}
      aria-label={label}
      autocomplete="off"
      value={typed}
      onInput={({ currentTarget }) => setTyped(currentTarget.value)}
    />
  );
}
