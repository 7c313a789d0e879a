import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Organization, refreshMemberships, useDeleteOrganization } from "../../api/organization";
import { useText } from "../../text";
import { Confirm } from "../../ui/Confirm";
import { Danger } from "../../ui/Danger";
import { tell } from "../../ui/Toast";

export function DeleteOrganization({ organization }: { organization: Organization }) {
  const t = useText();
  const { route } = useLocation();
  const remove = useDeleteOrganization();
  const [asks, setAsks] = useState(false);
  const { id, name } = organization;

  const onDeleted = async () => {
    tell(t.organization.deleted(name));
    // First the session learns which organizations are left: what is shown next belongs to one of them.
    await refreshMemberships();
    route("/applications");
  };
  return (
    <Danger
      title={t.organization.danger}
      text={t.organization.deleteText}
      action={t.organization.delete}
      onAsk={() => setAsks(true)}
    >
      {asks && (
        <Confirm
          title={t.organization.deleteTitle(name)}
          action={t.organization.delete}
          danger
          typed={{ label: t.organization.deleteConfirm, text: name }}
          busy={remove.isPending}
          error={remove.error}
          onClose={() => setAsks(false)}
          onConfirm={() => remove.mutate(id, { onSuccess: () => void onDeleted() })}
        >
          <p>{t.organization.deleteText}</p>
        </Confirm>
      )}
    </Danger>
  );
}
