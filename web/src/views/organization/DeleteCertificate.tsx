import { type Certificate, useDeleteCertificate } from "../../api/certificates";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";

export function DeleteCertificate({ certificate, onClose }: { certificate: Certificate; onClose: () => void }) {
  const t = useText();
  const remove = useDeleteCertificate();
  const { id, names, domains } = certificate;
  return (
    <Confirm
      title={t.certificates.removeTitle(names[0] ?? "")}
      action={t.certificates.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(id, {
          onSuccess: () => {
            tell(t.certificates.removed);
            onClose();
          },
        })
      }
    >
      <p>{domains.length > 0 ? t.certificates.removeUsed(domains.join(", ")) : t.certificates.removeUnused}</p>
    </Confirm>
  );
}
