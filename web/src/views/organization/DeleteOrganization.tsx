import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Organization, refreshMemberships, useDeleteOrganization } from "../../api/organization";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { tell } from "../../ui/Toast";
import "../settings/settings.css";

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
    <section class="card danger stack">
      <h2>{t.organization.danger}</h2>
      <p>{t.organization.deleteText}</p>
      <p>
        <Button kind="danger" onClick={() => setAsks(true)}>
          {t.organization.delete}…
        </Button>
      </p>
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
    </section>
  );
}
