//! Log lines.
//!
//! In an answer of their own, ApplicationLog ▸ application ▸ organization, user, status, and ApplicationLog ▸
//! deployment ▸ status; in every other record both are cut off.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use uuid::Uuid;
use windlass_api as api;
use windlass_api::{ApplicationDeployment, ApplicationLog, Link};
use windlass_store::Conn;
use windlass_store::applications::Application;
use windlass_store::deployments::{self, Shown};
use windlass_store::logs::{Bounds, LogStore, Of, Query, Stored, line_id};

use super::applications::{ApplicationViewer, bare_application, bare_deployment};
use crate::error::{Error, Result};

/// Lines in a record of something else.
pub const EMBEDDED: usize = 100;
/// They are in one or two chunks; this is for a store that does not answer.
const EMBEDDED_READ_LIMIT: Duration = Duration::from_secs(5);
/// What an answer may have as JSON, about: its application stands in each of its lines, with all its variables.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// What a line has beside its text and its relations, about.
const LINE_BYTES: usize = 500;

/// The newest lines, newest first.
pub async fn newest(store: &LogStore, application_id: Uuid, of: Of) -> Result<Vec<ApplicationLog>> {
    let query = Query { of, filter: Arc::default() };
    let bounds = Bounds { lines: EMBEDDED, until: Instant::now() + EMBEDDED_READ_LIMIT, turn: None };
    let page = store.before(&query, i64::MAX, 0, bounds).await?;
    Ok(page.lines.into_iter().map(|line| log(application_id, line)).collect())
}

/// With the newest lines. To be called outside of transactions: the log store is another database, and what goes wrong
/// there does not keep a caller from seeing or changing the rest.
pub async fn with_lines(store: &LogStore, record: api::Application) -> api::Application {
    let logs = newest_lines(store, record.id, Of::Application(record.id)).await;
    api::Application { logs, ..record }
}

pub async fn deployment_with_lines(store: &LogStore, record: ApplicationDeployment) -> ApplicationDeployment {
    let logs = newest_lines(store, record.application_id, Of::Deployment(record.id)).await;
    ApplicationDeployment { logs, ..record }
}

async fn newest_lines(store: &LogStore, application_id: Uuid, of: Of) -> Vec<ApplicationLog> {
    newest(store, application_id, of).await.unwrap_or_else(|error| {
        tracing::warn!(cause = error.cause, %application_id, "log lines cannot be read, so a record has none");
        Vec::new()
    })
}

/// With their application and their deployments, each of which is written once however many lines have it. As many
/// lines as fit into an answer, and at least one.
pub async fn with_relations(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    row: &Application,
    lines: Vec<Stored>,
) -> Result<Vec<ApplicationLog>> {
    let application = Link::shared(&bare_application(conn, viewer, row).await?).map_err(Error::internal)?;
    let deployments = deployments_of(conn, viewer, &lines).await?;
    let (mut logs, mut bytes) = (Vec::new(), 0);
    for line in lines {
        // One that is not remembered any more has left its lines behind.
        let application_deployment = deployments.get(&line.deployment_id).cloned().unwrap_or_default();
        bytes += LINE_BYTES + json_size(&line.line.text);
        bytes += application.written_size() + application_deployment.written_size();
        if bytes > ANSWER_BYTES && !logs.is_empty() {
            break;
        }
        logs.push(ApplicationLog { application: application.clone(), application_deployment, ..log(row.id, line) });
    }
    Ok(logs)
}

/// No less than the text takes as JSON.
fn json_size(text: &str) -> usize {
    let size = |byte: u8| match byte {
        b'"' | b'\\' => 2,
        0..0x20 => 6,
        _ => 1,
    };
    text.bytes().map(size).sum()
}

async fn deployments_of(
    conn: &mut Conn,
    viewer: &ApplicationViewer<'_>,
    lines: &[Stored],
) -> Result<HashMap<Uuid, Link<ApplicationDeployment>>> {
    let mut ids: Vec<Uuid> = lines.iter().map(|line| line.deployment_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let written = |shown: Shown| {
        let record = bare_deployment(viewer, shown);
        Link::shared(&record).map(|link| (record.id, link)).map_err(Error::internal)
    };
    deployments::shown_among(conn, &ids).await?.into_iter().map(written).collect()
}

/// With its application and its deployment cut off.
pub fn log(application_id: Uuid, stored: Stored) -> ApplicationLog {
    let Stored { seq, deployment_id, line } = stored;
    ApplicationLog {
        id: line_id(application_id, seq, line.at),
        application_id,
        application: Link::Cut,
        application_deployment_id: deployment_id,
        application_deployment: Link::Cut,
        log: line.text,
        created_at: line.at,
        updated_at: line.at,
        stream: line.stream,
        step: line.step,
        service: line.service,
        cursor: seq.to_string(),
    }
}
