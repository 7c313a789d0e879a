//! Where visitors find an application.

use uuid::Uuid;
use windlass_api::{ErrorCode, Host, HostName};
use windlass_store::{Tx, applications, installations, instance};

use crate::config::Config;
use crate::error::{Error, Result};

/// The domain that was asked for, if it is free to have.
pub async fn check(conn: &mut Tx, config: &Config, domain: &HostName, application_id: Uuid) -> Result<String> {
    instance::lock_domains(conn).await?;
    if is_own(config, domain) {
        return Err(Error::field("domain", format!("{} is this server's own", &**domain)));
    }
    let is_installed = installations::domain_is_taken(conn, domain, None).await?;
    if is_installed || applications::domain_is_taken(conn, domain, Some(application_id)).await? {
        return Err(taken(domain));
    }
    Ok(domain.to_string())
}

/// The same for a domain that leads to what an extension has installed.
pub async fn refuse_taken(conn: &mut Tx, config: &Config, domain: &str, installation_id: Uuid) -> Result<()> {
    instance::lock_domains(conn).await?;
    if is_own(config, domain) {
        return Err(Error::field("domain", format!("{domain} is this server's own")));
    }
    let is_taken = applications::domain_is_taken(conn, domain, None).await?
        || installations::domain_is_taken(conn, domain, Some(installation_id)).await?;
    if is_taken { Err(taken(domain)) } else { Ok(()) }
}

pub fn taken(domain: &str) -> Error {
    Error::new(
        ErrorCode::DomainTaken,
        format!("domain: another application or installation has {domain}. Choose another one."),
    )
}

/// The label below the base domain; with the end of the application's id, which is random, where another application has that.
pub async fn default_for(conn: &mut Tx, config: &Config, label: &str, application_id: Uuid) -> Result<String> {
    instance::lock_domains(conn).await?;
    let id = application_id.simple().to_string();
    for length in [0, 6, 12, 20] {
        let suffix = &id[id.len() - length..];
        let label = if suffix.is_empty() { label.to_owned() } else { format!("{label}-{suffix}") };
        let domain = format!("{label}.{}", config.base_domain);
        let domain = HostName::try_from(domain.as_str()).map_err(|_| {
            let problem = "is needed: the name does not give one below this server's base domain";
            Error::field("domain", problem)
        })?;
        let is_taken = applications::domain_is_taken(conn, &domain, Some(application_id)).await?
            || installations::domain_is_taken(conn, &domain, None).await?;
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
