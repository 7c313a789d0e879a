import { useSession } from "../../session";
import { useText } from "../../text";
import { AreaField, CheckField, SelectField, TextField } from "../../ui/Field";
import { FieldConflict } from "../../ui/FieldConflict";
import type { FieldKind } from "./fields";
import { useOptions } from "./options";

interface Props {
  kind: FieldKind;
  value: string | boolean;
  /** What it was changed to meanwhile, if the user has changed it too. */
  theirs: string | boolean | null;
  problem: string | null;
  readOnly: boolean;
  onValue: (value: string | boolean) => void;
  onTakeTheirs: () => void;
  onKeepMine: () => void;
}

export function SettingField({ kind, value, theirs, problem, readOnly, onValue, onTakeTheirs, onKeepMine }: Props) {
  const t = useText();
  const { may } = useSession();
  const options = useOptions(kind, String(value));
  const [label, hint] = t.settings.field[kind.name];
  const isLocked = readOnly || (kind.needs !== undefined && !may(kind.needs));
  const conflict = theirs !== null && (
    <FieldConflict theirs={wordFor(theirs)} onTakeTheirs={onTakeTheirs} onKeepMine={onKeepMine} />
  );
  function wordFor(other: string | boolean): string {
    if (typeof other === "boolean") return other ? t.common.yes : t.common.no;
    const option = options.find(([name]) => name === other);
    return option ? option[1] : other;
  }

  if (kind.as === "check") {
    return (
      <div class="wide">
        <CheckField label={label} checked={value === true} disabled={isLocked} onChecked={onValue}>
          {problem && (
            <p class="field-problem" role="alert">
              {problem}
            </p>
          )}
          {conflict}
        </CheckField>
      </div>
    );
  }
  const common = { label, hint, problem, value: String(value), onValue, readOnly: isLocked, children: conflict };
  if (kind.as === "select") {
    const { readOnly: disabled, ...rest } = common;
    return <SelectField {...rest} disabled={disabled} options={options} />;
  }
  if (kind.as === "key") {
    return (
      <div class="wide">
        <AreaField {...common} rows={2} autocomplete="off" placeholder="-----BEGIN OPENSSH PRIVATE KEY-----" />
      </div>
    );
  }
  if (kind.as === "lines" || kind.as === "command") {
    return (
      <div class="wide">
        <AreaField {...common} rows={kind.as === "lines" ? 3 : 2} />
      </div>
    );
  }
  if (kind.as === "number") return <TextField {...common} inputMode="numeric" pattern="[0-9]+" required />;
  return <TextField {...common} type={kind.as} autocomplete="off" />;
}
