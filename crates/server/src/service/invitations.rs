//! Asking a person to join, and joining.

use uuid::Uuid;
use windlass_api::{AcceptInvitation, ErrorCode, EventName, InvitationCreated, OrganizationUser, Role, SendInvitation};
use windlass_store::invitations::{self, Invitation};
use windlass_store::memberships::{self, Member};
use windlass_store::users::{self, User};
use windlass_store::{Tx, organizations};

use crate::app::App;
use crate::auth::token::{self, Token};
use crate::auth::{Authority, Login};
use crate::error::{Error, Result};
use crate::records;
use crate::service::account_links::AccountLink;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::mails::{self, LinkMail};
use crate::service::organizations::add_member;
use crate::service::tries::{count_mail, count_mail_of};
use crate::service::work::{EventSubject, Work};

pub async fn send(app: &App, authority: &Authority, input: &SendInvitation) -> Result<InvitationCreated> {
    let token = Token::random();
    let role = input.role.unwrap_or(Role::Member);
    let invitation = Invitation {
        id: app.new_id(),
        organization_id: authority.organization_id(),
        email: input.email.to_string(),
        role,
        expires_at: app.now().plus_seconds(app.config.invitation_seconds),
        created_at: app.now(),
    };
    let link = AccountLink::Invitation.url(app, &token);
    if app.config.mail.is_set() {
        count_mail_of(app, authority.user_id())?;
        count_mail(app, &invitation.email)?;
    }
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    authority.require_to_grant(app, role)?;
    refuse_member(&mut work, &invitation).await?;
    refuse_too_many(&mut work, &invitation).await?;
    invitations::put(&mut work, &invitation, &token.hash(), authority.user_id()).await?;
    mail(&mut work, &authority, &invitation, &link).await?;
    let summary = format!("invited {} as {}", invitation.email, role.as_str());
    record(&mut work, &authority.actor(), Action::Create, &invitation, &summary);
    work.commit().await?;
    Ok(InvitationCreated { invitation: records::invitation(invitation), link, token: token.reveal().to_owned() })
}

async fn mail(work: &mut Work<'_>, authority: &Authority, invitation: &Invitation, link: &str) -> Result<()> {
    let (inviter, organization) = (&authority.caller().user.username, &authority.organization().name);
    let (role, url) = (invitation.role.as_str(), work.app.config.public_url());
    let lines: [&str; 3] = [
        &format!(
            "{inviter} ({}) invites you to join {organization} at {url} as {role}.",
            authority.caller().user.email
        ),
        &format!("The link works once, until {}, and for this address only.", invitation.expires_at),
        "If you do not know what this is about, you need not do anything.",
    ];
    let mail = LinkMail {
        to: &invitation.email,
        title: &format!("{inviter} invites you to {organization}"),
        lines: &lines,
        label: "Accept the invitation",
        url: link,
        expires_at: invitation.expires_at,
    };
    mails::send_link(work, &mail).await
}

pub async fn withdraw(app: &App, authority: &Authority, id: Uuid) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let gone = invitations::delete(&mut work, authority.organization_id(), id).await?;
    let gone = gone.ok_or_else(|| Error::not_found("invitation"))?;
    let summary = format!("withdrew the invitation of {}", gone.email);
    record(&mut work, &authority.actor(), Action::Delete, &gone, &summary);
    work.commit().await?;
    Ok(())
}

pub async fn accept(ctx: &Login, input: &AcceptInvitation) -> Result<OrganizationUser> {
    let mut work = ctx.app.begin_own(&ctx.caller).await?;
    let invitation = invitations::by_token(&mut work, &token::hash(input.token.reveal()), ctx.app.now()).await?;
    let invitation = invitation.ok_or_else(|| Error::not_found("invitation, or it has expired"))?;
    if invitation.email != ctx.caller.user.email {
        let message = "This invitation is for another e-mail address than yours.";
        return Err(Error::new(ErrorCode::InvitationForAnotherAddress, message));
    }
    join_by_invitation(&mut work, &ctx.caller.actor(), &ctx.caller.user, &invitation).await?;
    let joined = memberships::joined(&mut work, ctx.caller.user.id, invitation.organization_id).await?;
    let joined = joined.ok_or_else(|| Error::not_found("organization"))?;
    let member = Member { membership: joined.membership, user: ctx.caller.user.clone() };
    let record = records::member(&mut work, member, &joined.organization, ctx.caller.viewer()).await?;
    work.commit().await?;
    Ok(record)
}

/// Uses the invitation up and makes its holder a member.
pub async fn join_by_invitation(
    work: &mut Work<'_>,
    actor: &Actor,
    user: &User,
    invitation: &Invitation,
) -> Result<()> {
    organizations::lock(work, invitation.organization_id).await?;
    if invitations::delete(work, invitation.organization_id, invitation.id).await?.is_none() {
        return Err(Error::not_found("invitation, or it has been used"));
    }
    add_member(work, invitation.organization_id, user.id, invitation.role).await?;
    users::repair_default_organization(work, user.id).await?;
    let change = Change {
        organization_id: Some(invitation.organization_id),
        action: Action::Create,
        resource: Resource::Member,
        resource_id: user.id,
        summary: &format!("joined as {}", invitation.role.as_str()),
        details: &[("email", &user.email), ("role", invitation.role.as_str())],
    };
    work.record(actor, &change);
    let about = EventSubject::of_organization(invitation.organization_id);
    let details = [("member", user.username.as_str()), ("role", invitation.role.as_str()), ("by", actor.name())];
    work.tell(EventName::MemberAdded, about, &details);
    Ok(())
}

async fn refuse_too_many(work: &mut Work<'_>, invitation: &Invitation) -> Result<()> {
    let Invitation { organization_id, email, created_at, .. } = invitation;
    let limit = work.app.config.open_invitations;
    if invitations::count(work, *organization_id, email, *created_at).await? < limit {
        return Ok(());
    }
    let message = format!("The organization has {limit} open invitations. Withdraw some first.");
    Err(Error::new(ErrorCode::Conflict, message))
}

async fn refuse_member(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    if memberships::has_email(tx, invitation.organization_id, &invitation.email).await? {
        return Err(Error::new(ErrorCode::AlreadyMember, "email: this user is a member of the organization already."));
    }
    Ok(())
}

fn record(work: &mut Work<'_>, actor: &Actor, action: Action, invitation: &Invitation, summary: &str) {
    let change = Change {
        organization_id: Some(invitation.organization_id),
        action,
        resource: Resource::Invitation,
        resource_id: invitation.id,
        summary,
        details: &[("email", &invitation.email), ("role", invitation.role.as_str())],
    };
    work.record(actor, &change);
}
