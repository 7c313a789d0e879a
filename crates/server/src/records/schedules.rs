//! Schedules, each with the newest of its runs.

use windlass_api as api;
use windlass_api::{MASK, TimeZone, Timestamp};
use windlass_store::runs::Run;
use windlass_store::schedules::Schedule;

use super::runs::run;

/// A command can hold what the caller may not read.
pub fn schedule(row: Schedule, last: Option<Run>, sees_values: bool) -> api::Schedule {
    api::Schedule {
        id: row.id,
        application_id: row.application_id,
        name: row.name,
        cron: row.cron,
        time_zone: TimeZone::Utc,
        command: if sees_values { row.command } else { MASK.to_owned() },
        service: row.service,
        overlap: row.overlap,
        enabled: row.next_at.is_some(),
        timeout_seconds: row.timeout_seconds,
        keep: row.kept_runs,
        next_run_at: row.next_at.map(Timestamp::from_micros),
        last_run: last.map(|last| run(last, sees_values)),
        created_at: row.created_at,
        updated_at: row.updated_at,
    }
}
