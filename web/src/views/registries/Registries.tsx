import { useState } from "preact/hooks";
import { type RegistryCredential, useDeleteRegistryCredential, useRegistryCredentials } from "../../api/registries";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Empty, Loading } from "../../ui/Empty";
import { Page } from "../../ui/Page";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";
import { EditCredential } from "./EditCredential";

/** What the organization shows to registries of images. */
export default function Registries() {
  const t = useText().registries;
  const { may } = useSession();
  const { data, error, refetch } = useRegistryCredentials();
  const [edited, setEdited] = useState<RegistryCredential | "new" | null>(null);
  const [removed, setRemoved] = useState<RegistryCredential | null>(null);
  const all = data?.registry_credentials ?? [];
  const add = may("connection:create") && (
    <Button kind="primary" onClick={() => setEdited("new")}>
      {t.add}
    </Button>
  );
  return (
    <Page title={t.title} actions={all.length > 0 && add}>
      {error && <Problem error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading />}
      {data && all.length === 0 && (
        <Empty title={t.empty}>
          <p>{t.text}</p>
          {add || <p>{t.emptyViewer}</p>}
        </Empty>
      )}
      {all.length > 0 && (
        <CredentialTable
          rows={all}
          onEdit={may("connection:update") ? setEdited : null}
          onDelete={may("connection:delete") ? setRemoved : null}
        />
      )}
      {edited && <EditCredential known={edited === "new" ? null : edited} onClose={() => setEdited(null)} />}
      {removed && <DeleteCredential credential={removed} onClose={() => setRemoved(null)} />}
    </Page>
  );
}

interface TableProps {
  rows: readonly RegistryCredential[];
  onEdit: ((credential: RegistryCredential) => void) | null;
  onDelete: ((credential: RegistryCredential) => void) | null;
}

function CredentialTable({ rows, onEdit, onDelete }: TableProps) {
  const t = useText();
  const columns: Column<RegistryCredential>[] = [
    { title: t.registries.host, isName: true, cell: ({ host }) => host },
    { title: t.registries.username, cell: ({ username }) => username },
    { title: t.registries.changed, minor: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (credential) => (
        <span class="row row-actions">
          {onEdit && (
            <Button aria-label={`${t.registries.change}: ${credential.host}`} onClick={() => onEdit(credential)}>
              {t.registries.change}
            </Button>
          )}
          {onDelete && (
            <Button
              kind="danger"
              aria-label={`${t.registries.remove}: ${credential.host}`}
              onClick={() => onDelete(credential)}
            >
              {t.registries.remove}
            </Button>
          )}
        </span>
      ),
    },
  ];
  return <Table label={t.registries.title} columns={columns} rows={rows} rowKey={({ id }) => id} />;
}

function DeleteCredential({ credential, onClose }: { credential: RegistryCredential; onClose: () => void }) {
  const t = useText().registries;
  const remove = useDeleteRegistryCredential();
  const { id, host } = credential;
  return (
    <Confirm
      title={t.removeTitle(host)}
      action={t.remove}
      danger
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(id, {
          onSuccess: () => {
            tell(t.removed(host));
            onClose();
          },
        })
      }
    >
      <p>{t.removeText}</p>
    </Confirm>
  );
}
