//! Organizations: creating, changing, deleting.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, CreateOrganization, ErrorCode, Role, UpdateOrganization};
use windlass_store::memberships::{self, Membership};
use windlass_store::organizations::{self, Organization};
use windlass_store::users::{self, User};
use windlass_store::{applications, executions, installations, invitations, snapshots, volumes};

use crate::app::App;
use crate::auth::{Authority, Login};
use crate::error::{Error, Result};
use crate::records::{self, EMBEDDED_USERS, NO_USERS};
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::work::Work;

pub async fn create(ctx: &Login, input: &CreateOrganization) -> Result<api::Organization> {
    let description = input.description.as_deref().unwrap_or_default();
    let actor = ctx.caller.actor();
    let mut work = ctx.app.begin_own(&ctx.caller).await?;
    let organization = create_with_owner(&mut work, &actor, &ctx.caller.user, &input.name, description, false).await?;
    // The members of the organization in which the caller acted see that there is one more; only its own members see
    // what it is called.
    let change = Change {
        organization_id: ctx.current_organization_id(),
        action: Action::Create,
        resource: Resource::Organization,
        resource_id: organization.id,
        summary: "created another organization",
        details: &[],
    };
    if change.organization_id.is_some() {
        work.record(&actor, &change);
    }
    users::repair_default_organization(&mut work, ctx.caller.user.id).await?;
    let record = records::organization(&mut work, &organization, EMBEDDED_USERS).await?;
    work.commit().await?;
    Ok(record)
}

/// A new organization with its founder as the owner. The instance's chain notes it too: it knows of every other chain.
pub async fn create_with_owner(
    work: &mut Work<'_>,
    actor: &Actor,
    founder: &User,
    name: &str,
    description: &str,
    host_access: bool,
) -> Result<Organization> {
    let now = work.app.now();
    let organization = Organization {
        id: work.app.new_id(),
        name: name.to_owned(),
        description: description.to_owned(),
        host_access,
        created_at: now,
        updated_at: now,
    };
    organizations::insert(work, &organization).await?;
    add_member(work, organization.id, founder.id, Role::Owner).await?;
    for chain in [Some(organization.id), None] {
        record(work, actor, chain, &organization, Action::Create);
    }
    Ok(organization)
}

pub async fn add_member(work: &mut Work<'_>, organization_id: Uuid, user_id: Uuid, role: Role) -> Result<()> {
    let (app, limit) = (work.app, work.app.config.user_organizations);
    // Of requests that come at once, each counts what those before it have added.
    users::lock(work, user_id).await?;
    if memberships::count_of_user(work, user_id).await? >= limit {
        let message = format!("A user can belong to {limit} organizations. Leave one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let now = app.now();
    let membership = Membership { id: app.new_id(), organization_id, user_id, role, created_at: now, updated_at: now };
    memberships::insert(work, &membership).await.map_err(|error| match error {
        windlass_store::Error::Duplicate => {
            Error::new(ErrorCode::AlreadyMember, "This user is a member of the organization already.")
        }
        other => other.into(),
    })
}

pub async fn update(app: &App, authority: &Authority, input: &UpdateOrganization) -> Result<api::Organization> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let id = authority.organization_id();
    let users = if authority.may(Can::MemberRead) { EMBEDDED_USERS } else { NO_USERS };
    let (name, description) = (input.name.as_deref(), input.description.as_deref());
    let updated = organizations::update(&mut work, id, name, description, app.now()).await?;
    let updated = updated.ok_or_else(|| Error::not_found("organization"))?;
    record(&mut work, &authority.actor(), Some(id), &updated, Action::Update);
    let record = records::organization(&mut work, &updated, users).await?;
    work.commit().await?;
    Ok(record)
}

/// Refused while others are in it or invited to it, so that no member loses anything by another's call, and while it
/// has applications, because what runs must end first. Its settings go with it.
pub async fn delete(app: &App, authority: &Authority) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let id = authority.organization_id();
    let others = memberships::count(&mut work, id).await? - 1;
    let invited = invitations::count(&mut work, id, "", app.now()).await?;
    let deployed = applications::count_of_organization(&mut work, id).await?;
    let stored = volumes::count_of_organization(&mut work, id).await?;
    let snapshots = snapshots::count_of_organization(&mut work, id).await?;
    let installed = installations::count_of_organization(&mut work, id).await?;
    let executions = executions::count_under_way(&mut work, id).await?;
    if [others, invited, deployed, stored, snapshots, installed, executions].iter().any(|count| *count > 0) {
        let message = format!(
            "The organization still has {others} other member(s), {invited} open invitation(s), {deployed} \
             application(s), {installed} installation(s), {executions} execution(s) under way, {stored} volume(s) and \
             {snapshots} snapshot(s). Remove them first; then it can be deleted."
        );
        return Err(Error::new(ErrorCode::OrganizationNotEmpty, message));
    }
    organizations::delete(&mut work, id).await?;
    // It may have had a status page.
    work.wake_reconciler();
    users::repair_default_organization(&mut work, authority.user_id()).await?;
    // No member can read the organization's own chain any more, so the instance's has it too.
    for chain in [Some(id), None] {
        record(&mut work, &authority.actor(), chain, authority.organization(), Action::Delete);
    }
    work.commit().await?;
    Ok(())
}

pub async fn switch_default(app: &App, authority: &Authority) -> Result<api::User> {
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let (user, organization) = (&authority.caller().user, authority.organization());
    users::set_default_organization(&mut work, user.id, organization.id).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: user.id,
        summary: &format!("made {} their default organization", organization.name),
        details: &[("default_organization", &organization.id.to_string())],
    };
    work.record(&authority.actor(), &change);
    let user = records::full_user(&mut work, user, authority.viewer()).await?;
    work.commit().await?;
    Ok(user)
}

fn record(work: &mut Work<'_>, actor: &Actor, chain: Option<Uuid>, organization: &Organization, action: Action) {
    let verb = match action {
        Action::Create => "created",
        Action::Update => "updated",
        Action::Delete => "deleted",
        Action::Access => "used",
    };
    let change = Change {
        organization_id: chain,
        action,
        resource: Resource::Organization,
        resource_id: organization.id,
        summary: &format!("{verb} the organization {}", organization.name),
        details: &[("name", &organization.name)],
    };
    work.record(actor, &change);
}
