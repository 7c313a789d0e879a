import { useState } from "preact/hooks";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { AreaField, SelectField } from "../../ui/Field";
import { freeStatuses, type Status } from "./entries";
import { type EntryDialogProps, useEntryDialog } from "./useEntryDialog";

export function PageDialog(props: EntryDialogProps) {
  const t = useText();
  const entry = useEntryDialog(props, "pages");
  // Those that were free when it was opened: what is chosen stays among them.
  const [free] = useState(() => freeStatuses(props.access));
  const [chosen, setChosen] = useState<string>(() => (free.includes("503") ? "503" : (free[0] ?? "")));
  const [html, setHtml] = useState(entry.begun ?? "");
  const status = props.name ?? chosen;
  const isTaken = entry.isTaken(status);
  const meaning = t.access.statuses[status as Status];
  return (
    <Confirm
      wide
      title={props.name === null ? t.access.addPage : t.access.changeTitle(props.name)}
      action={props.name === null ? t.access.addPage : t.common.save}
      busy={entry.isBusy}
      error={entry.error}
      onClose={props.onClose}
      onConfirm={() => {
        if (!isTaken) entry.save(status, html);
      }}
    >
      {entry.isChangedMeanwhile && <p class="notice warn">{t.access.changedMeanwhile}</p>}
      {props.name === null ? (
        <SelectField
          label={t.access.status}
          options={free.map((one) => [one, `${one}: ${t.access.statuses[one]}`])}
          value={chosen}
          onValue={setChosen}
          problem={isTaken ? t.access.taken(status) : null}
        />
      ) : (
        <p class="muted">{meaning}</p>
      )}
      <AreaField
        label={t.access.html}
        hint={t.access.htmlHint}
        rows={14}
        required
        value={html}
        onValue={setHtml}
        problem={entry.refusal}
      />
    </Confirm>
  );
}
