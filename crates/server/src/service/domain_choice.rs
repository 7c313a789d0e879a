//! Which domain an application may have, and which it has when it asks for none.

use uuid::Uuid;
use windlass_api::{ErrorCode, Host, HostName, Timestamp};
use windlass_store::applications::Application;
use windlass_store::domains::{self, Domain};
use windlass_store::installations::Installation;
use windlass_store::{Conn, Tx, freed_domains, instance};

use crate::app::App;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::service::domain_owners::{self, Owners};

/// Of an application, and of its organization.
type Ids = (Uuid, Uuid);

/// What an application, or a status page, is to be found at.
pub struct Wanted<'a> {
    pub domain: &'a str,
    pub path: &'a str,
    /// None for a status page.
    pub application_id: Option<Uuid>,
    pub organization_id: Uuid,
    /// As its records in DNS say.
    pub owners: &'a Owners,
}

/// Fails unless the domain is free to have.
pub async fn check(conn: &mut Tx, app: &App, wanted: &Wanted<'_>) -> Result<()> {
    let Wanted { domain, path, application_id, organization_id, owners } = *wanted;
    instance::lock_domains(conn).await?;
    refuse_own(&app.config, domain)?;
    let (own, others): (Vec<_>, Vec<_>) =
        domains::at(conn, domain).await?.into_iter().partition(|row| row.organization_id == organization_id);
    if own.is_empty()
        && let Some(above) = domain.strip_prefix("*.")
    {
        check_all_below(conn, app, above, wanted).await?;
    }
    if !others.is_empty() {
        return Err(taken_by_another(domain, &domain_owners::how_to_prove(&app.config, domain, organization_id)));
    }
    // The main domain that an application has is free for itself, and so is that of a status page.
    let is_itself = |row: &Domain| match application_id {
        Some(id) => row.id.is_none() && row.application_id == Some(id),
        None => row.is_of_status_page(),
    };
    if own.iter().any(|row| row.path == path && !is_itself(row)) {
        return Err(taken(domain));
    }
    // What the organization has already is not asked about again.
    if !own.is_empty() || owners.has(organization_id) {
        return Ok(());
    }
    let proof = domain_owners::how_to_prove(&app.config, domain, organization_id);
    refuse_covered(conn, app, domain, organization_id, &proof).await
}

/// Fails if names around it are another organization's, or visitors of another may still come there.
async fn refuse_covered(conn: &mut Tx, app: &App, domain: &str, organization_id: Uuid, what_to_do: &str) -> Result<()> {
    if domains::are_anothers(conn, &domain_owners::wildcards(domain), organization_id).await? {
        return Err(taken_by_another(domain, what_to_do));
    }
    match kept_until(conn, app, domain, organization_id).await? {
        None => Ok(()),
        Some(until) => {
            let message =
                format!("domain: another organization had {domain}. It is free for others on {until}. {what_to_do}");
            Err(Error::new(ErrorCode::DomainTaken, message))
        }
    }
}

fn taken_by_another(domain: &str, what_to_do: &str) -> Error {
    Error::new(ErrorCode::DomainTaken, format!("domain: another organization has {domain}. {what_to_do}"))
}

fn refuse_own(config: &Config, domain: &str) -> Result<()> {
    match is_own(config, domain) {
        true => Err(Error::field("domain", format!("{domain} is this server's own"))),
        false => Ok(()),
    }
}

/// Names below are not known yet, so they must be the organization's for sure: by the records in DNS, or because it has the name above them
/// from this server.
async fn check_all_below(conn: &mut Tx, app: &App, above: &str, wanted: &Wanted<'_>) -> Result<()> {
    let base = &app.config.base_domain;
    let has_server_below = |name: &str| name == above || name.ends_with(&format!(".{above}"));
    let is_public = Host::of_url(&app.config.public_url()).is_some_and(|host| has_server_below(&host));
    if has_server_below(base) || is_public {
        return Err(Error::field("domain", format!("names of this server are below {above}")));
    }
    if wanted.owners.has(wanted.organization_id) {
        return Ok(());
    }
    let found = domains::at(conn, above).await?;
    let is_given = above.ends_with(&format!(".{base}"))
        && !found.is_empty()
        && found.iter().all(|row| row.organization_id == wanted.organization_id);
    if is_given {
        return Ok(());
    }
    let (name, value) =
        (domain_owners::record_name(wanted.domain), domain_owners::record_value(wanted.organization_id));
    let problem = format!(
        "needs a proof that every name below {above} is yours: create the TXT record {name} with the value {value} in DNS, and try again"
    );
    Err(Error::field("domain", problem))
}

/// Fails unless an installation may have the domain. No record in DNS is asked: an execution does not wait for one.
pub async fn check_for_installation(conn: &mut Tx, app: &App, domain: &str, installation: &Installation) -> Result<()> {
    instance::lock_domains(conn).await?;
    refuse_own(&app.config, domain)?;
    let rows = domains::at(conn, domain).await?;
    let is_itself = |row: &Domain| row.installation_id == Some(installation.id);
    // Applications of the organization can have paths of it.
    let is_in_the_way =
        |row: &Domain| row.organization_id != installation.organization_id || (row.path == "/" && !is_itself(row));
    if rows.iter().any(is_in_the_way) {
        return Err(taken(domain));
    }
    if !rows.is_empty() {
        return Ok(());
    }
    refuse_covered(conn, app, domain, installation.organization_id, "Choose another one.").await
}

/// None when another organization did not give it up, or long ago.
pub async fn kept_until(conn: &mut Conn, app: &App, domain: &str, organization_id: Uuid) -> Result<Option<Timestamp>> {
    let kept = app.config.domain_hold_seconds;
    let since = app.now().plus_seconds(-kept);
    let mut names = domain_owners::wildcards(domain);
    names.push(domain.to_owned());
    let freed = freed_domains::freed_by_another(conn, &names, organization_id, since).await?;
    Ok(freed.map(|freed| freed.plus_seconds(kept)))
}

/// After an application has left a domain: it is kept from other organizations for a while, unless it is still the organization's. What led
/// nowhere was in no link of visitors.
pub async fn give_up(conn: &mut Tx, app: &App, application: &Application, domain: &str) -> Result<()> {
    if application.live_deployment_id.is_some() && domains::at(conn, domain).await?.is_empty() {
        freed_domains::free(conn, domain, application.organization_id, app.now()).await?;
    }
    Ok(())
}

pub fn taken(domain: &str) -> Error {
    Error::new(
        ErrorCode::DomainTaken,
        format!("domain: {domain} leads to an application or installation already. Choose another domain or path."),
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
        let is_itself = |row: &Domain| row.id.is_none() && row.application_id == Some(application_id);
        let is_taken = domains::at(conn, &domain).await?.iter().any(|row| !is_itself(row))
            || domains::are_anothers(conn, &domain_owners::wildcards(&domain), organization_id).await?
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
