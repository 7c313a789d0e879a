//! Executions. ExtensionExecution ▸ extension ▸ variables, and ExtensionExecution ▸ steps, whose execution is cut off.

use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Link, Timestamp};
use windlass_store::executions::{self, Execution, Step};
use windlass_store::logs::{Bounds, LogStore, Of, Query, Stored, line_id};
use windlass_store::{Conn, Result, extensions};

use super::budget::Budget;
use super::extensions as extension_records;

/// Lines in a record.
const SHOWN_LINES: usize = 500;
/// Of those lines, the most bytes.
const SHOWN_BYTES: usize = 64 * 1024;
const READ_LIMIT: Duration = Duration::from_secs(5);

/// With its extension and its steps.
pub async fn full(conn: &mut Conn, row: Execution) -> Result<api::ExtensionExecution> {
    let steps = executions::steps(conn, row.id).await?;
    let extension = match extensions::get(conn, row.extension_id).await? {
        Some(extension) => extension_records::full(conn, extension).await?,
        None => None,
    };
    let extension = extension.map_or(Link::Cut, Link::to);
    let steps = steps.into_iter().map(step).collect();
    Ok(api::ExtensionExecution { extension, steps, ..listed(row) })
}

/// Without its extension, its steps and its lines.
fn listed(row: Execution) -> api::ExtensionExecution {
    api::ExtensionExecution {
        id: row.id,
        extension_id: row.extension_id,
        extension: Link::Cut,
        installation_id: row.installation_id,
        kind: row.kind,
        organization_id: row.organization_id,
        user_id: row.user_id,
        version: row.version,
        content_hash: row.content_hash,
        server_hostname: row.server_hostname,
        status: row.status,
        exit_code: row.exit_code,
        error_message: row.error_message,
        execution_log: String::new(),
        log_seq: 0,
        variable_values: row.variable_values,
        steps: Vec::new(),
        started_at: row.started_at.map(Timestamp::from_micros),
        completed_at: row.completed_at.map(Timestamp::from_micros),
        created_at: row.created_at,
    }
}

/// As they are in a list, in which values are for those who may read variables too.
pub fn all_listed(rows: Vec<Execution>, may_see_values: bool) -> Vec<api::ExtensionExecution> {
    let mut budget = Budget::of_a_list();
    let each = |row| {
        let mut record = as_seen(listed(row), may_see_values);
        budget.spend(&mut [&mut record.variable_values]);
        record
    };
    rows.into_iter().map(each).collect()
}

/// Values are for those who may read variables.
pub fn as_seen(record: api::ExtensionExecution, may_see_values: bool) -> api::ExtensionExecution {
    if may_see_values {
        return record;
    }
    api::ExtensionExecution { variable_values: String::new(), ..record }
}

fn step(row: Step) -> api::ExecutionStep {
    api::ExecutionStep {
        id: row.id,
        execution_id: row.execution_id,
        execution: Link::Cut,
        step_name: row.step_name,
        step_type: row.step_type,
        step_order: row.step_order,
        phase: row.phase,
        status: row.status,
        exit_code: row.exit_code,
        output: row.output,
        undo_status: row.undo_status,
        undo_message: row.undo_message,
        started_at: row.started_at.map(Timestamp::from_micros),
        completed_at: row.completed_at.map(Timestamp::from_micros),
        created_at: row.created_at,
    }
}

/// With the end of what it printed. To be called outside of transactions: the log store is another database, and what
/// goes wrong there does not keep a caller from seeing the rest.
pub async fn with_lines(store: &LogStore, record: api::ExtensionExecution) -> api::ExtensionExecution {
    let execution_log = last_lines(store, Of::Application(record.id)).await;
    let log_seq = store.next_seq(record.id).await.map_or(0, |next| next - 1);
    api::ExtensionExecution { execution_log, log_seq, ..record }
}

/// The newest lines as one text, oldest first; as many as fit.
pub async fn last_lines(store: &LogStore, of: Of) -> String {
    let query = Query { of, filter: Arc::default() };
    let bounds = Bounds { lines: SHOWN_LINES, until: Instant::now() + READ_LIMIT, turn: None };
    let lines = match store.before(&query, i64::MAX, 0, bounds).await {
        Ok(page) => page.lines,
        Err(error) => {
            tracing::warn!(%error, "log lines cannot be read, so a record has none");
            return String::new();
        }
    };
    let mut room = SHOWN_BYTES;
    let fits = |line: &&Stored| {
        let length = line.line.text.len() + 1;
        let fits = length <= room;
        room = room.saturating_sub(length);
        fits
    };
    let mut shown: Vec<_> = lines.iter().take_while(fits).map(|line| line.line.text.as_str()).collect();
    shown.reverse();
    shown.join("\n")
}

pub fn log(execution_id: Uuid, stored: Stored) -> api::ExecutionLog {
    let Stored { seq, deployment_id, line } = stored;
    api::ExecutionLog {
        id: line_id(execution_id, seq, line.at),
        execution_id,
        step_id: deployment_id,
        message: line.text,
        stream: line.stream,
        sequence: seq,
        created_at: line.at,
    }
}
