//! Who stays in an organization, and as what. At least one owner always does.

use uuid::Uuid;
use windlass_api::{Can, ErrorCode, Role};
use windlass_store::memberships::{self, Joined, Member};
use windlass_store::{Tx, organizations, users};

use crate::auth::{Ctx, caller};
use crate::error::{Error, Result};
use crate::service::audit::{self, Action, Actor, Change, Resource};
use crate::service::organizations::recheck;

/// Removes a member; everybody may remove themselves.
pub async fn remove(ctx: &Ctx, joined: &Joined, user_id: Uuid) -> Result<()> {
    let organization_id = joined.organization.id;
    let needed = if user_id == ctx.user.id { Can::OrganizationRead } else { Can::MemberDelete };
    let mut tx = ctx.app.db.begin().await?;
    let member = hold_member(&mut tx, ctx, organization_id, user_id, needed).await?;
    if member.membership.role == Role::Owner {
        keep_an_owner(&mut tx, organization_id).await?;
    }
    memberships::delete(&mut tx, member.membership.id).await?;
    users::repair_default_organization(&mut tx, user_id).await?;
    record(&mut tx, ctx, Action::Delete, &member, &[("email", &member.user.email)]).await?;
    tx.commit().await?;
    Ok(())
}

pub async fn change_role(ctx: &Ctx, joined: &Joined, user_id: Uuid, role: Role) -> Result<Member> {
    let organization_id = joined.organization.id;
    let mut tx = ctx.app.db.begin().await?;
    let member = hold_member(&mut tx, ctx, organization_id, user_id, Can::MemberUpdate).await?;
    if role == Role::Owner {
        recheck(&mut tx, ctx, organization_id, Can::OwnerUpdate).await?;
    }
    if member.membership.role == Role::Owner && role != Role::Owner {
        keep_an_owner(&mut tx, organization_id).await?;
    }
    memberships::set_role(&mut tx, member.membership.id, role, ctx.app.now()).await?;
    let details =
        [("email", member.user.email.as_str()), ("from", member.membership.role.as_str()), ("to", role.as_str())];
    record(&mut tx, ctx, Action::Update, &member, &details).await?;
    let changed = memberships::member(&mut tx, organization_id, user_id).await?;
    tx.commit().await?;
    changed.ok_or_else(|| Error::not_found("member"))
}

/// The member, with the organization held still; only owners may change owners.
async fn hold_member(tx: &mut Tx, ctx: &Ctx, organization_id: Uuid, user_id: Uuid, needed: Can) -> Result<Member> {
    if !organizations::lock(tx, organization_id).await? {
        return Err(Error::not_found("organization"));
    }
    let joined = memberships::joined(tx, ctx.user.id, organization_id).await?;
    let joined = joined.ok_or_else(|| Error::not_found("organization"))?;
    let member = memberships::member(tx, organization_id, user_id).await?;
    let member = member.ok_or_else(|| Error::not_found("member"))?;
    caller::require(&joined, needed)?;
    if member.membership.role == Role::Owner {
        caller::require(&joined, Can::OwnerUpdate)?;
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
