//! Who stays in an organization, and as what. At least one owner always does.

use uuid::Uuid;
use windlass_api::{Can, ErrorCode, OrganizationUser, Role};
use windlass_store::memberships::{self, Joined, Member};
use windlass_store::{Tx, invitations, users};

use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::organizations::hold;
use crate::service::work::Work;

/// What removing somebody takes: everybody may leave, but no program may leave for them.
pub fn permission_to_remove(ctx: &Ctx, user_id: Option<Uuid>) -> Can {
    let leaves = user_id == Some(ctx.user.id) && ctx.key_name().is_none();
    if leaves { Can::OrganizationRead } else { Can::MemberDelete }
}

pub async fn remove(ctx: &Ctx, organization_id: Uuid, user_id: Uuid) -> Result<()> {
    let mut work = ctx.app.begin().await?;
    let joined = hold(&mut work, ctx, organization_id, permission_to_remove(ctx, Some(user_id))).await?;
    let member = find(&mut work, ctx, &joined, user_id).await?;
    if member.membership.role == Role::Owner {
        keep_an_owner(&mut work, organization_id).await?;
    }
    // The member's API keys go with the membership.
    memberships::delete(&mut work, member.membership.id).await?;
    invitations::delete_sent_by(&mut work, organization_id, user_id).await?;
    users::repair_default_organization(&mut work, user_id).await?;
    let summary = match user_id == ctx.user.id {
        true => "left the organization".to_owned(),
        false => format!("removed {} from the organization", member.user.email),
    };
    record(&mut work, ctx, Action::Delete, &member, &summary, &[("email", &member.user.email)]);
    work.commit().await?;
    Ok(())
}

pub async fn change_role(ctx: &Ctx, organization_id: Uuid, user_id: Uuid, role: Role) -> Result<OrganizationUser> {
    let mut work = ctx.app.begin().await?;
    let joined = hold(&mut work, ctx, organization_id, Can::MemberUpdate).await?;
    let member = find(&mut work, ctx, &joined, user_id).await?;
    ctx.require_to_grant(&joined, role)?;
    if role != Role::Owner && member.membership.role == Role::Owner {
        keep_an_owner(&mut work, organization_id).await?;
    }
    memberships::set_role(&mut work, member.membership.id, role, ctx.app.now()).await?;
    // What they have promised to others they may no longer be able to give.
    if role < member.membership.role {
        invitations::delete_sent_by(&mut work, organization_id, user_id).await?;
    }
    let (email, from, to) = (member.user.email.as_str(), member.membership.role.as_str(), role.as_str());
    let summary = format!("changed the role of {email} from {from} to {to}");
    record(&mut work, ctx, Action::Update, &member, &summary, &[("email", email), ("from", from), ("to", to)]);
    let changed = memberships::member(&mut work, organization_id, user_id).await?;
    let changed = changed.ok_or_else(|| Error::not_found("member"))?;
    let changed = records::member(&mut work, changed, &joined.organization, ctx.viewer()).await?;
    work.commit().await?;
    Ok(changed)
}

/// A member whom the caller may change: only owners may change owners.
async fn find(tx: &mut Tx, ctx: &Ctx, joined: &Joined, user_id: Uuid) -> Result<Member> {
    let member = memberships::member(tx, joined.organization.id, user_id).await?;
    let member = member.ok_or_else(|| Error::not_found("member"))?;
    if member.membership.role == Role::Owner {
        ctx.require(joined, Can::OwnerUpdate)?;
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

fn record(work: &mut Work<'_>, ctx: &Ctx, action: Action, member: &Member, summary: &str, details: &[(&str, &str)]) {
    let change = Change {
        organization_id: Some(member.membership.organization_id),
        action,
        resource: Resource::Member,
        resource_id: member.user.id,
        summary,
        details,
    };
    work.record(&Actor::caller(ctx), &change);
}
