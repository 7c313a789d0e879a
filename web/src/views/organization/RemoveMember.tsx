import { useLocation } from "preact-iso";
import { type Member, refreshMembers, refreshMemberships, useRemoveMember } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";
import { nameOf } from "./roles";

/** Of another member, or one's own: then it is called leaving. */
export function RemoveMember({ member, onClose }: { member: Member; onClose: () => void }) {
  const t = useText();
  const { user, organizationName } = useSession();
  const { route } = useLocation();
  const remove = useRemoveMember();
  const isSelf = member.user_id === user.id;

  const onRemoved = async () => {
    tell(isSelf ? t.organization.left(organizationName) : t.organization.removed(nameOf(member)));
    onClose();
    if (!isSelf) return void refreshMembers();
    // First the session learns which organizations are left: what is shown next belongs to one of them.
    await refreshMemberships();
    route("/applications");
  };
  return (
    <Confirm
      title={isSelf ? t.organization.leaveTitle(organizationName) : t.organization.removeTitle(nameOf(member))}
      action={isSelf ? t.organization.leave : t.organization.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate(member.user_id, { onSuccess: () => void onRemoved() })}
    >
      <p>{isSelf ? t.organization.leaveText : t.organization.removeText}</p>
    </Confirm>
  );
}
