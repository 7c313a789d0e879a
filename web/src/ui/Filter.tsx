import type { ComponentChildren } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { useText } from "../text";
import { Button } from "./Button";
import "./filter.css";

const TYPING_MS = 250;
/** The API refuses a longer one. */
const LONGEST_SEARCH = 200;

interface Props {
  class?: string;
  /** Absent where nothing is chosen. */
  onClear?: (() => void) | false;
  children: ComponentChildren;
}

/** What stands above a list and decides what is in it. */
export function Filters({ class: extra, onClear, children }: Props) {
  const t = useText().common;
  return (
    <search class={`filters${extra ? ` ${extra}` : ""}`}>
      {children}
      {onClear && (
        <Button kind="quiet" onClick={onClear}>
          {t.clearFilters}
        </Button>
      )}
    </search>
  );
}

interface ValueProps {
  label: string;
  value: string;
  onValue: (value: string) => void;
}

/** What a user types, told to the view when typing has paused: the list should not be asked for letter by letter. */
function useTyped(value: string, onValue: (value: string) => void) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed.trim() === value.trim()) return;
    const timer = setTimeout(() => onValue(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed, value, onValue]);
  return {
    value: typed,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => setTyped(currentTarget.value),
  };
}

export function FilterSearch({ label, hint = label, value, onValue }: ValueProps & { hint?: string }) {
  const typed = useTyped(value, onValue);
  return (
    <input
      class="filter-search"
      type="search"
      aria-label={label}
      placeholder={hint}
      autocomplete="off"
      maxLength={LONGEST_SEARCH}
      {...typed}
    />
  );
}

/** Any text can be typed; `proposed` helps. */
export function FilterText({ label, value, onValue, proposed }: ValueProps & { proposed: readonly string[] }) {
  const id = useId();
  const typed = useTyped(value, onValue);
  return (
    <>
      <input type="text" list={id} aria-label={label} placeholder={label} autocomplete="off" {...typed} />
      <datalist id={id}>
        {proposed.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
    </>
  );
}

interface ChoiceProps extends ValueProps {
  options: readonly (readonly [value: string, shown: string])[];
}

/** One of several is always chosen. */
export function FilterSelect({ label, value, onValue, options }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
      {options.map(([name, shown]) => (
        <option key={name} value={name}>
          {shown}
        </option>
      ))}
    </select>
  );
}

/** The first entry, whose value is empty, stands for all. */
export function FilterChoice({ options, ...rest }: ChoiceProps) {
  const t = useText().common;
  return <FilterSelect {...rest} options={[["", `${rest.label}: ${t.any}`], ...options]} />;
}
