import { type Certificate, useDeleteCertificate } from "../../api/certificates";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Facts } from "../../ui/Facts";
import { Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";

export function DeleteCertificate({ certificate, onClose }: { certificate: Certificate; onClose: () => void }) {
  const t = useText();
  const remove = useDeleteCertificate();
  const { id, names, domains, issuer, not_after } = certificate;
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
      <Facts
        rows={[
          [t.certificates.names, names.join(", ")],
          [t.certificates.issuer, issuer],
          [t.certificates.ends, <Time key="e" at={not_after} />],
        ]}
      />
      <p>{domains.length > 0 ? t.certificates.removeUsed(domains.join(", ")) : t.certificates.removeUnused}</p>
    </Confirm>
  );
}
