//! Command runs. They embed nothing.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{MASK, Timestamp};
use windlass_store::logs::{LogStore, Stored, line_id};
use windlass_store::runs::Run;

/// A command can hold what the caller may not read.
pub fn run(row: Run, sees_values: bool) -> api::CommandRun {
    api::CommandRun {
        id: row.id,
        application_id: row.application_id,
        schedule_id: row.schedule_id,
        schedule_name: row.schedule_name,
        scheduled_at: row.scheduled_at.map(Timestamp::from_micros),
        user_id: row.user_id,
        actor: row.actor,
        command: if sees_values { row.command } else { MASK.to_owned() },
        service: row.service,
        timeout_seconds: row.timeout_seconds,
        status: row.status,
        exit_code: row.exit_code,
        reason: row.reason,
        log_seq: 0,
        deployment_id: row.deployment_id,
        release_id: row.release_id,
        created_at: row.created_at,
        started_at: row.started_at.map(Timestamp::from_micros),
        completed_at: row.finished_at.map(Timestamp::from_micros),
    }
}

/// To be called outside of transactions: the log store is another database.
pub async fn with_lines(store: &LogStore, record: api::CommandRun) -> api::CommandRun {
    let log_seq = store.next_seq(record.id).await.map_or(0, |next| next - 1);
    api::CommandRun { log_seq, ..record }
}

pub fn log(run_id: Uuid, stored: Stored) -> api::CommandRunLog {
    let Stored { seq, line, .. } = stored;
    api::CommandRunLog {
        id: line_id(run_id, seq, line.at),
        run_id,
        message: line.text,
        stream: line.stream,
        sequence: seq,
        created_at: line.at,
    }
}
