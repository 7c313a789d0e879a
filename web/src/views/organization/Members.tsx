import { useState } from "preact/hooks";
import { linked } from "../../api/client";
import { type Member, ROLES, useMembers } from "../../api/organization";
import { useSession } from "../../session";
import { useText } from "../../text";
import { Button, ButtonLink } from "../../ui/Button";
import { Loading } from "../../ui/Empty";
import { Person } from "../../ui/Person";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { ChangeRole } from "./ChangeRole";
import { RemoveMember } from "./RemoveMember";
import { emailOf, nameOf, offersFor, roleOf } from "./roles";
import "../../ui/facts.css";

export function Members() {
  const t = useText();
  const { may, user } = useSession();
  const { data: members, error, refetch } = useMembers();
  const [changed, setChanged] = useState<Member | null>(null);
  const [removed, setRemoved] = useState<Member | null>(null);
  if (error && !members) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!members) return <Loading />;

  const offers = (member: Member) => offersFor(member, members, user.id, may);
  const mine = members.find(({ user_id }) => user_id === user.id);
  const columns: Column<Member>[] = [
    {
      title: t.organization.person,
      isName: true,
      cell: (member) => (
        <Person name={nameOf(member)} email={emailOf(member)}>
          {member.user_id === user.id && <span class="tag">{t.organization.you}</span>}
        </Person>
      ),
    },
    { title: t.organization.role, cell: (member) => t.account.roles[roleOf(member)] },
    {
      title: t.organization.secondFactor,
      minor: true,
      cell: (member) => (linked(member.user)?.two_factor_enabled ? t.organization.on : t.organization.off),
    },
    { title: t.organization.since, cell: ({ created_at }) => <Time at={created_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (member) => {
        const { role, remove, leave } = offers(member);
        if (!role && !remove && !leave) return null;
        return (
          <span class="row row-actions">
            {role && (
              <Button aria-label={t.organization.changeRoleAt(nameOf(member))} onClick={() => setChanged(member)}>
                {t.organization.changeRole}
              </Button>
            )}
            {remove && (
              <Button
                kind="danger"
                aria-label={t.organization.removeAt(nameOf(member))}
                onClick={() => setRemoved(member)}
              >
                {t.organization.remove}
              </Button>
            )}
            {leave && (
              <Button kind="danger" onClick={() => setRemoved(member)}>
                {t.organization.leave}
              </Button>
            )}
          </span>
        );
      },
    },
  ];
  return (
    <>
      {may("member:create") && (
        <div class="row members-invite">
          <ButtonLink kind="primary" href="/organization/invitations?invite">
            {t.organization.invite}
          </ButtonLink>
        </div>
      )}
      {!may("member:update") && <p class="notice">{t.organization.mayNot}</p>}
      <Table label={t.organization.members} columns={columns} rows={members} rowKey={({ id }) => id} />
      {mine && members.length > 1 && offers(mine).isLastOwner && <p class="muted">{t.organization.lastOwner}</p>}
      <Roles />
      {changed && <ChangeRole member={changed} onClose={() => setChanged(null)} />}
      {removed && <RemoveMember member={removed} onClose={() => setRemoved(null)} />}
    </>
  );
}

function Roles() {
  const t = useText();
  const { membership } = useSession();
  return (
    <section class="card stack">
      <h2>{t.organization.rolesTitle}</h2>
      <dl class="facts role-facts">
        {ROLES.map((role) => (
          <div key={role}>
            <dt>
              {t.account.roles[role]} {membership.roles.includes(role) && <span class="tag">{t.organization.you}</span>}
            </dt>
            <dd>{t.organization.roleMay[role]}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
