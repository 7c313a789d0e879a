//! Looks which domains need a certificate, and queues the jobs that get it.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::is_local_name;
use windlass_store::Result;
use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::domains::{self, Domain};

use crate::app::App;
use crate::config::Config;
use crate::service::certificate_orders::queue_job;

/// How often to look for what this process was not told of: domains of other servers, and orders whose time has come.
const INTERVAL: Duration = Duration::from_secs(5);
/// Rows change all the time.
const LEAST_PAUSE: Duration = Duration::from_secs(1);
/// In one go; the others are met at the next look.
const MOST_AT_ONCE: usize = 100;
const MOST_QUEUED: i64 = 100;
/// Of one organization, so that one with many domains does not keep the others waiting.
const MOST_OF_EACH: i64 = 5;
/// Ends of names that no authority issues for (RFC 6761, 6762, 8375, 9476).
const PRIVATE: [&str; 9] =
    ["alt", "example", "home.arpa", "internal", "invalid", "local", "localhost", "onion", "test"];

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    if app.config.acme.directories.is_empty() {
        return;
    }
    loop {
        if let Err(error) = look(&app).await {
            tracing::warn!(%error, "could not look which certificates are to be ordered; trying again in a moment");
        }
        tokio::time::sleep(LEAST_PAUSE).await;
        let _ = tokio::time::timeout(INTERVAL - LEAST_PAUSE, app.domains_changed.notified()).await;
    }
}

/// How many jobs were queued.
pub async fn look(app: &App) -> Result<usize> {
    let config = &app.config;
    let own = config.own_domains();
    for domain in own.iter().filter(|domain| is_ordered_for(config, domain)) {
        add(app, None, domain).await?;
    }
    let new = domains::without_order(&mut app.db.read().await?).await?;
    // Where the certificate for everything below the base domain cannot be had, each name is ordered for as elsewhere.
    let is_shared = config.shares_certificate() && !has_failed(app, &format!("*.{}", config.base_domain)).await?;
    let is_own = |domain: &str| own.iter().any(|own| own == domain) || (is_shared && config.is_below_base(domain));
    let is_new = |found: &Domain| is_ordered_for(config, &found.domain) && !is_own(&found.domain);
    for Domain { organization_id, domain, .. } in new.into_iter().filter(is_new).take(MOST_AT_ONCE) {
        add(app, Some(organization_id), &domain).await?;
    }
    let due = certificate_orders::due(&mut app.db.read().await?, app.now(), MOST_OF_EACH, MOST_QUEUED).await?;
    let mut queued = 0;
    for order in due {
        let mut work = app.begin_step().await?;
        if queue_job(&mut work, &order).await? {
            work.commit().await?;
            queued += 1;
        }
    }
    Ok(queued)
}

/// Whether there is no certificate for a domain because the last order of it has failed.
async fn has_failed(app: &App, domain: &str) -> Result<bool> {
    let order = certificate_orders::of_domain(&mut app.db.read().await?, domain).await?;
    Ok(order.is_some_and(|order| order.certificate_id.is_none() && !order.problem.is_empty()))
}

/// Whether an authority on the internet can issue for a name. For a wildcard it wants a record in DNS, so its zone must be one that may be
/// changed.
fn is_ordered_for(config: &Config, domain: &str) -> bool {
    match domain.strip_prefix("*.") {
        Some(above) => config.zones.zone_of(above).is_some() && is_public(above),
        None => is_public(domain),
    }
}

fn is_public(domain: &str) -> bool {
    let is_private = |end: &&str| domain.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_name = domain.contains('.') && domain.parse::<std::net::IpAddr>().is_err();
    is_name && !is_local_name(domain) && !PRIVATE.iter().any(is_private)
}

/// For an organization, or for the server itself. What another one has ordered for the name is not for this one.
async fn add(app: &App, organization_id: Option<Uuid>, domain: &str) -> Result<()> {
    let known = certificate_orders::of_domain(&mut app.db.read().await?, domain).await?;
    if known.is_some_and(|known| known.organization_id == organization_id) {
        return Ok(());
    }
    let now = app.now();
    let mut work = app.begin_step().await?;
    if let Some(other) = certificate_orders::of_domain(&mut work, domain).await? {
        if other.organization_id == organization_id {
            return Ok(());
        }
        certificate_orders::delete(&mut work, other.id).await?;
    }
    let order = CertificateOrder {
        id: app.new_id(),
        organization_id,
        domain: domain.to_owned(),
        authority: String::new(),
        order_url: String::new(),
        way: String::new(),
        token: String::new(),
        key_authorization: String::new(),
        sealed_key: None,
        certificate_id: None,
        problem: String::new(),
        failures: 0,
        next_at: now,
        job_id: None,
        ordered_at: None,
        created_at: now,
        updated_at: now,
    };
    match certificate_orders::insert(&mut work, &order).await {
        // Another server was quicker.
        Err(windlass_store::Error::Duplicate) => Ok(()),
        inserted => {
            inserted?;
            work.commit().await
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn private_names_are_not_ordered_for() {
        for name in ["shop.example.org", "a.b.example.com", "xn--bcher-kva.example.net", "mylocal.org", "test.org"] {
            assert!(is_public(name), "{name}");
        }
        for name in [
            "localhost",
            "shop.localhost",
            "shop.local",
            "nas.home.arpa",
            "shop.test",
            "intranet",
            "192.0.2.1",
            "a.onion",
        ] {
            assert!(!is_public(name), "{name}");
        }
    }
}
