//! The record in DNS by which an authority sees that every name below another is served here (DNS-01, RFC 8555, section 8.4).

use std::time::Duration;

use tokio::time::{Instant, sleep};
use windlass_acme::{DnsRecord, dns_record};
use windlass_dns::{ZoneServer, servers_without_text};
use windlass_zone::{Provider, TsigKey};

use super::problem::{Problem, Result};
use crate::app::App;
use crate::dns::resolver;
use crate::error::Error;

/// How long every name server of the zone may take. The authority is told then: it may see the record nevertheless.
const LIMIT: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_secs(1);

/// Sets it, and waits until the name servers of its zone have it.
pub async fn show(app: &App, domain: &str, key_authorization: &str) -> Result<()> {
    let (zone, provider) = place(app, domain).await?;
    let DnsRecord { name, value } = dns_record(domain, key_authorization);
    provider.add_text(&zone, &name, &value).await?;
    let servers = servers(app, &zone).await?;
    let deadline = Instant::now() + LIMIT;
    loop {
        let without = servers_without_text(&servers, &name, &value).await;
        if without.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            tracing::warn!(domain, ?without, "name servers do not have the record yet; the authority is told");
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

/// A record that stays does no harm: what it proves is over.
pub async fn take_back(app: &App, domain: &str, key_authorization: &str) {
    let record = dns_record(domain, key_authorization);
    if remove(app, domain, &record).await.is_err() {
        let DnsRecord { name, value } = record;
        tracing::warn!(name, value, "a record that proved a domain could not be removed from its zone");
    }
}

async fn remove(app: &App, domain: &str, record: &DnsRecord) -> Result<()> {
    let (zone, provider) = place(app, domain).await?;
    Ok(provider.remove_text(&zone, &record.name, &record.value).await?)
}

/// The zone of a domain, and where it is changed.
async fn place(app: &App, domain: &str) -> Result<(String, Provider)> {
    let settings = &app.config.zones;
    let above = domain.strip_prefix("*.").unwrap_or(domain);
    let Some(zone) = settings.zone_of(above) else {
        let words = format!(
            "A certificate for {domain} needs a record in DNS, and {above} is in none of the zones that this server may change \
             (dns-zones). Upload one."
        );
        return Err(Problem::preflight(words).into());
    };
    let provider = match (&settings.update_server, &settings.update_key, &settings.cloudflare_token) {
        (Some(server), Some(key), _) => {
            let key = TsigKey::parse(key.reveal()).map_err(|error| Error::internal(error.to_string()))?;
            Provider::rfc2136(*server, key)
        }
        (_, _, Some(token)) => {
            let calls = app.authority_calls().await?;
            let provider = Provider::cloudflare(&settings.cloudflare_url, token.reveal(), calls);
            provider.map_err(|error| Error::internal(error.to_string()))?
        }
        _ => return Err(Error::internal("dns-zones without a place where they are changed").into()),
    };
    Ok((zone.to_owned(), provider))
}

async fn servers(app: &App, zone: &str) -> Result<Vec<ZoneServer>> {
    let given = app.config.zones.servers.as_slice();
    if !given.is_empty() {
        return Ok(given.iter().copied().map(ZoneServer::at).collect());
    }
    let found = resolver(app).servers_of_zone(zone).await?;
    if found.is_empty() {
        let words = format!("DNS knows no zone {zone}: the operator of this server has to look at dns-zones.");
        return Err(Problem::preflight(words).into());
    }
    Ok(found)
}
