import { type InstanceUser, useMakePasswordReset } from "../../api/instance";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { ShownOnce } from "../../ui/ShownOnce";

/** Asks first: who holds the link can take over the account. */
export function ResetLink({ user, onClose }: { user: InstanceUser; onClose: () => void }) {
  const t = useText();
  const make = useMakePasswordReset();
  if (make.data) {
    return (
      <ShownOnce
        title={t.instance.resetAt(user.username)}
        text={t.instance.resetLink}
        label={t.organization.link}
        value={make.data.link}
        ends={make.data.expires_at}
        onClose={onClose}
      />
    );
  }
  return (
    <Confirm
      title={t.instance.resetTitle(user.username)}
      action={t.instance.resetAction}
      busy={make.isPending}
      error={make.error}
      onClose={onClose}
      onConfirm={() => make.mutate(user.id)}
    >
      <p>{t.instance.resetText}</p>
    </Confirm>
  );
}
