//! Certificates that Windlass orders: what members see of them, and what they can ask for. The jobs are in `orders`.

use std::collections::HashMap;

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{ErrorCode, HostName, Timestamp};
use windlass_store::certificate_orders::{self, CertificateOrder};
use windlass_store::{Conn, certificates, domains, jobs};

use crate::app::App;
use crate::auth::Authority;
use crate::error::{Error, Result};
use crate::records::domains as records;
use crate::served_certificates::Choice;
use crate::service::audit::{Action, Change, Resource};
use crate::service::queue;

/// Between two attempts that a member asks for.
const LEAST_SECONDS: u64 = 60;
/// The same once the authority was asked: it allows five proofs of a host an hour that fail.
const LEAST_SECONDS_OF_ORDERS: u64 = 15 * 60;

/// The organization's domains, each with how its visitors come.
pub async fn list(app: &App, organization_id: Uuid) -> Result<Vec<api::Domain>> {
    let mut conn = app.db.read().await?;
    let rows = domains::of_organization(&mut conn, organization_id).await?;
    let (choice, mut orders) = known(&mut conn, organization_id).await?;
    let record = |row: domains::Domain| {
        let order = orders.remove(&row.domain).filter(|_| is_ordering(app));
        let served = choice.of(organization_id, &row.domain, app.now());
        records::domain(row, served, order.as_ref(), app.now())
    };
    Ok(rows.into_iter().map(record).collect())
}

async fn known(conn: &mut Conn, organization_id: Uuid) -> Result<(Choice, HashMap<String, CertificateOrder>)> {
    let choice = Choice::new(certificates::scopes_of_organization(conn, organization_id).await?);
    let orders = certificate_orders::of_organization(conn, organization_id).await?;
    Ok((choice, orders.into_iter().map(|order| (order.domain.clone(), order)).collect()))
}

fn is_ordering(app: &App) -> bool {
    !app.config.acme.directories.is_empty()
}

/// `POST /domains/{domain}/retry`: what waits for its next attempt is tried now.
pub async fn retry(app: &App, authority: &Authority, domain: &HostName) -> Result<api::Domain> {
    let now = app.now();
    let mut work = app.begin().await?;
    let authority = work.hold(authority).await?;
    let organization_id = authority.organization_id();
    let row = domains::get(&mut work, domain).await?;
    let row = row.filter(|row| row.organization_id == organization_id);
    let row = row.ok_or_else(|| Error::not_found("domain"))?;
    let order = certificate_orders::of_domain(&mut work, domain).await?;
    let order = order.filter(|order| order.organization_id == organization_id && is_ordering(app));
    let Some(mut order) = order else {
        let message = format!("No certificate is ordered for {}.", row.domain);
        return Err(Error::new(ErrorCode::Conflict, message));
    };
    if order.problem.is_empty() {
        let message = format!("The last order for {} has not failed.", row.domain);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    refuse_too_soon(&order, now)?;
    (order.next_at, order.problem) = (now, String::new());
    certificate_orders::update(&mut work, &order).await?;
    if !jobs::has_key(&mut work, &queue::certificate_order_key(order.id)).await? {
        work.enqueue(&queue::certificate_order(organization_id, app.new_id(), order.id)).await?;
    }
    let change = Change {
        organization_id: Some(organization_id),
        action: Action::Update,
        resource: Resource::Certificate,
        resource_id: order.id,
        summary: &format!("asked for a certificate for {} again", row.domain),
        details: &[("domain", &row.domain)],
    };
    work.record(&authority.actor(), &change);
    let (choice, _) = known(&mut work, organization_id).await?;
    let record = records::domain(row, choice.of(organization_id, domain, now), Some(&order), now);
    work.commit().await?;
    Ok(record)
}

fn refuse_too_soon(order: &CertificateOrder, now: Timestamp) -> Result<()> {
    let left = |least: u64, at: Timestamp| least.saturating_sub(at.seconds_until(now));
    let after_order = order.ordered_at.map_or(0, |at| left(LEAST_SECONDS_OF_ORDERS, Timestamp::from_micros(at)));
    match left(LEAST_SECONDS, order.updated_at).max(after_order) {
        0 => Ok(()),
        wait => Err(Error::rate_limited(format!("It was tried a moment ago. Try again in {wait} s."), wait)),
    }
}
