//! What expires is removed, so that tables stay small.

use std::sync::Arc;
use std::time::Duration;

use windlass_store::{
    Result, alarms, api_keys, certificates, deliveries, domain_settings, email_changes, events, extensions,
    freed_domains, github_apps, idempotency_keys, invitations, notices, outages, password_resets, placed_orders,
    sessions, traffic, uploads as upload_rows, uptime_checks,
};

use crate::app::App;
use crate::service::{idempotency, previews};
use crate::traffic::{KEPT_MINUTES, MINUTE_MICROS};
use crate::uploads;

/// An expired API key stays listed for a while, so that its owner sees why it stopped working.
const EXPIRED_KEYS_SECONDS: i64 = 30 * 86_400;

/// A certificate that Windlass has ordered stays listed for a while after its end.
const ENDED_CERTIFICATES_SECONDS: i64 = 30 * 86_400;

/// For so long orders of certificates are counted.
const PLACED_ORDERS_SECONDS: i64 = 7 * 86_400;

/// What was said about a domain that leads nowhere is forgotten, if it was said longer ago than this.
const SETTINGS_SECONDS: i64 = 30 * 86_400;

/// What is well again is told no more often than once a minute, which takes no longer memory than this.
const ALARMS_SECONDS: i64 = 86_400;

/// Uptime checks are kept for so long one by one, and by hours for longer, with the outages.
const UPTIME_CHECKS_SECONDS: i64 = 86_400;
const UPTIME_SECONDS: i64 = 90 * 86_400;

const UPTIME_AT_ONCE: i64 = 1_000;
const TRAFFIC_AT_ONCE: i64 = 1_000;
const EVENTS_AT_ONCE: i64 = 1_000;
const NOTICES_AT_ONCE: i64 = 1_000;
const DELIVERIES_AT_ONCE: i64 = 1_000;
const EXTENSIONS_AT_ONCE: i64 = 1_000;
const INTERVAL: Duration = Duration::from_secs(3_600);

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut ticks = tokio::time::interval(INTERVAL);
    loop {
        ticks.tick().await;
        match previews::end_idle(&app).await {
            Ok(0) => {}
            Ok(ended) => tracing::info!(ended, "removed previews that were not deployed for long"),
            Err(error) => {
                tracing::warn!(cause = ?error.cause, "could not remove idle previews; trying again in an hour");
            }
        }
        if let Err(error) = uploads::sweep(&app).await {
            tracing::warn!(cause = ?error.cause, "could not remove the files of old uploads; trying again in an hour");
        }
        match sweep(&app).await {
            Ok(0) => {}
            Ok(removed) => tracing::info!(removed, "removed what had expired"),
            Err(error) => tracing::warn!(%error, "could not remove what has expired; trying again in an hour"),
        }
    }
}

pub async fn sweep(app: &App) -> Result<u64> {
    let now = app.now();
    // Each table in a transaction of its own: the removal of a member meets them in another order.
    let mut tx = app.db.begin().await?;
    let mut removed = sessions::delete_expired(&mut tx, now).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += invitations::delete_expired(&mut tx, now).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += password_resets::delete_expired(&mut tx, now).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += email_changes::delete_expired(&mut tx, now).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += github_apps::delete_expired(&mut tx, now).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += api_keys::delete_expired(&mut tx, now.plus_seconds(-EXPIRED_KEYS_SECONDS)).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += idempotency_keys::delete_older_than(&mut tx, now.plus_seconds(-idempotency::SECONDS)).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += freed_domains::forget_before(&mut tx, now.plus_seconds(-app.config.domain_hold_seconds)).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += domain_settings::forget_unused(&mut tx, now.plus_seconds(-SETTINGS_SECONDS)).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += extensions::purge(&mut tx, EXTENSIONS_AT_ONCE).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += certificates::delete_ended(&mut tx, now.plus_seconds(-ENDED_CERTIFICATES_SECONDS)).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += placed_orders::forget_before(&mut tx, now.plus_seconds(-PLACED_ORDERS_SECONDS)).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += upload_rows::delete_expired(&mut tx, now).await?;
    tx.commit().await?;
    let mut tx = app.db.begin().await?;
    removed += alarms::forget_before(&mut tx, now.plus_seconds(-ALARMS_SECONDS)).await?;
    tx.commit().await?;
    removed += forget_uptime(app).await?;
    removed += forget_traffic(app).await?;
    removed += forget_deliveries(app).await?;
    removed += forget_events(app).await?;
    removed += forget_notices(app).await?;
    Ok(removed)
}

