import { useState } from "preact/hooks";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { isHeaderValue } from "./entries";
import { type EntryDialogProps, useEntryDialog } from "./useEntryDialog";

/** Names and values: the browser neither proposes nor corrects them. */
const EXACT = { autocomplete: "off", autocapitalize: "off", spellcheck: false } as const;

export function HeaderDialog(props: EntryDialogProps) {
  const t = useText();
  const entry = useEntryDialog(props, "headers");
  const [typed, setTyped] = useState("");
  const [value, setValue] = useState(entry.begun ?? "");
  // As the server keeps it.
  const name = props.name ?? typed.trim().toLowerCase();
  const isTaken = entry.isTaken(name);
  const isValueRefused = props.name !== null || !isHeaderValue(value.trim());
  return (
    <Confirm
      title={props.name === null ? t.access.addHeader : t.access.changeTitle(props.name)}
      action={props.name === null ? t.access.addHeader : t.common.save}
      busy={entry.isBusy}
      error={entry.error}
      onClose={props.onClose}
      onConfirm={() => {
        if (!isTaken) entry.save(name, value.trim());
      }}
    >
      {entry.isChangedMeanwhile && <p class="notice warn">{t.access.changedMeanwhile}</p>}
      {props.name === null && (
        <TextField
          {...EXACT}
          required
          placeholder="X-Robots-Tag"
          label={t.access.headerName}
          value={typed}
          onValue={setTyped}
          problem={isTaken ? t.access.taken(name) : isValueRefused ? null : entry.refusal}
        />
      )}
      <TextField
        {...EXACT}
        label={t.access.headerValue}
        hint={t.access.headerValueHint}
        value={value}
        onValue={setValue}
        problem={isValueRefused ? entry.refusal : null}
      />
    </Confirm>
  );
}
