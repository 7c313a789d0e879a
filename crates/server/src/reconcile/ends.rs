//! Containers that ended, as the engine tells of them: noted for their records, and told of in the log of their deployment.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use windlass_api::LogStep;
use windlass_runtime::{ContainerEvent, ContainerEventKind, Events};
use windlass_store::containers::{self, Purpose, Stage};

use crate::deploy::{self, Result};
use crate::host::Host;
use crate::logs::Secrets;
use crate::subject::Subject;

/// Ends that are told of at once; of more there is nothing to learn.
const MOST_ENDS: usize = 100;
/// Of a container that ended, in its record.
const LAST_LINES: usize = 5;
const LONGEST_LAST_LINE: usize = 500;

/// What was heard of containers at once.
#[derive(Default)]
pub(super) struct Heard {
    pub(super) ends: Vec<End>,
    /// Those of which a process was ended because there was no more memory.
    out_of_memory: HashSet<String>,
}

/// A container that has ended, and with which exit code.
pub(super) struct End {
    name: String,
    exit_code: i64,
}

pub(super) fn hear(host: &Host, event: Option<ContainerEvent>, events: &mut Option<Events>, heard: &mut Heard) {
    match event {
        Some(ContainerEvent { name, kind: ContainerEventKind::OutOfMemory, .. }) => {
            heard.out_of_memory.insert(name);
        }
        Some(ContainerEvent { name, kind: ContainerEventKind::Died { exit_code }, .. }) => {
            host.last_ends.note(&name, exit_code, heard.out_of_memory.remove(&name));
            if heard.ends.len() < MOST_ENDS {
                heard.ends.push(End { name, exit_code });
            }
        }
        Some(_) => {}
        None => *events = None,
    }
}

/// What comes in a swarm is heard at once.
pub(super) async fn pass_over(host: &Host, events: &mut Option<Events>, heard: &mut Heard) {
    while events.is_some() {
        match tokio::time::timeout(Duration::ZERO, next(events)).await {
            Ok(event) => hear(host, event, events, heard),
            Err(_) => return,
        }
    }
}

/// Nothing when there are no more to come.
pub(super) async fn next(events: &mut Option<Events>) -> Option<ContainerEvent> {
    match events {
        Some(events) => events.next().await?.ok(),
        None => std::future::pending().await,
    }
}

/// Beside the passes: the last lines of a container may take a while, and the others must not wait for them.
pub(super) fn tell_ends(telling: &mut JoinSet<()>, host: &Arc<Host>, ends: Vec<End>) {
    while telling.try_join_next().is_some() {}
    for end in ends.into_iter().take(MOST_ENDS.saturating_sub(telling.len())) {
        let host = host.clone();
        telling.spawn(async move {
            if let Err(problem) = tell_end(&host, &end).await {
                tracing::warn!(container = end.name, ?problem, "why it ended could not be told");
            }
        });
    }
}

/// Why a live container ended: its last lines for its record, and a line in the log of its deployment. One that ends again and again
/// is told of there ever more rarely.
async fn tell_end(host: &Host, end: &End) -> Result<()> {
    let row = containers::by_name(&mut host.app.db.read().await?, &end.name).await?;
    let row = row.filter(|row| row.stage == Stage::Live && row.purpose == Purpose::App);
    let Some(row) = row else { return Ok(()) };
    let Some(found) = host.container(&end.name).await? else { return Ok(()) };
    let subject = Subject::load(&host.app, row.deployment_id).await?;
    note_last_lines(host, &found, &Secrets::of(&subject)).await?;
    let restarts = found.restart_count;
    if restarts > 1 && !restarts.is_power_of_two() {
        return Ok(());
    }
    let (log, writer) = deploy::open_log(host, &subject, LogStep::Run);
    let (code, times) = (end.exit_code, restarts.max(1));
    // After the last of what it printed, if that does not take too long.
    if let Err(problem) = host.read_to_end(&end.name).await {
        tracing::debug!(container = end.name, ?problem, "its last lines come later");
    }
    let words =
        format!("The container {} ended with exit code {code} and is started again ({times} times so far).", end.name);
    log.note(words).await;
    drop(log);
    writer.finish().await;
    Ok(())
}

/// What it printed last before it ended. It may have been started again since.
async fn note_last_lines(host: &Host, found: &windlass_runtime::Container, secrets: &Secrets) -> Result<()> {
    let lines = host.last_lines_until(&found.name, LAST_LINES, found.finished_at).await?;
    let shown = |line: &String| secrets.safe_beginning(line).chars().take(LONGEST_LAST_LINE).collect();
    host.last_ends.note_lines(&found.name, lines.iter().map(shown).collect());
    host.app.rows_changed.notify_one();
    Ok(())
}
