import type { Application } from "../../api/applications";
import { type Domain, useRemoveDomain } from "../../api/domains";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";
import { addressOf } from "./facts";

interface Props {
  application: Application;
  domain: Domain;
  onClose: () => void;
}

export function RemoveDomain({ application, domain, onClose }: Props) {
  const t = useText();
  const remove = useRemoveDomain(application.id);
  const name = addressOf(domain);
  return (
    <Confirm
      title={t.domains.removeTitle(name)}
      action={t.domains.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(domain.id ?? "", {
          onSuccess: () => {
            tell(t.domains.removed(name));
            onClose();
          },
        })
      }
    >
      <p>{t.domains.removeText}</p>
    </Confirm>
  );
}
