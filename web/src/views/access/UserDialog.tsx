import { useState } from "preact/hooks";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { isUserName } from "./entries";
import { type EntryDialogProps, useEntryDialog } from "./useEntryDialog";

/** A new user, or another password for one that is there. A stored password is never shown. */
export function UserDialog(props: EntryDialogProps) {
  const t = useText().access;
  const entry = useEntryDialog(props, "users");
  const [typed, setTyped] = useState("");
  const [password, setPassword] = useState("");
  const isNew = props.name === null;
  const name = props.name ?? typed.trim();
  const isTaken = entry.isTaken(name);
  const isNameRefused = isNew && !isUserName(name);
  return (
    <Confirm
      title={props.name === null ? t.addUser : t.passwordTitle(props.name)}
      action={isNew ? t.addUser : t.changePassword}
      busy={entry.isBusy}
      error={entry.error}
      onClose={props.onClose}
      onConfirm={() => {
        if (!isTaken) entry.save(name, password);
      }}
    >
      {entry.isChangedMeanwhile && <p class="notice warn">{t.changedMeanwhile}</p>}
      {isNew && (
        <TextField
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          required
          label={t.userName}
          hint={t.userNameHint}
          value={typed}
          onValue={setTyped}
          problem={isTaken ? t.taken(name) : isNameRefused ? entry.refusal : null}
        />
      )}
      <TextField
        type="password"
        autocomplete="new-password"
        required
        label={t.password}
        hint={t.passwordHint}
        value={password}
        onValue={setPassword}
        problem={isNameRefused ? null : entry.refusal}
      />
    </Confirm>
  );
}
