//! Who stays in an organization, and as what. At least one owner always does.

use uuid::Uuid;
use windlass_api::{Can, ErrorCode, OrganizationUser, Role};
use windlass_store::memberships::{self, Joined, Member};
use windlass_store::{Tx, invitations, users};

use crate::auth::Ctx;
use crate::auth::caller::require;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{self, Action, Actor, Change, Resource};
use crate::service::organizations::hold;

/// What removing somebody takes: everybody may leave.
pub fn permission_to_remove(ctx: &Ctx, user_id: Option<Uuid>) -> Can {
    if user_id == Some(ctx.user.id) { Can::OrganizationRead } else { Can::MemberDelete }
}

pub async fn remove(ctx: &Ctx, organization_id: Uuid, user_id: Uuid) -> Result<()> {
    let mut tx = ctx.app.db.begin().await?;
    let joined = hold(&mut tx, ctx, organization_id, permission_to_remove(ctx, Some(user_id))).await?;
    let member = find(&mut tx, &joined, user_id).await?;
    if member.membership.role == Role::Owner {
        keep_an_owner(&mut tx, organization_id).await?;
    }
    memberships::delete(&mut tx, member.membership.id).await?;
    invitations::delete_sent_by(&mut tx, organization_id, user_id).await?;
    users::repair_default_organization(&mut tx, user_id).await?;
    record(&mut tx, ctx, Action::Delete, &member, &[("email", &member.user.email)]).await?;
    tx.commit().await?;
    Ok(())
}

pub async fn change_role(ctx: &Ctx, organization_id: Uuid, user_id: Uuid, role: Role) -> Result<OrganizationUser> {
    let mut tx = ctx.app.db.begin().await?;
    let joined = hold(&mut tx, ctx, organization_id, Can::MemberUpdate).await?;
    let member = find(&mut tx, &joined, user_id).await?;
    if role == Role::Owner {
        require(&joined, Can::OwnerUpdate)?;
    } else if member.membership.role == Role::Owner {
        keep_an_owner(&mut tx, organization_id).await?;
    }
    memberships::set_role(&mut tx, member.membership.id, role, ctx.app.now()).await?;
    if !role.can(Can::MemberCreate, joined.organization.host_access) {
        invitations::delete_sent_by(&mut tx, organization_id, user_id).await?;
    }
    let details =
        [("email", member.user.email.as_str()), ("from", member.membership.role.as_str()), ("to", role.as_str())];
    record(&mut tx, ctx, Action::Update, &member, &details).await?;
    let changed = memberships::member(&mut tx, organization_id, user_id).await?;
    let changed = changed.ok_or_else(|| Error::not_found("member"))?;
    let changed = records::member(&mut tx, changed, &joined.organization, ctx.user.id).await?;
    tx.commit().await?;
    Ok(changed)
}

/// A member whom the caller may change: only owners may change owners.
async fn find(tx: &mut Tx, joined: &Joined, user_id: Uuid) -> Result<Member> {
    let member = memberships::member(tx, joined.organization.id, user_id).await?;
    let member = member.ok_or_else(|| Error::not_found("member"))?;
    if member.membership.role == Role::Owner {
        require(joined, Can::OwnerUpdate)?;
    }
    Ok(member)
}

async fn keep_an_owner(tx: &mut Tx, organization_id: Uuid) -> Result<()> {
    if memberships::owners(tx, organization_id).await? > 1 {
        return Ok(());
    }
    let message = "This is the last owner of the organization. Make somebody else an owner first.";
    Err(Error::new(ErrorCode::LastOwner, message))
}

async fn record(tx: &mut Tx, ctx: &Ctx, action: Action, member: &Member, details: &[(&str, &str)]) -> Result<()> {
    let change = Change {
        organization_id: Some(member.membership.organization_id),
        action,
        resource: Resource::Member,
        resource_id: member.user.id,
        details,
    };
    Ok(audit::record(tx, &ctx.app, &Actor::caller(ctx), change).await?)
}
