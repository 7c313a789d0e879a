//! Uptime of an application, its checks and its outages.

use windlass_api as api;
use windlass_api::{Availability, Decimal, Timestamp, UptimeState, Wanted};
use windlass_store::outages::Outage;
use windlass_store::uptime::Uptime;
use windlass_store::uptime_checks::{Counts, UptimeCheck};

use crate::uptime::verdict::shown;

pub fn uptime(row: Uptime, wanted: Wanted, counts: Counts, now: Timestamp) -> api::Uptime {
    let times = (row.interval_seconds, row.timeout_seconds);
    let state = match row.next_at {
        None => UptimeState::Off,
        Some(_) => shown(row.state, wanted, row.checked_at, times, now),
    };
    let is_as_stored = state == row.state;
    let reason = match state {
        UptimeState::Paused if !is_as_stored => "it was stopped".to_owned(),
        UptimeState::NoRecentCheck => "there was no check lately".to_owned(),
        _ if is_as_stored => row.reason,
        _ => String::new(),
    };
    api::Uptime {
        application_id: row.application_id,
        enabled: row.next_at.is_some(),
        path: row.path,
        interval_seconds: row.interval_seconds,
        expected_status: row.expected_status,
        timeout_seconds: row.timeout_seconds,
        failures: row.failures,
        state,
        reason,
        since: Some(row.since).filter(|_| is_as_stored),
        last_check_at: row.checked_at.map(Timestamp::from_micros),
        next_check_at: row.next_at.map(Timestamp::from_micros),
        availability: availability(counts),
    }
}

pub fn availability(counts: Counts) -> Availability {
    Availability {
        last_24_hours: share(counts.up_24_hours, counts.failed_24_hours),
        last_7_days: share(counts.up_7_days, counts.failed_7_days),
        last_30_days: share(counts.up_30_days, counts.failed_30_days),
    }
}

/// In percent, rounded down: what has failed once is never whole.
fn share(up: i64, failed: i64) -> Option<Decimal> {
    let all = up + failed;
    (all > 0).then(|| Decimal::new((up * 100_000 / all) as f64 / 1_000.0))
}

pub fn check(row: UptimeCheck) -> api::UptimeCheck {
    api::UptimeCheck {
        id: row.id,
        result: row.result,
        status: row.status,
        answer_ms: row.answer_ms,
        reason: row.reason,
        checked_at: row.checked_at,
    }
}

pub fn outage(row: Outage) -> api::Outage {
    api::Outage {
        id: row.id,
        started_at: row.started_at,
        ended_at: row.ended_at.map(Timestamp::from_micros),
        recovered: row.recovered,
        reason: row.reason,
    }
}
