import { useState } from "preact/hooks";
import { useApiKeys, useRevokeApiKey } from "../../api/account";
import type { Schemas } from "../../api/client";
import { organizationName, useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Copy } from "../../ui/Copy";
import { Dialog } from "../../ui/Dialog";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { CreateApiKey } from "./CreateApiKey";

type ApiKey = Schemas["ApiKey"];

export function ApiKeys() {
  const t = useText();
  const { memberships } = useSession();
  const { data, error, refetch } = useApiKeys();
  const revoke = useRevokeApiKey();
  const [creates, setCreates] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  const [revoked, setRevoked] = useState<ApiKey | null>(null);
  if (error) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;

  const names = new Map(memberships.map((one) => [one.organization_id, organizationName(one)]));
  const columns: Column<ApiKey>[] = [
    { title: t.account.keyName, isName: true, cell: ({ name }) => name },
    { title: t.account.keyHint, cell: ({ hint }) => <code>{hint}…</code> },
    { title: t.shell.organization, cell: ({ organization_id }) => names.get(organization_id) ?? organization_id },
    {
      title: t.account.keyPermissions,
      minor: true,
      cell: ({ permissions }) => <span title={permissions.join("\n")}>{permissions.length}</span>,
    },
    {
      title: t.account.keyUsed,
      cell: ({ last_used_at }) => (last_used_at ? <Time at={last_used_at} /> : t.common.never),
    },
    { title: t.account.keyExpires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (key) => (
        <Button kind="danger" onClick={() => setRevoked(key)}>
          {t.account.keyRevoke}
        </Button>
      ),
    },
  ];
  const create = (
    <Button kind="primary" onClick={() => setCreates(true)}>
      {t.account.keyCreate}
    </Button>
  );
  return (
    <section class="stack">
      <div class="row between">
        <h2>{t.account.keysText}</h2>
        {data.length > 0 && create}
      </div>
      {data.length === 0 ? (
        <Empty title={t.account.keysEmpty}>{create}</Empty>
      ) : (
        <Table label={t.account.keys} columns={columns} rows={data} rowKey={({ id }) => id} />
      )}
      {creates && (
        <CreateApiKey
          onClose={() => setCreates(false)}
          onMade={(key) => {
            setCreates(false);
            setMade(key);
          }}
        />
      )}
      {made && (
        <Dialog title={t.account.keyShown}>
          <p>{t.account.keyShownText}</p>
          <p class="row">
            <code class="break">{made}</code> <Copy value={made} label={t.common.copy} />
          </p>
          <div class="dialog-actions">
            <Button kind="primary" onClick={() => setMade(null)}>
              {t.common.close}
            </Button>
          </div>
        </Dialog>
      )}
      {revoked && (
        <Confirm
          title={t.account.keyRevokeTitle(revoked.name)}
          action={t.account.keyRevoke}
          danger
          busy={revoke.isPending}
          error={revoke.error}
          onClose={() => setRevoked(null)}
          onConfirm={() => revoke.mutate(revoked.id, { onSuccess: () => setRevoked(null) })}
        >
          <p>{t.account.keyRevokeText}</p>
        </Confirm>
      )}
    </section>
  );
}
