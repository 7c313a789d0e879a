import { useState } from "preact/hooks";
import { ApiError } from "../../api/client";
import { type InvitationCreated, type Role, useSendInvitation } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { TextField } from "../../ui/Field";
import { fieldMessage, splitProblem } from "../../ui/Problem";
import { RoleChoice } from "./RoleChoice";
import { grantable } from "./roles";

/** With an address, a new link takes the place of the one that was handed over. */
export type Asked = { email?: string; role?: Role };

interface Props {
  asked: Asked;
  onClose: () => void;
  onSent: (created: InvitationCreated) => void;
}

export function SendInvitation({ asked, onClose, onSent }: Props) {
  const t = useText();
  const { may } = useSession();
  const send = useSendInvitation();
  const [email, setEmail] = useState(asked.email ?? "");
  const [role, setRole] = useState<Role>(asked.role ?? "member");
  // That the address belongs to a member already is a conflict to the API, and a matter of the field to the user.
  const taken = send.error instanceof ApiError && send.error.code === "already_member" ? send.error : null;
  const [problem, rest] = splitProblem(send.error, ["email"]);
  return (
    <Confirm
      title={asked.email ? t.organization.newLinkAt(asked.email) : t.organization.inviteTitle}
      action={t.organization.inviteAction}
      busy={send.isPending}
      error={taken ? null : rest}
      onClose={onClose}
      onConfirm={() => send.mutate({ email: email.trim(), role }, { onSuccess: onSent })}
    >
      <TextField
        label={t.organization.email}
        hint={t.organization.inviteEmailHint}
        type="email"
        autocomplete="off"
        required
        readOnly={asked.email !== undefined}
        value={email}
        onValue={setEmail}
        problem={taken ? fieldMessage(taken) : problem("email")}
      />
      <RoleChoice roles={grantable(may)} value={role} onValue={setRole} />
    </Confirm>
  );
}
