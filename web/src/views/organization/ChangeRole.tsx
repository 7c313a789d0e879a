import { useState } from "preact/hooks";
import { type Member, type Role, useUpdateRole } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";
import { RoleChoice } from "./RoleChoice";
import { grantable, isLower, nameOf, roleOf } from "./roles";

export function ChangeRole({ member, onClose }: { member: Member; onClose: () => void }) {
  const t = useText();
  const { may, user } = useSession();
  const update = useUpdateRole();
  const present = roleOf(member);
  const [role, setRole] = useState<Role>(present);
  const isSelf = member.user_id === user.id;
  const save = () => {
    if (role === present) return onClose();
    update.mutate(
      { user_id: member.user_id, role },
      {
        onSuccess: () => {
          tell(t.organization.roleChanged(nameOf(member), t.account.roles[role]));
          onClose();
        },
      },
    );
  };
  return (
    <Confirm
      title={t.organization.changeRoleOf(nameOf(member))}
      action={t.organization.changeRole}
      busy={update.isPending}
      error={update.error}
      onClose={onClose}
      onConfirm={save}
    >
      <RoleChoice roles={grantable(may)} value={role} onValue={setRole} />
      <p class="notice warn" hidden={!isLower(role, present)}>
        {isSelf ? t.organization.lowersYou : t.organization.lowers}
      </p>
    </Confirm>
  );
}
