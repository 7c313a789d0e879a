//! What an organization shows to registries of images: one credential for each host. They are not tried when they are saved: most
//! registries only say with an image whether they are good for it.

use windlass_api as api;
use windlass_api::{CreateRegistryCredential, ErrorCode, Host, UpdateRegistryCredential};
use windlass_store::registry_credentials::{self, RegistryCredential};

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records::registry_credentials::registry_credential as record;
use crate::service::audit::{Action, Change, Resource};
use crate::service::outgoing_addresses::check_host;
use crate::service::work::Work;

pub async fn create(
    app: &App,
    authority: &Authority,
    input: &CreateRegistryCredential,
) -> Result<api::RegistryCredential> {
    if let Some(host) = Host::of_authority(&input.host)
        && !authority.organization().host_access
    {
        check_host(app, "host", &host).await?;
    }
    let (now, id) = (app.now(), app.new_id());
    let mut work = app.begin().await?;
    let authority = &work.hold(authority).await?;
    check_host_is_free(&mut work, authority, &input.host).await?;
    check_room(&mut work, authority).await?;
    let row = RegistryCredential {
        id,
        organization_id: authority.organization_id(),
        user_id: authority.user_id(),
        host: input.host.to_string(),
        username: input.username.to_string(),
        sealed_password: app.vault.seal_registry_password(&mut work, id, input.password.reveal()).await?,
        created_at: now,
        updated_at: now,
    };
    registry_credentials::insert(&mut work, &row).await?;
    write_down(&mut work, authority, Action::Create, &row, "added credentials for");
    work.commit().await?;
    Ok(record(row))
}

pub async fn update(
    app: &App,
    granted: &Granted<RegistryCredential>,
    input: &UpdateRegistryCredential,
) -> Result<api::RegistryCredential> {
    if input.username.is_none() && input.password.is_none() {
        return Err(Error::field("password", "give it or a username to change"));
    }
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let row = registry_credentials::get(&mut work, granted.row().id).await?;
    let mut row = row.ok_or_else(|| Error::not_found("registry credential"))?;
    if let Some(username) = &input.username {
        row.username = username.to_string();
    }
    row.updated_at = app.now();
    let sealed = match &input.password {
        Some(password) => Some(app.vault.seal_registry_password(&mut work, row.id, password.reveal()).await?),
        None => None,
    };
    registry_credentials::update(&mut work, &row, sealed.as_deref()).await?;
    write_down(&mut work, &authority, Action::Update, &row, "changed the credentials for");
    work.commit().await?;
    Ok(record(row))
}

/// What was taken from the registry stays; only the next deploy goes without them.
pub async fn delete(app: &App, granted: &Granted<RegistryCredential>) -> Result<()> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    registry_credentials::delete(&mut work, granted.row().id).await?;
    write_down(&mut work, &authority, Action::Delete, granted.row(), "removed the credentials for");
    work.commit().await?;
    Ok(())
}

async fn check_host_is_free(work: &mut Work<'_>, authority: &Authority, host: &str) -> Result<()> {
    match registry_credentials::by_host(work, authority.organization_id(), host).await? {
        Some(_) => {
            let message = format!("host: there are credentials for {host} already. Change those.");
            Err(Error::new(ErrorCode::NameTaken, message))
        }
        None => Ok(()),
    }
}

/// That the organization can have one more.
async fn check_room(work: &mut Work<'_>, authority: &Authority) -> Result<()> {
    let limit = work.app.config.organization_registries;
    if registry_credentials::count_of_organization(work, authority.organization_id()).await? >= limit {
        let message = format!("An organization can have credentials for {limit} registries. Delete some first.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

fn write_down(work: &mut Work<'_>, authority: &Authority, action: Action, row: &RegistryCredential, verb: &str) {
    let change = Change {
        organization_id: Some(row.organization_id),
        action,
        resource: Resource::RegistryCredential,
        resource_id: row.id,
        summary: &format!("{verb} {}", row.host),
        details: &[("host", &row.host), ("username", &row.username)],
    };
    work.record(&authority.actor(), &change);
}
