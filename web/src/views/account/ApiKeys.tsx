import { useState } from "preact/hooks";
import { useApiKeys, useRevokeApiKey } from "../../api/account";
import { organizationName, useSession } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Copy } from "../../ui/Copy";
import { Dialog } from "../../ui/Dialog";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { CreateApiKey } from "./CreateApiKey";
import { KeyTable } from "./KeyTable";

export function ApiKeys() {
  const t = useText();
  const { memberships } = useSession();
  const { data, error, refetch } = useApiKeys();
  const revoke = useRevokeApiKey();
  const [creates, setCreates] = useState(false);
  const [made, setMade] = useState<string | null>(null);
  if (error) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;

  const names = new Map(memberships.map((one) => [one.organization_id, organizationName(one)]));
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
        <KeyTable
          label={t.account.keys}
          keys={data}
          owner={{
            title: t.shell.organization,
            name: ({ organization_id }) => names.get(organization_id) ?? organization_id,
          }}
          mayRevoke
          revoke={revoke}
        />
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
    </section>
  );
}
