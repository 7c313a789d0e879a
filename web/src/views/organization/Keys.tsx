import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { useMembers, useOrganizationKeys, useRevokeOrganizationKey } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { nameOf } from "./roles";

type ApiKey = Schemas["ApiKey"];

/** Of all members, for those who look after the organization. Keys are made in the account, by the member they act for. */
export function Keys() {
  const t = useText();
  const { may } = useSession();
  const { data, error, refetch } = useOrganizationKeys(may("api_key:read"));
  const { data: members } = useMembers();
  const [revoked, setRevoked] = useState<ApiKey | null>(null);
  const own = <ButtonLink href="/account/keys">{t.organization.yourKeys}</ButtonLink>;
  if (!may("api_key:read")) return <Empty title={t.organization.keysMayNot}>{own}</Empty>;
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;
  if (data.length === 0) {
    return (
      <Empty title={t.organization.keysEmpty}>
        <p>{t.organization.keysEmptyText}</p>
        {own}
      </Empty>
    );
  }
  const names = new Map(members?.map((member) => [member.user_id, nameOf(member)]));
  const columns: Column<ApiKey>[] = [
    { title: t.account.keyName, isName: true, cell: ({ name }) => name },
    { title: t.organization.keyOwner, cell: ({ user_id }) => names.get(user_id) ?? user_id },
    { title: t.account.keyHint, cell: ({ hint }) => <code>{hint}…</code> },
    {
      title: t.account.keyPermissions,
      minor: true,
      cell: ({ permissions }) => (
        <span class="small muted" title={permissions.join("\n")}>
          {permissions.slice(0, 3).join(", ")}
          {permissions.length > 3 && ` +${permissions.length - 3}`}
        </span>
      ),
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
      cell: (key) =>
        may("api_key:delete") && (
          <span class="row row-actions">
            <Button kind="danger" aria-label={`${t.account.keyRevoke}: ${key.name}`} onClick={() => setRevoked(key)}>
              {t.account.keyRevoke}
            </Button>
          </span>
        ),
    },
  ];
  return (
    <>
      <p class="muted">{t.organization.keysText}</p>
      <Table label={t.organization.keys} columns={columns} rows={data} rowKey={({ id }) => id} />
      {revoked && <Revoke apiKey={revoked} onClose={() => setRevoked(null)} />}
    </>
  );
}

function Revoke({ apiKey, onClose }: { apiKey: ApiKey; onClose: () => void }) {
  const t = useText();
  const revoke = useRevokeOrganizationKey();
  return (
    <Confirm
      title={t.account.keyRevokeTitle(apiKey.name)}
      action={t.account.keyRevoke}
      danger
      busy={revoke.isPending}
      error={revoke.error}
      onClose={onClose}
      onConfirm={() => revoke.mutate(apiKey.id, { onSuccess: onClose })}
    >
      <p>{t.account.keyRevokeText}</p>
    </Confirm>
  );
}
