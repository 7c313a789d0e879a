import { useState } from "preact/hooks";
import { useLocation } from "preact-iso";
import { type Invitation, type InvitationCreated, useInvitations, useWithdrawInvitation } from "../../api/organization";
import { useMay } from "../../session";
import { useText } from "../../text";
import { Button } from "../../ui/Button";
import { Confirm } from "../../ui/Confirm";
import { Empty, Loading } from "../../ui/Empty";
import { Problem } from "../../ui/Problem";
import { type Column, Table } from "../../ui/Table";
import { Time } from "../../ui/Time";
import { tell } from "../../ui/Toast";
import { InvitationLink } from "./InvitationLink";
import { type Asked, SendInvitation } from "./SendInvitation";

export function Invitations() {
  const t = useText();
  const { query, route } = useLocation();
  const mayInvite = useMay("member:create");
  const { data, error, refetch } = useInvitations();
  // The button above the members leads here with the form open.
  const [asked, setAsked] = useState<Asked | null>("invite" in query && mayInvite ? {} : null);
  const [sent, setSent] = useState<InvitationCreated | null>(null);
  const [withdrawn, setWithdrawn] = useState<Invitation | null>(null);
  if (error && !data) return <Problem error={error} onAgain={() => void refetch()} />;
  if (!data) return <Loading />;

  const invite = mayInvite && (
    <Button kind="primary" onClick={() => setAsked({})}>
      {t.organization.invite}
    </Button>
  );
  const close = () => {
    setAsked(null);
    if ("invite" in query) route("/organization/invitations", true);
  };
  return (
    <>
      {data.length === 0 ? (
        <Empty title={t.organization.invitationsEmpty}>
          <p>{mayInvite ? t.organization.invitationsEmptyText : t.organization.invitationsMayNot}</p>
          {invite}
        </Empty>
      ) : (
        <>
          <div class="row between">
            <p class="muted">{t.organization.invitationsText}</p>
            {invite}
          </div>
          <List invitations={data} mayInvite={mayInvite} onNewLink={setAsked} onWithdraw={setWithdrawn} />
          {!mayInvite && <p class="muted">{t.organization.invitationsMayNot}</p>}
        </>
      )}
      {asked && (
        <SendInvitation
          asked={asked}
          onClose={close}
          onSent={(created) => {
            close();
            setSent(created);
          }}
        />
      )}
      {sent && <InvitationLink sent={sent} onClose={() => setSent(null)} />}
      {withdrawn && <Withdraw invitation={withdrawn} onClose={() => setWithdrawn(null)} />}
    </>
  );
}

interface ListProps {
  invitations: readonly Invitation[];
  mayInvite: boolean;
  onNewLink: (asked: Asked) => void;
  onWithdraw: (invitation: Invitation) => void;
}

function List({ invitations, mayInvite, onNewLink, onWithdraw }: ListProps) {
  const t = useText();
  const columns: Column<Invitation>[] = [
    { title: t.organization.email, isName: true, cell: ({ email }) => email },
    { title: t.organization.role, cell: ({ role }) => t.account.roles[role] },
    { title: t.organization.invited, cell: ({ created_at }) => <Time at={created_at} /> },
    { title: t.organization.expires, cell: ({ expires_at }) => <Time at={expires_at} /> },
    {
      title: t.common.actions,
      hideTitle: true,
      numeric: true,
      cell: (invitation) =>
        mayInvite && (
          <span class="row row-actions">
            <Button
              aria-label={t.organization.newLinkAt(invitation.email)}
              onClick={() => onNewLink({ email: invitation.email, role: invitation.role })}
            >
              {t.organization.newLink}
            </Button>
            <Button
              kind="danger"
              aria-label={t.organization.withdrawAt(invitation.email)}
              onClick={() => onWithdraw(invitation)}
            >
              {t.organization.withdraw}
            </Button>
          </span>
        ),
    },
  ];
  return <Table label={t.organization.invitations} columns={columns} rows={invitations} rowKey={({ id }) => id} />;
}

function Withdraw({ invitation, onClose }: { invitation: Invitation; onClose: () => void }) {
  const t = useText();
  const withdraw = useWithdrawInvitation();
  return (
    <Confirm
      title={t.organization.withdrawTitle(invitation.email)}
      action={t.organization.withdraw}
      danger
      busy={withdraw.isPending}
      error={withdraw.error}
      onClose={onClose}
      onConfirm={() =>
        withdraw.mutate(invitation.id, {
          onSuccess: () => {
            tell(t.organization.withdrawn);
            onClose();
          },
        })
      }
    >
      <p>{t.organization.withdrawText}</p>
    </Confirm>
  );
}
