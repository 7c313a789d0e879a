import { linked } from "../../api/client";
import { useMembers } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";

/** Executions tell the id of who has asked for them; the members of the organization have the names. */
export function UserName({ id }: { id: string }) {
  const t = useText().executions;
  const { user, may } = useSession();
  const { data: members = [] } = useMembers(may("member:read"));
  if (id === user.id) return <span>{t.you}</span>;
  const member = members.find(({ user_id }) => user_id === id);
  return <span>{(member && linked(member.user)?.username) ?? ""}</span>;
}
