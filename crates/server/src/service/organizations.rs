//! Organizations: founding, changing, dissolving.

use uuid::Uuid;
use windlass_api::{Can, CreateOrganization, ErrorCode, Role, UpdateOrganization};
use windlass_store::memberships::{self, Joined, Membership};
use windlass_store::organizations::{self, Organization};
use windlass_store::users::{self, User};
use windlass_store::{Tx, invitations};

use crate::app::App;
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::service::audit::{self, Action, Actor, Change, Resource};

pub async fn create(ctx: &Ctx, input: &CreateOrganization) -> Result<Organization> {
    let description = input.description.as_deref().unwrap_or_default();
    let actor = Actor::caller(ctx);
    let mut tx = ctx.app.db.begin().await?;
    let organization = found(&mut tx, &ctx.app, &actor, &ctx.user, &input.name, description, false).await?;
    // Whoever watches the organization in which the caller acted sees it too.
    if let Some(current) = ctx.current_organization_id() {
        let change = change_of(&organization, Action::Create);
        audit::record(&mut tx, &ctx.app, &actor, Change { organization_id: Some(current), ..change }).await?;
    }
    users::repair_default_organization(&mut tx, ctx.user.id).await?;
    tx.commit().await?;
    Ok(organization)
}

/// A new organization with its founder as the owner.
pub async fn found(
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

pub async fn add_member(
    tx: &mut Tx,
    app: &App,
    organization_id: Uuid,
    user_id: Uuid,
    role: Role,
) -> Result<Membership> {
    let now = app.now();
    let membership = Membership { id: app.new_id(), organization_id, user_id, role, created_at: now, updated_at: now };
    memberships::insert(tx, &membership).await.map_err(|error| match error {
        windlass_store::Error::Duplicate => {
            Error::new(ErrorCode::AlreadyMember, "This user is a member of the organization already.")
        }
        other => other.into(),
    })?;
    Ok(membership)
}

pub async fn update(ctx: &Ctx, joined: &Joined, input: &UpdateOrganization) -> Result<Organization> {
    let app = &ctx.app;
    let mut tx = app.db.begin().await?;
    let (name, description) = (input.name.as_deref(), input.description.as_deref());
    let updated = organizations::update(&mut tx, joined.organization.id, name, description, app.now()).await?;
    let updated = updated.ok_or_else(|| Error::not_found("organization"))?;
    audit::record(&mut tx, app, &Actor::caller(ctx), change_of(&updated, Action::Update)).await?;
    tx.commit().await?;
    Ok(updated)
}

/// Refused while it still owns something, so that nobody loses anything by one call.
pub async fn delete(ctx: &Ctx, joined: &Joined) -> Result<()> {
    let (app, id) = (&ctx.app, joined.organization.id);
    let mut tx = app.db.begin().await?;
    if !organizations::lock(&mut tx, id).await? {
        return Err(Error::not_found("organization"));
    }
    recheck(&mut tx, ctx, id, Can::OrganizationDelete).await?;
    let others = memberships::count(&mut tx, id).await? - 1;
    let invited = invitations::count(&mut tx, id).await?;
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

pub async fn switch_default(ctx: &Ctx, joined: &Joined) -> Result<()> {
    let mut tx = ctx.app.db.begin().await?;
    users::set_default_organization(&mut tx, ctx.user.id, joined.organization.id).await?;
    users::repair_default_organization(&mut tx, ctx.user.id).await?;
    let change = Change {
        organization_id: None,
        action: Action::Update,
        resource: Resource::User,
        resource_id: ctx.user.id,
        details: &[("default_organization", &joined.organization.id.to_string())],
    };
    audit::record(&mut tx, &ctx.app, &Actor::caller(ctx), change).await?;
    tx.commit().await?;
    Ok(())
}

/// Inside a transaction that holds the organization: the caller's place as it is now, not as it was a moment ago.
pub async fn recheck(tx: &mut Tx, ctx: &Ctx, organization_id: Uuid, action: Can) -> Result<Joined> {
    let joined = memberships::joined(tx, ctx.user.id, organization_id).await?;
    let joined = joined.ok_or_else(|| Error::not_found("organization"))?;
    crate::auth::caller::require(&joined, action)?;
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
