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
use crate::service::work::Work;

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
    if !order.problem.is_empty() {
        refuse_too_soon(&order, now)?;
    }
    if !certificate_orders::try_now(&mut work, order.id, now).await? {
        let message = format!("The last order for {} has not failed.", row.domain);
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    (order.next_at, order.problem) = (now, String::new());
    queue_job(&mut work, &order).await?;
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

/// False when a job of it waits or is worked on.
pub async fn queue_job(work: &mut Work<'_>, order: &CertificateOrder) -> windlass_store::Result<bool> {
    if jobs::has_key(work, &queue::certificate_order_key(order.id)).await? {
        return Ok(false);
    }
    let job = queue::certificate_order(order.organization_id, work.app.new_id(), order.id);
    certificate_orders::set_job(work, order.id, job.id).await?;
    work.enqueue(&job).await?;
    Ok(true)
}

fn refuse_too_soon(order: &CertificateOrder, now: Timestamp) -> Result<()> {
    let left = |least: u64, at: Timestamp| least.saturating_sub(at.seconds_until(now));
    let after_order = order.ordered_at.map_or(0, |at| left(LEAST_SECONDS_OF_ORDERS, Timestamp::from_micros(at)));
    let after_attempt = left(LEAST_SECONDS, order.updated_at);
    let wait = after_order.max(after_attempt);
    let message = match wait {
        0 => return Ok(()),
        _ if after_order > after_attempt => {
            format!(
                "The certificate authority was asked within the last 15 minutes, and counts what fails. Try again in {wait} s."
            )
        }
        _ => format!("It was tried a moment ago. Try again in {wait} s."),
    };
    Err(Error::rate_limited(message, wait))
}
