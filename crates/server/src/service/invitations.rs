//! Asking somebody to join, and joining.

use uuid::Uuid;
use windlass_api::{AcceptInvitation, Can, ErrorCode, InvitationCreated, OrganizationUser, Role, SendInvitation};
use windlass_store::invitations::{self, Invitation};
use windlass_store::memberships::{self, Member};
use windlass_store::users::{self, User};
use windlass_store::{Tx, organizations};

use crate::app::App;
use crate::auth::Ctx;
use crate::auth::token::{self, Token};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{self, Action, Actor, Change, Resource};
use crate::service::organizations::{add_member, hold};

/// Open invitations that an organization can have.
pub const OPEN_INVITATIONS: i64 = 500;

/// What inviting somebody takes: only owners make owners.
pub fn permission_to_invite(role: Role) -> Can {
    if role == Role::Owner { Can::OwnerUpdate } else { Can::MemberCreate }
}

pub async fn send(ctx: &Ctx, organization_id: Uuid, input: &SendInvitation) -> Result<InvitationCreated> {
    let (app, token) = (&ctx.app, Token::random());
    let role = input.role.unwrap_or(Role::Member);
    let invitation = Invitation {
        id: app.new_id(),
        organization_id,
        email: input.email.to_string(),
        role,
        expires_at: app.now().plus_seconds(app.config.invitation_seconds),
        created_at: app.now(),
    };
    let mut tx = app.db.begin().await?;
    hold(&mut tx, ctx, organization_id, permission_to_invite(role)).await?;
    refuse_member(&mut tx, &invitation).await?;
    refuse_too_many(&mut tx, &invitation).await?;
    invitations::put(&mut tx, &invitation, &token.hash(), ctx.user.id).await?;
    record(&mut tx, app, &Actor::caller(ctx), Action::Create, &invitation).await?;
    tx.commit().await?;
    Ok(InvitationCreated {
        invitation: records::invitation(invitation),
        // Behind the #, so that the token stays in the browser and reaches no server's log.
        link: format!("{}/#invitation={}", app.config.public_url(), token.reveal()),
        token: token.reveal().to_owned(),
    })
}

pub async fn withdraw(ctx: &Ctx, organization_id: Uuid, id: Uuid) -> Result<()> {
    let mut tx = ctx.app.db.begin().await?;
    hold(&mut tx, ctx, organization_id, Can::MemberCreate).await?;
    let gone = invitations::delete(&mut tx, organization_id, id).await?;
    let gone = gone.ok_or_else(|| Error::not_found("invitation"))?;
    record(&mut tx, &ctx.app, &Actor::caller(ctx), Action::Delete, &gone).await?;
    tx.commit().await?;
    Ok(())
}

pub async fn accept(ctx: &Ctx, input: &AcceptInvitation) -> Result<OrganizationUser> {
    let mut tx = ctx.app.db.begin().await?;
    let invitation = invitations::by_token(&mut tx, &token::hash(input.token.reveal()), ctx.app.now()).await?;
    let invitation = invitation.ok_or_else(|| Error::not_found("invitation, or it has expired"))?;
    if invitation.email != ctx.user.email {
        let message = "This invitation is for another e-mail address than yours.";
        return Err(Error::new(ErrorCode::InvitationForAnotherAddress, message));
    }
    join_by_invitation(&mut tx, &ctx.app, &Actor::caller(ctx), &ctx.user, &invitation).await?;
    let joined = memberships::joined(&mut tx, ctx.user.id, invitation.organization_id).await?;
    let joined = joined.ok_or_else(|| Error::not_found("organization"))?;
    let member = Member { membership: joined.membership, user: ctx.user.clone() };
    let record = records::member(&mut tx, member, &joined.organization, ctx.user.id).await?;
    tx.commit().await?;
    Ok(record)
}

/// Uses the invitation up and makes its holder a member.
pub async fn join_by_invitation(
    tx: &mut Tx,
    app: &App,
    actor: &Actor,
    user: &User,
    invitation: &Invitation,
) -> Result<()> {
    organizations::lock(tx, invitation.organization_id).await?;
    if invitations::delete(tx, invitation.organization_id, invitation.id).await?.is_none() {
        return Err(Error::not_found("invitation, or it has been used"));
    }
    add_member(tx, app, invitation.organization_id, user.id, invitation.role).await?;
    users::repair_default_organization(tx, user.id).await?;
    let change = Change {
        organization_id: Some(invitation.organization_id),
        action: Action::Create,
        resource: Resource::Member,
        resource_id: user.id,
        details: &[("email", &user.email), ("role", invitation.role.as_str())],
    };
    Ok(audit::record(tx, app, actor, change).await?)
}

async fn refuse_too_many(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    let Invitation { organization_id, email, created_at, .. } = invitation;
    if invitations::count(tx, *organization_id, email, *created_at).await? < OPEN_INVITATIONS {
        return Ok(());
    }
    let message = format!("The organization has {OPEN_INVITATIONS} open invitations. Withdraw some first.");
    Err(Error::new(ErrorCode::Conflict, message))
}

async fn refuse_member(tx: &mut Tx, invitation: &Invitation) -> Result<()> {
    if memberships::has_email(tx, invitation.organization_id, &invitation.email).await? {
        return Err(Error::new(ErrorCode::AlreadyMember, "email: this user is a member of the organization already."));
    }
    Ok(())
}

async fn record(tx: &mut Tx, app: &App, actor: &Actor, action: Action, invitation: &Invitation) -> Result<()> {
    let change = Change {
        organization_id: Some(invitation.organization_id),
        action,
        resource: Resource::Invitation,
        resource_id: invitation.id,
        details: &[("email", &invitation.email), ("role", invitation.role.as_str())],
    };
    Ok(audit::record(tx, app, actor, change).await?)
}
