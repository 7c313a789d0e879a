//! Where visitors find an application.

use uuid::Uuid;
use windlass_api::{ErrorCode, Host, HostName, Timestamp};
use windlass_store::installations::Installation;
use windlass_store::{Tx, applications, freed_domains, installations, instance};

use crate::app::App;
use crate::config::Config;
use crate::error::{Error, Result};

/// Of an application, and of its organization.
type Ids = (Uuid, Uuid);

/// The domain that was asked for, if it is free to have.
pub async fn check(conn: &mut Tx, app: &App, domain: &HostName, (id, organization_id): Ids) -> Result<String> {
    instance::lock_domains(conn).await?;
    if is_own(&app.config, domain) {
        return Err(Error::field("domain", format!("{} is this server's own", &**domain)));
    }
    let is_installed = installations::domain_is_taken(conn, domain, None).await?;
    if is_installed || applications::domain_is_taken(conn, domain, Some(id)).await? {
        return Err(taken(domain));
    }
    refuse_kept(conn, app, domain, organization_id).await?;
    Ok(domain.to_string())
}

/// The same for a domain that leads to what an extension has installed.
pub async fn refuse_taken(conn: &mut Tx, app: &App, domain: &str, installation: &Installation) -> Result<()> {
    instance::lock_domains(conn).await?;
    if is_own(&app.config, domain) {
        return Err(Error::field("domain", format!("{domain} is this server's own")));
    }
    let is_taken = applications::domain_is_taken(conn, domain, None).await?
        || installations::domain_is_taken(conn, domain, Some(installation.id)).await?;
    if is_taken {
        return Err(taken(domain));
    }
    refuse_kept(conn, app, domain, installation.organization_id).await
}

/// Visitors of the organization that had it may still come there.
async fn refuse_kept(conn: &mut Tx, app: &App, domain: &str, organization_id: Uuid) -> Result<()> {
    match kept_until(conn, app, domain, organization_id).await? {
        None => Ok(()),
        Some(until) => Err(Error::new(
            ErrorCode::DomainTaken,
            format!("domain: another organization had {domain}. It is free for others on {until}."),
        )),
    }
}

/// None when another organization did not give it up, or long ago.
async fn kept_until(conn: &mut Tx, app: &App, domain: &str, organization_id: Uuid) -> Result<Option<Timestamp>> {
    let kept = app.config.domain_hold_seconds;
    let since = app.now().plus_seconds(-kept);
    let freed = freed_domains::freed_by_another(conn, domain, organization_id, since).await?;
    Ok(freed.map(|freed| freed.plus_seconds(kept)))
}

pub fn taken(domain: &str) -> Error {
    Error::new(
        ErrorCode::DomainTaken,
        format!("domain: another application or installation has {domain}. Choose another one."),
    )
}

/// The label below the base domain; with the end of the application's id, which is random, where another application has that.
pub async fn default_for(conn: &mut Tx, app: &App, label: &str, (id, organization_id): Ids) -> Result<String> {
    instance::lock_domains(conn).await?;
    let (config, application_id, id) = (&app.config, id, id.simple().to_string());
    for length in [0, 6, 12, 20] {
        let suffix = &id[id.len() - length..];
        let label = if suffix.is_empty() { label.to_owned() } else { format!("{label}-{suffix}") };
        let domain = format!("{label}.{}", config.base_domain);
        let domain = HostName::try_from(domain.as_str()).map_err(|_| {
            let problem = "is needed: the name does not give one below this server's base domain";
            Error::field("domain", problem)
        })?;
        let is_taken = applications::domain_is_taken(conn, &domain, Some(application_id)).await?
            || installations::domain_is_taken(conn, &domain, None).await?
            || kept_until(conn, app, &domain, organization_id).await?.is_some();
        if !is_own(config, &domain) && !is_taken {
            return Ok(domain.to_string());
        }
    }
    Err(Error::field("domain", "is needed: the one that would be made of the name is taken"))
}

/// Whether the API itself is, or may be, reached there.
fn is_own(config: &Config, domain: &str) -> bool {
    let is_public = || Host::of_url(&config.public_url()).is_some_and(|host| *host == *domain);
    domain == "localhost" || domain == config.base_domain || is_public()
}