/// Those that are too old, and those of which an organization has too many; a little at a time, as below. What failed and did not succeed
/// for as long is forgotten too.
async fn forget_notices(app: &App) -> Result<u64> {
    let before = app.now().plus_seconds(-app.config.kept_notice_seconds);
    let mut tx = app.db.begin().await?;
    let mut forgotten = notices::forget_troubles_before(&mut tx, before).await?;
    tx.commit().await?;
    loop {
        let mut tx = app.db.begin().await?;
        let some = notices::forget_before(&mut tx, before, NOTICES_AT_ONCE).await?;
        tx.commit().await?;
        forgotten += some;
        if some == 0 {
            break;
        }
    }
    let most = app.config.kept_notices;
    for organization_id in notices::organizations_with_more_than(&mut app.db.read().await?, most).await? {
        loop {
            let mut tx = app.db.begin().await?;
            let some = notices::forget_beyond(&mut tx, organization_id, most, NOTICES_AT_ONCE).await?;
            tx.commit().await?;
            forgotten += some;
            if some == 0 {
                break;
            }
        }
    }
    Ok(forgotten)
}

/// A little at a time, as below.
async fn forget_uptime(app: &App) -> Result<u64> {
    let (of_checks, of_rest) =
        (app.now().plus_seconds(-UPTIME_CHECKS_SECONDS), app.now().plus_seconds(-UPTIME_SECONDS));
    let mut forgotten = 0;
    loop {
        let mut tx = app.db.begin().await?;
        let some = uptime_checks::forget_before(&mut tx, of_checks, UPTIME_AT_ONCE).await?
            + uptime_checks::forget_hours_before(&mut tx, of_rest).await?
            + outages::forget_before(&mut tx, of_rest, UPTIME_AT_ONCE).await?;
        tx.commit().await?;
        forgotten += some;
        if some == 0 {
            return Ok(forgotten);
        }
    }
}

/// A little at a time, as below.
async fn forget_traffic(app: &App) -> Result<u64> {
    let before = app.now().micros() / MINUTE_MICROS - KEPT_MINUTES;
    let mut forgotten = 0;
    loop {
        let mut tx = app.db.begin().await?;
        let some = traffic::delete_before(&mut tx, before, TRAFFIC_AT_ONCE).await?;
        tx.commit().await?;
        forgotten += some;
        if some == 0 {
            return Ok(forgotten);
        }
    }
}

/// A little at a time, as below.
async fn forget_deliveries(app: &App) -> Result<u64> {
    let before = app.now().plus_seconds(-app.config.delivery_seconds);
    let mut forgotten = 0;
    loop {
        let mut tx = app.db.begin().await?;
        let some = deliveries::forget_before(&mut tx, before, DELIVERIES_AT_ONCE).await?;
        tx.commit().await?;
        forgotten += some;
        if some == 0 {
            return Ok(forgotten);
        }
    }
}

/// A little at a time: others write meanwhile.
async fn forget_events(app: &App) -> Result<u64> {
    let before = app.now().plus_seconds(-app.config.event_seconds);
    let mut forgotten = 0;
    loop {
        let mut tx = app.db.begin().await?;
        let some = events::forget_before(&mut tx, before, EVENTS_AT_ONCE).await?;
        tx.commit().await?;
        forgotten += some;
        if some == 0 {
            return Ok(forgotten);
        }
    }
}
