import { useMembers, useOrganizationKeys, useRevokeOrganizationKey } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { ButtonLink } from "../../ui/Button";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { KeyTable } from "../account/KeyTable";
import { nameOf } from "./roles";

/** Of all members, for those who look after the organization. Keys are made in the account, by the member they act for. */
export function Keys() {
  const t = useText();
  const { may } = useSession();
  const { data, error, refetch } = useOrganizationKeys(may("api_key:read"));
  const { data: members } = useMembers();
  const revoke = useRevokeOrganizationKey();
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
  return (
    <>
      <p class="muted">{t.organization.keysText}</p>
      <KeyTable
        label={t.organization.keys}
        keys={data}
        owner={{ title: t.organization.keyOwner, name: ({ user_id }) => names.get(user_id) ?? user_id }}
        mayRevoke={may("api_key:delete")}
        revoke={revoke}
      />
    </>
  );
}
