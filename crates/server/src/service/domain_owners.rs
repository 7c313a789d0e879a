//! Who owns a domain, as its own records in DNS say. They are asked only where two organizations want the same name, or one wants all below
//! a name.

use std::time::Duration;

use uuid::Uuid;
use windlass_api::{ApplicationName, ErrorCode, EventName};
use windlass_store::domains::{self, Domain};
use windlass_store::{Conn, application_domains, applications, freed_domains};

use crate::app::App;
use crate::auth::Actor;
use crate::config::Config;
use crate::dns;
use crate::error::{Error, Result};
use crate::service::audit::{Action, Change, Resource};
use crate::service::{domain_choice, states, status_pages};

/// How long name servers may take. Without an answer nothing is proven.
const LIMIT: Duration = Duration::from_secs(5);

/// The organizations that a domain's records name. Empty where they were not asked.
#[derive(Debug, Default)]
pub struct Owners(Vec<Uuid>);

impl Owners {
    pub fn has(&self, organization_id: Uuid) -> bool {
        self.0.contains(&organization_id)
    }
}

/// The name of the TXT record that says whose a domain is.
pub fn record_name(domain: &str) -> String {
    format!("_windlass.{}", domain.strip_prefix("*.").unwrap_or(domain))
}

/// What the record says.
pub fn record_value(organization_id: Uuid) -> String {
    format!("windlass-organization={organization_id}")
}

/// What to do, as the last sentence of a refusal. Names below the base domain are the server's, and none to be proven.
pub fn how_to_prove(config: &Config, domain: &str, organization_id: Uuid) -> String {
    if is_servers(config, domain) {
        return "Choose another one.".to_owned();
    }
    let (name, value) = (record_name(domain), record_value(organization_id));
    format!("If it is yours, create the TXT record {name} with the value {value} in DNS, and try again.")
}

fn is_servers(config: &Config, domain: &str) -> bool {
    domain.strip_suffix(config.base_domain.as_str()).is_some_and(|rest| rest.ends_with('.'))
}

/// Asks the domain's records in DNS where another organization has or had it. If they name this organization and not the one that has the
/// domain, it is taken from that one at once, in a transaction of its own: also when the request is refused later.
pub async fn claim(app: &App, domain: &str, organization_id: Uuid) -> Result<Owners> {
    let mut conn = app.db.read().await?;
    if !is_contested(&mut conn, app, domain, organization_id).await? {
        return Ok(Owners::default());
    }
    drop(conn);
    let owners = ask(app, domain).await;
    if owners.has(organization_id) {
        let found = domains::at(&mut app.db.read().await?, domain).await?;
        for row in found.into_iter().filter(|row| !owners.has(row.organization_id)) {
            take_away(app, &row, organization_id).await?;
        }
    }
    Ok(owners)
}

/// Whether more must be known than that the domain is free.
async fn is_contested(conn: &mut Conn, app: &App, domain: &str, organization_id: Uuid) -> Result<bool> {
    if is_servers(&app.config, domain) {
        return Ok(false);
    }
    let mut names = wildcards(domain);
    names.push(domain.to_owned());
    Ok(domain.starts_with("*.")
        || domains::are_anothers(conn, &names, organization_id).await?
        || domain_choice::kept_until(conn, app, domain, organization_id).await?.is_some())
}

/// Every `*.` name that says whose a domain is: for names below the domain itself, and below each name above it.
pub fn wildcards(domain: &str) -> Vec<String> {
    let own = domain.strip_prefix("*.").unwrap_or(domain);
    let all = std::iter::successors(Some(own), |name| name.split_once('.').map(|(_, above)| above));
    all.map(|name| format!("*.{name}")).filter(|name| name != domain).collect()
}

async fn ask(app: &App, domain: &str) -> Owners {
    let resolver = dns::resolver(app);
    let texts = match tokio::time::timeout(LIMIT, resolver.texts(&record_name(domain))).await {
        Ok(Ok(texts)) => texts,
        Ok(Err(_)) | Err(_) => Vec::new(),
    };
    Owners(texts.iter().filter_map(|text| text.trim().strip_prefix("windlass-organization=")?.parse().ok()).collect())
}

/// What leads there now leads nowhere; an application gets the name that it would have had without one of its own. The name is kept from
/// others than its owner.
async fn take_away(app: &App, row: &Domain, owner: Uuid) -> Result<()> {
    if row.is_of_status_page() {
        return status_pages::lose_domain(app, row.organization_id, &row.domain, owner).await;
    }
    let Some(application_id) = row.application_id else {
        let message = format!(
            "domain: an installation of another organization has {}. The operator of this server can remove it.",
            row.domain
        );
        return Err(Error::new(ErrorCode::DomainTaken, message));
    };
    let mut work = app.begin_step().await?;
    let Some(mut application) = applications::lock(&mut work, application_id).await? else { return Ok(()) };
    match row.id {
        Some(id) if !application_domains::delete(&mut work, id).await? => return Ok(()),
        Some(_) => {}
        None if application.domain != row.domain => return Ok(()),
        None => {
            let name = ApplicationName::try_from(application.name.as_str()).map_err(Error::internal)?;
            let ids = (application.id, application.organization_id);
            application.domain = domain_choice::default_for(&mut work, app, &name.label(), ids).await?;
            application.updated_at = app.now();
            applications::update(&mut work, &application).await?;
        }
    }
    // As if the owner had given it up: until it takes the name, a moment later, no other organization can.
    freed_domains::free(&mut work, &row.domain, owner, app.now()).await?;
    let change = Change {
        organization_id: Some(row.organization_id),
        action: Action::Delete,
        resource: Resource::Domain,
        resource_id: row.id.unwrap_or(application.id),
        summary: &format!("took {} from {}: its records in DNS name another owner", row.domain, application.name),
        details: &[("domain", &row.domain), ("application", &application.name)],
    };
    work.record(&Actor::Server, &change);
    work.wake_reconciler();
    work.tell(
        EventName::ApplicationUpdated,
        states::subject(&application, None),
        &[("application", &application.name)],
    );
    Ok(work.commit().await?)
}

#[cfg(test)]
mod tests {
    use super::wildcards;

    #[test]
    fn who_has_everything_below_a_name_is_asked() {
        assert_eq!(wildcards("a.example.org"), ["*.a.example.org", "*.example.org", "*.org"]);
        assert_eq!(wildcards("*.example.org"), ["*.org"]);
    }
}
