//! Asking somebody to join, and joining.

use uuid::Uuid;
use windlass_api::{AcceptInvitation, Can, ErrorCode, Role, SendInvitation};
use windlass_store::invitations::{self, Invitation};
use windlass_store::memberships::{self, Joined, Membership};
use windlass_store::users::{self, User};
use windlass_store::{Tx, organizations};

use crate::app::App;
use crate::auth::token::{self, Token};
use crate::auth::{Ctx, caller};
use crate::error::{Error, Result};
use crate::service::audit::{self, Action, Actor, Change, Resource};
use crate::service::organizations::{add_member, recheck};

/// Open invitations that an organization can have.
pub const OPEN_INVITATIONS: i64 = 500;

pub async fn send(ctx: &Ctx, joined: &Joined, input: &SendInvitation) -> Result<(Invitation, Token)> {
    let app = &ctx.app;
    let role = input.role.unwrap_or(Role::Member);
    if role == Role::Owner {
        caller::require(joined, Can::OwnerUpdate)?;
    }
    let (token, now) = (Token::random(), app.now());
    let invitation = Invitation {
        id: app.new_id(),
        organization_id: joined.organization.id,
        email: input.email.to_string(),
        role,
        expires_at: now.plus_seconds(app.config.invitation_seconds),
        created_at: now,
    };
    let mut tx = app.db.begin().await?;
    organizations::lock(&mut tx, joined.organization.id).await?;
    recheck(&mut tx, ctx, joined.organization.id, Can::MemberCreate).await?;
    refuse_member(&mut tx, &invitation).await?;
    if invitations::count(&mut tx, joined.organization.id).await? >= OPEN_INVITATIONS {
        let message = format!("The organization has {OPEN_INVITATIONS} open invitations. Withdraw some first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    invitations::put(&mut tx, &invitation, &token.hash(), ctx.user.id).await?;
    record(&mut tx, app, &Actor::caller(ctx), Action::Create, &invitation).await?;
    tx.commit().await?;
    Ok((invitation, token))
}

pub async fn withdraw(ctx: &Ctx, joined: &Joined, id: Uuid) -> Result<()> {
    let mut tx = ctx.app.db.begin().await?;
    let gone = invitations::delete(&mut tx, joined.organization.id, id).await?;
    let gone = gone.ok_or_else(|| Error::not_found("invitation"))?;
    record(&mut tx, &ctx.app, &Actor::caller(ctx), Action::Delete, &gone).await?;
    tx.commit().await?;
    Ok(())
}

pub async fn accept(ctx: &Ctx, input: &AcceptInvitation) -> Result<Membership> {
    let mut tx = ctx.app.db.begin().await?;
    let invitation = invitations::by_token(&mut tx, &token::hash(input.token.reveal()), ctx.app.now()).await?;
    let invitation = invitation.ok_or_else(|| Error::not_found("invitation, or it has expired"))?;
    if invitation.email != ctx.user.email {
        let message = "This invitation is for another e-mail address than yours.";
        return Err(Error::new(ErrorCode::InvitationForAnotherAddress, message));
    }
    let membership = join_by_invitation(&mut tx, &ctx.app, &Actor::caller(ctx), &ctx.user, &invitation).await?;
    tx.commit().await?;
    Ok(membership)
}

/// Uses the invitation up and makes its holder a member.
pub async fn join_by_invitation(
    tx: &mut Tx,
    app: &App,
    actor: &Actor,
    user: &User,
    invitation: &Invitation,
) -> Result<Membership> {
    organizations::lock(tx, invitation.organization_id).await?;
    if invitations::delete(tx, invitation.organization_id, invitation.id).await?.is_none() {
        return Err(Error::not_found("invitation, or it has been used"));
    }
    let membership = add_member(tx, app, invitation.organization_id, user.id, invitation.role).await?;
    users::repair_default_organization(tx, user.id).await?;
    let change = Change {
        organization_id: Some(invitation.organization_id),
        action: Action::Create,
        resource: Resource::Member,
        resource_id: user.id,
        details: &[("email", &user.email), ("role", invitation.role.as_str())],
    };
    audit::record(tx, app, actor, change).await?;
    Ok(membership)
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
