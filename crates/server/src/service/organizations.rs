//! Organizations: founding, changing, dissolving.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, CreateOrganization, ErrorCode, Role, UpdateOrganization};
use windlass_store::memberships::{self, Joined, Membership, ORGANIZATIONS_PER_USER};
use windlass_store::organizations::{self, Organization};
use windlass_store::users::{self, User};
use windlass_store::{Tx, invitations};

use crate::app::App;
use crate::auth::Ctx;
use crate::auth::caller::require;
use crate::error::{Error, Result};
use crate::records::{self, EMBEDDED_USERS};
use crate::service::audit::{self, Action, Actor, Change, Resource};

pub async fn create(ctx: &Ctx, input: &CreateOrganization) -> Result<api::Organization> {
    let description = input.description.as_deref().unwrap_or_default();
    let actor = Actor::caller(ctx);
    let mut tx = ctx.app.db.begin().await?;
    let organization = create_with_owner(&mut tx, &ctx.app, &actor, &ctx.user, &input.name, description, false).await?;
    // Whoever watches the organization in which the caller acted sees it too.
    if let Some(current) = ctx.current_organization_id() {
        let change = change_of(&organization, Action::Create);
        audit::record(&mut tx, &ctx.app, &actor, Change { organization_id: Some(current), ..change }).await?;
    }
    users::repair_default_organization(&mut tx, ctx.user.id).await?;
    let record = records::organization(&mut tx, &organization, ctx.user.id, EMBEDDED_USERS).await?;
    tx.commit().await?;
    Ok(record)
}

/// A new organization with its founder as the owner.
pub async fn create_with_owner(
    tx: &mut Tx,
    app: &App,
    actor: &Actor,
    founder: &User,
    name: &str,
    description: &str,
    host_access: bool,
) -> Result<Organization> {
    let now = app.now();
    let organization = Organization {
        id: app.new_id(),
        name: name.to_owned(),
        description: description.to_owned(),
        host_access,
        created_at: now,
        updated_at: now,
    };
    organizations::insert(tx, &organization).await?;
    add_member(tx, app, organization.id, founder.id, Role::Owner).await?;
    audit::record(tx, app, actor, change_of(&organization, Action::Create)).await?;
    Ok(organization)
}

pub async fn add_member(tx: &mut Tx, app: &App, organization_id: Uuid, user_id: Uuid, role: Role) -> Result<()> {
    if memberships::count_of_user(tx, user_id).await? >= ORGANIZATIONS_PER_USER {
        let message = format!("A user can belong to {ORGANIZATIONS_PER_USER} organizations. Leave one first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let now = app.now();
    let membership = Membership { id: app.new_id(), organization_id, user_id, role, created_at: now, updated_at: now };
    memberships::insert(tx, &membership).await.map_err(|error| match error {
        windlass_store::Error::Duplicate => {
            Error::new(ErrorCode::AlreadyMember, "This user is a member of the organization already.")
        }
        other => other.into(),
    })
}

pub async fn update(ctx: &Ctx, id: Uuid, input: &UpdateOrganization) -> Result<api::Organization> {
    let app = &ctx.app;
    let mut tx = app.db.begin().await?;
    hold(&mut tx, ctx, id, Can::OrganizationUpdate).await?;
    let (name, description) = (input.name.as_deref(), input.description.as_deref());
    let updated = organizations::update(&mut tx, id, name, description, app.now()).await?;
    let updated = updated.ok_or_else(|| Error::not_found("organization"))?;
    audit::record(&mut tx, app, &Actor::caller(ctx), change_of(&updated, Action::Update)).await?;
    let record = records::organization(&mut tx, &updated, ctx.user.id, EMBEDDED_USERS).await?;
    tx.commit().await?;
    Ok(record)
}

/// Refused while it still owns something, so that nobody loses anything by one call.
pub async fn delete(ctx: &Ctx, id: Uuid) -> Result<()> {
    let app = &ctx.app;
    let mut tx = app.db.begin().await?;
    let joined = hold(&mut tx, ctx, id, Can::OrganizationDelete).await?;
    let others = memberships::count(&mut tx, id).await? - 1;
    let invited = invitations::count(&mut tx, id, "", app.now()).await?;
    if others > 0 || invited > 0 {
        let message = format!(
            "The organization still has {others} other member(s) and {invited} open invitation(s). \
             Remove them first; then it can be deleted."
        );
        return Err(Error::new(ErrorCode::OrganizationNotEmpty, message));
    }
    organizations::delete(&mut tx, id).await?;
    users::repair_default_organization(&mut tx, ctx.user.id).await?;
    audit::record(&mut tx, app, &Actor::caller(ctx), change_of(&joined.organization, Action::Delete)).await?;
    tx.commit().await?;
    Ok(())
}

pub async fn switch_default(ctx: &Ctx, id: Uuid) -> Result<api::User> {
    let mut tx = ctx.app.db.begin().await?;
    hold(&mut tx, ctx, id, Can::OrganizationRead).await?;
    users::set_default_organization(&mut tx, ctx.user.id, id).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: ctx.user.id,
        details: &[("default_organization", &id.to_string())],
    };
    audit::record(&mut tx, &ctx.app, &Actor::caller(ctx), change).await?;
    let user = records::full_user(&mut tx, &ctx.user, ctx.user.id).await?;
    tx.commit().await?;
    Ok(user)
}

/// Holds the organization still until the transaction ends, and checks the caller's place in it as it is now, not as it
/// was a moment ago.
pub async fn hold(tx: &mut Tx, ctx: &Ctx, organization_id: Uuid, action: Can) -> Result<Joined> {
    let found = organizations::lock(tx, organization_id).await?;
    let joined = if found { memberships::joined(tx, ctx.user.id, organization_id).await? } else { None };
    let joined = joined.ok_or_else(|| Error::not_found("organization"))?;
    require(&joined, action)?;
    Ok(joined)
}

fn change_of(organization: &Organization, action: Action) -> Change<'_> {
    Change {
        organization_id: Some(organization.id),
        action,
        resource: Resource::Organization,
        resource_id: organization.id,
        details: &[],
    }
}
