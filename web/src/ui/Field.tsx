import type { ComponentChildren, InputHTMLAttributes, TextareaHTMLAttributes } from "preact";
import { useId } from "preact/hooks";
import { useText } from "../text";
import "./field.css";

interface FrameProps {
  label: string;
  hint?: string | undefined;
  problem?: string | null | undefined;
  optional?: boolean;
  /** What belongs to the field besides its hint, such as a conflict. */
  children?: ComponentChildren;
}

interface Ids {
  id: string;
  "aria-describedby": string | undefined;
  "aria-invalid": boolean | undefined;
}

function Frame(props: FrameProps & { control: (ids: Ids) => ComponentChildren }) {
  const t = useText();
  const id = useId();
  const hintId = props.hint ? `${id}-hint` : "";
  const problemId = props.problem ? `${id}-problem` : "";
  const described = [hintId, problemId].filter(Boolean).join(" ") || undefined;
  return (
    <div class="field">
      <label for={id}>
        {props.label} {props.optional && <span class="muted small">({t.common.optional})</span>}
      </label>
      {props.control({ id, "aria-describedby": described, "aria-invalid": props.problem ? true : undefined })}
      {props.problem && (
        <p class="field-problem" id={problemId} role="alert">
          {props.problem}
        </p>
      )}
      {props.hint && (
        <p class="hint" id={hintId}>
          {props.hint}
        </p>
      )}
      {props.children}
    </div>
  );
}

type Value = { value: string; onValue: (value: string) => void };
type Own = FrameProps & Value;

type Input = Omit<InputHTMLAttributes<HTMLInputElement>, keyof Own>;

export function TextField(props: Own & Input & { inputRef?: (input: HTMLInputElement | null) => void }) {
  const { label, hint, problem, optional, children, value, onValue, inputRef, ...rest } = props;
  return (
    <Frame
      {...{ label, hint, problem, optional: optional ?? false, children }}
      control={(ids) => (
        <input
          type="text"
          {...rest}
          {...ids}
          ref={inputRef ?? null}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    />
  );
}

export function AreaField(props: Own & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, keyof Own>) {
  const { label, hint, problem, optional, children, value, onValue, ...rest } = props;
  return (
    <Frame
      {...{ label, hint, problem, optional: optional ?? false, children }}
      control={(ids) => (
        <textarea
          spellcheck={false}
          {...rest}
          {...ids}
          value={value}
          onInput={(event) => onValue(event.currentTarget.value)}
        />
      )}
    />
  );
}

type Options = readonly (readonly [value: string, label: string])[];

export function SelectField(props: Own & { options: Options; disabled?: boolean }) {
  const { label, hint, problem, optional, children, value, onValue, options, disabled } = props;
  return (
    <Frame
      {...{ label, hint, problem, optional: optional ?? false, children }}
      control={(ids) => (
        <select {...ids} disabled={disabled} value={value} onChange={(event) => onValue(event.currentTarget.value)}>
          {options.map(([name, shown]) => (
            <option key={name} value={name}>
              {shown}
            </option>
          ))}
        </select>
      )}
    />
  );
}

interface CheckProps {
  label: string;
  checked: boolean;
  onChecked: (checked: boolean) => void;
  disabled?: boolean;
  children?: ComponentChildren;
}

export function CheckField({ label, checked, onChecked, disabled, children }: CheckProps) {
  return (
    <div class="field">
      <label class="check">
        <input
          type="checkbox"
          checked={checked}
          disabled={disabled}
          onChange={(event) => onChecked(event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      {children}
    </div>
  );
}

interface CheckListProps<T extends string> {
  options: readonly (readonly [value: T, label: string])[];
  chosen: readonly T[];
  onChosen: (chosen: readonly T[]) => void;
}

/** Any number of them can be chosen. */
export function CheckList<T extends string>({ options, chosen, onChosen }: CheckListProps<T>) {
  return options.map(([value, label]) => (
    <CheckField
      key={value}
      label={label}
      checked={chosen.includes(value)}
      onChecked={(is) => onChosen(is ? [...chosen, value] : chosen.filter((other) => other !== value))}
    />
  ));
}
