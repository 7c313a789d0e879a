import type { InvitationCreated } from "../../api/organization";
import { useText } from "../../text";
import { ShownOnce } from "../../ui/ShownOnce";

export function InvitationLink({ sent, onClose }: { sent: InvitationCreated; onClose: () => void }) {
  const t = useText();
  return (
    <ShownOnce
      title={t.organization.linkTitle(sent.invitation.email)}
      text={t.organization.linkText}
      label={t.organization.link}
      value={sent.link}
      ends={sent.invitation.expires_at}
      onClose={onClose}
    />
  );
}
