import { useText } from "../../text";
import { TextField } from "../../ui/Field";
import { EntrySection } from "./EntrySection";
import { GroupForm } from "./GroupForm";
import { UserDialog } from "./UserDialog";
import { type GroupProps, useGroup } from "./useGroup";

const FIELDS = ["realm"] as const;

/** Names and passwords that browsers ask visitors for. */
export function SignIn(props: GroupProps) {
  const t = useText().access;
  const group = useGroup(props, FIELDS);
  const count = Object.keys(props.access.users).length;
  return (
    <section class="card stack">
      <h2>{t.signIn}</h2>
      <EntrySection
        {...props}
        field="users"
        words={{
          title: t.users,
          text: count === 0 ? t.noUsers : t.usersText,
          add: t.addUser,
          change: t.changePassword,
          remove: t.remove,
          removeText: count === 1 ? t.removeLastUser : t.removeUser,
        }}
        columns={[{ title: t.userName, isName: true, cell: ([name]) => name }]}
        dialog={(name, onClose) => <UserDialog {...props} name={name} onClose={onClose} />}
      />
      <GroupForm title={t.realm} group={group} readOnly={props.readOnly}>
        <TextField autocomplete="off" maxLength={100} label={t.realm} hint={t.realmHint} {...group.text("realm")} />
      </GroupForm>
    </section>
  );
}
