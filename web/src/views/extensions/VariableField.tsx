import { useState } from "preact/hooks";
import type { ExtensionVariable } from "../../api/extensions";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { AreaField, CheckField, TextField } from "../../ui/Field";
import { labelOf } from "./facts";

interface Props {
  variable: ExtensionVariable;
  value: string;
  /** What the server says about it. */
  problem: string | null;
  /** Said below an empty secret. */
  secretHint: string;
  onValue: (value: string) => void;
}

/** The control that fits the variable's type. */
export function VariableField({ variable, value, problem, secretHint, onValue }: Props) {
  const t = useText();
  const { variable_type: type, is_required, validation_pattern: pattern } = variable;
  const label = labelOf(variable.variable_name);
  // What must match is told where it does not.
  const told = problem && pattern && problem.includes(pattern) ? t.extensionRun.pattern(pattern) : problem;
  const common = { label, value, onValue, problem: told, optional: !is_required, name: variable.variable_name };
  if (type === "boolean") {
    return (
      <CheckField label={label} checked={value === "true"} onChecked={(checked) => onValue(String(checked))}>
        {variable.description && <p class="hint">{variable.description}</p>}
        {problem && <p class="field-problem">{problem}</p>}
      </CheckField>
    );
  }
  if (type === "secret")
    return <SecretField {...common} hint={join(variable.description, !is_required && secretHint)} />;
  if (type === "array") {
    return <AreaField {...common} rows={3} hint={join(variable.description, t.extensionRun.listHint)} />;
  }
  const hint = variable.description || undefined;
  if (value.includes("\n")) return <AreaField {...common} rows={4} hint={hint} />;
  return (
    <TextField
      {...common}
      hint={hint}
      inputMode={type === "integer" ? "numeric" : "text"}
      autocomplete="off"
      spellcheck={false}
      required={is_required}
    />
  );
}

/** Sentences one after the other, also where an author has left out the full stop. */
const join = (...parts: (string | false)[]): string =>
  parts
    .filter((part): part is string => Boolean(part))
    .map((part, at, all) => (at < all.length - 1 && !/[.!?:]$/.test(part.trim()) ? `${part.trim()}.` : part))
    .join(" ");

type SecretProps = Parameters<typeof TextField>[0];

/** Hidden unless its user wants to see what was typed. */
function SecretField(props: SecretProps) {
  const t = useText();
  const [isShown, setShown] = useState(false);
  return (
    <div class="secret-field">
      <TextField {...props} type={isShown ? "text" : "password"} autocomplete="new-password" spellcheck={false} />
      <Button
        kind="quiet"
        aria-pressed={isShown}
        aria-label={`${isShown ? t.common.hide : t.common.show}: ${props.label}`}
        onClick={() => setShown(!isShown)}
      >
        {isShown ? t.common.hide : t.common.show}
      </Button>
    </div>
  );
}
