import type { ExtensionVariable } from "../../api/extensions";
import { useText } from "../../text";
import { VariableField } from "./VariableField";
import { type Given, give, problemsByName, shownValue } from "./values";

interface Props {
  variables: readonly ExtensionVariable[];
  given: Given;
  /** The values of an installation; absent where there is none yet. */
  stored?: Readonly<Record<string, unknown>>;
  error: Error | null;
  /** Before the form was sent for the first time, only problems of what the user has changed are shown. */
  isTried: boolean;
  onGiven: (given: Given) => void;
}

/** A field for each variable of an extension. */
export function VariableFields({ variables, given, stored, error, isTried, onGiven }: Props) {
  const t = useText().extensionRun;
  const problems = problemsByName(error);
  return variables.map((variable) => {
    const name = variable.variable_name;
    return (
      <VariableField
        key={variable.id}
        variable={stored ? withKeptSecret(variable) : variable}
        value={shownValue(variable, given, stored)}
        problem={isTried || name in given ? (problems[name] ?? null) : null}
        secretHint={stored ? t.keptHint : t.secretHint}
        onValue={(value) => onGiven(give(given, name, value, shownValue(variable, {}, stored)))}
      />
    );
  });
}

/** An installation has its secrets: an empty field keeps them. */
function withKeptSecret(variable: ExtensionVariable): ExtensionVariable {
  return variable.variable_type === "secret" ? { ...variable, is_required: false } : variable;
}
