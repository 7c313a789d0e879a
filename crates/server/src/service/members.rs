//! Who stays in an organization, and as what. At least one owner always does.

use uuid::Uuid;
use windlass_api::{Can, ErrorCode, EventName, OrganizationUser, Role};
use windlass_store::memberships::{self, Member};
use windlass_store::{Tx, invitations, users};

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Change, Resource};
use crate::service::work::{EventSubject, Work};

/// Every member may leave.
pub async fn leave(app: &App, authority: &Authority) -> Result<()> {
    remove(app, authority, authority.user_id()).await
}

pub async fn remove(app: &App, authority: &Authority, user_id: Uuid) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let member = find(&mut work, &authority, user_id).await?;
    if member.membership.role == Role::Owner {
        keep_an_owner(&mut work, organization_id).await?;
    }
    // The member's API keys go with the membership.
    memberships::delete(&mut work, member.membership.id).await?;
    invitations::delete_sent_by(&mut work, organization_id, user_id).await?;
    users::repair_default_organization(&mut work, user_id).await?;
    let summary = match user_id == authority.user_id() {
        true => "left the organization".to_owned(),
        false => format!("removed {} from the organization", member.user.email),
    };
    record(&mut work, &authority, Action::Delete, &member, &summary, &[("email", &member.user.email)]);
    tell(&mut work, EventName::MemberRemoved, &authority, &member, &[]);
    work.commit().await?;
    Ok(())
}

pub async fn change_role(app: &App, authority: &Authority, user_id: Uuid, role: Role) -> Result<OrganizationUser> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let member = find(&mut work, &authority, user_id).await?;
    authority.require_to_grant(app, role)?;
    if role != Role::Owner && member.membership.role == Role::Owner {
        keep_an_owner(&mut work, organization_id).await?;
    }
    memberships::set_role(&mut work, member.membership.id, role, app.now()).await?;
    // What they have promised to others they may no longer be able to give.
    if role < member.membership.role {
        invitations::delete_sent_by(&mut work, organization_id, user_id).await?;
    }
    let (email, from, to) = (member.user.email.as_str(), member.membership.role.as_str(), role.as_str());
    let summary = format!("changed the role of {email} from {from} to {to}");
    record(&mut work, &authority, Action::Update, &member, &summary, &[("email", email), ("from", from), ("to", to)]);
    if role != member.membership.role {
        tell(&mut work, EventName::MemberRoleChanged, &authority, &member, &[("before", from), ("role", to)]);
    }
    let changed = memberships::member(&mut work, organization_id, user_id).await?;
    let changed = changed.ok_or_else(|| Error::not_found("member"))?;
    let changed = records::member(&mut work, changed, authority.organization(), authority.viewer()).await?;
    work.commit().await?;
    Ok(changed)
}

/// A member whom the caller may change: only owners may change owners.
async fn find(work: &mut Work<'_>, authority: &Authority, user_id: Uuid) -> Result<Member> {
    let member = memberships::member(work, authority.organization_id(), user_id).await?;
    let member = member.ok_or_else(|| Error::not_found("member"))?;
    if member.membership.role == Role::Owner {
        authority.require(work.app, Can::OwnerUpdate)?;
    }
    Ok(member)
}

async fn keep_an_owner(tx: &mut Tx, organization_id: Uuid) -> Result<()> {
    if memberships::owners(tx, organization_id).await? > 1 {
        return Ok(());
    }
    let message = "This is the last owner of the organization. Make another member an owner first.";
    Err(Error::new(ErrorCode::LastOwner, message))
}

fn tell(work: &mut Work<'_>, name: EventName, authority: &Authority, member: &Member, details: &[(&str, &str)]) {
    let actor = authority.actor();
    let details = [&[("member", member.user.username.as_str()), ("by", actor.name())], details].concat();
    work.tell(name, EventSubject::of_organization(member.membership.organization_id), &details);
}

fn record(
    work: &mut Work<'_>,
    authority: &Authority,
    action: Action,
    member: &Member,
    summary: &str,
    details: &[(&str, &str)],
) {
    let change = Change {
        organization_id: Some(member.membership.organization_id),
        action,
        resource: Resource::Member,
        resource_id: member.user.id,
        summary,
        details,
    };
    work.record(&authority.actor(), &change);
}
