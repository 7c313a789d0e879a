//! Reads the outbox and leaves a notice for each destination that is to hear. Notices and cursor are written in one transaction, so a
//! crash loses nothing and doubles nothing.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_durable::kill_point;
use windlass_store::Kind as DatabaseKind;
use windlass_store::events::{self, Event};
use windlass_store::logs::Of;
use windlass_store::notices::{self, Notice};

use super::audience::Audience;
use super::messages::{self, Around, Happened, Kind};
use super::queue::{waiting, wake};
use crate::app::App;
use crate::engine_health::EngineState;
use crate::error::Result;
use crate::service::queue::Destination;
use crate::service::work::Work;

const CONSUMER: &str = "notices";
/// Events that are read at once.
const BATCH: i64 = 200;
/// With so many notices a batch ends; what is left of its events is the next one's.
const MOST_NOTICES: usize = 1_000;
/// For the log lines of all events of a batch; messages without them are sent all the same.
const LINES_LIMIT: Duration = Duration::from_secs(2);
/// Other servers write to a shared database without telling this one.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A request that was given up in the moment of its commit has told no consumer.
const LOOK_ANYWAY_EVERY: Duration = Duration::from_secs(5);
/// Between two tries while the database does not answer.
const PAUSE: Duration = Duration::from_secs(1);

const TOO_MANY: &str = "too many notices of the organization were waiting (organization-notices)";

/// Runs until it is dropped.
pub async fn run(app: Arc<App>) {
    let mut news = app.events_written.subscribe();
    let look_every = if app.db.kind() == DatabaseKind::Postgres { LOOK_EVERY } else { LOOK_ANYWAY_EVERY };
    let mut consumer = Consumer::default();
    loop {
        // The other installation tells of the same.
        if matches!(app.engine_health.seen(), EngineState::HeldByAnother { .. }) {
            tokio::time::sleep(LOOK_ANYWAY_EVERY).await;
            continue;
        }
        match consumer.read(&app).await {
            Ok(true) => continue,
            Ok(false) => {}
            Err(error) => {
                tracing::warn!(cause = error.cause, "events could not be made into notices; trying again");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        }
        let _ = tokio::time::timeout(look_every, news.changed()).await;
    }
}

#[derive(Default)]
pub struct Consumer {
    /// How far it has come, as far as this server knows.
    cursor: Option<i64>,
}

/// What was read of some events before the transaction.
struct Batch {
    events: Vec<Event>,
    audiences: HashMap<Uuid, Audience>,
    /// The ends of logs, by the numbers of events.
    last_lines: HashMap<i64, String>,
}

impl Consumer {
    /// One round. True when there may be more.
    pub async fn read(&mut self, app: &App) -> Result<bool> {
        let cursor = match self.cursor {
            Some(cursor) => cursor,
            None => self.begin(app).await?,
        };
        let batch = prepare(app, cursor).await?;
        let Some(last) = batch.events.last().map(|event| event.seq) else { return Ok(false) };
        let mut work = app.begin_step().await?;
        // Holds it: of several servers one writes the notices of an event.
        let stored = events::cursor(&mut work, CONSUMER).await?;
        if stored != cursor {
            self.cursor = Some(stored);
            return Ok(true);
        }
        let come_to = write(&mut work, &batch).await?.unwrap_or(last);
        events::move_cursor(&mut work, CONSUMER, come_to).await?;
        kill_point::reached("notices-made");
        work.commit().await?;
        kill_point::reached("notices-written");
        self.cursor = Some(come_to);
        Ok(come_to < last || batch.events.len() as i64 == BATCH)
    }

    /// At the very first start it begins with what happens from then on.
    async fn begin(&mut self, app: &App) -> Result<i64> {
        let mut work = app.begin_step().await?;
        let cursor = events::cursor(&mut work, CONSUMER).await?;
        work.commit().await?;
        self.cursor = Some(cursor);
        Ok(cursor)
    }
}

/// Everything that takes long is read before the transaction, which others wait for.
async fn prepare(app: &App, cursor: i64) -> Result<Batch> {
    let mut conn = app.db.read().await?;
    let events = events::after(&mut conn, cursor, BATCH).await?;
    let (mut audiences, mut last_lines) = (HashMap::new(), HashMap::new());
    let organizations: HashSet<_> = events.iter().map(|event| event.organization_id).collect();
    for id in organizations {
        if let Some(audience) = Audience::of(&mut conn, id).await? {
            audiences.insert(id, audience);
        }
    }
    drop(conn);
    let logs: Vec<_> = events.iter().filter_map(|event| Some((event.seq, heard_logs(event, &audiences)?))).collect();
    let read = |of| messages::last_lines(&app.logs.store, of);
    // One that is read when the time is up is left out as well.
    let _ = tokio::time::timeout(LINES_LIMIT, read_lines(logs, read, &mut last_lines)).await;
    Ok(Batch { events, audiences, last_lines })
}

/// Whose last lines go with an event, if any hears of it.
fn heard_logs(event: &Event, audiences: &HashMap<Uuid, Audience>) -> Option<Of> {
    let happened = Happened::new(event);
    let is_heard = !audiences.get(&event.organization_id)?.hearing(&happened, false).is_empty();
    happened.logs().filter(|_| is_heard)
}

async fn read_lines<F: Future<Output = String>>(
    logs: Vec<(i64, Of)>,
    read: impl Fn(Of) -> F,
    into: &mut HashMap<i64, String>,
) {
    for (seq, of) in logs {
        into.insert(seq, read(of).await);
    }
}

/// The number of the event that it has come to; none without any.
async fn write(work: &mut Work<'_>, batch: &Batch) -> Result<Option<i64>> {
    let public_url = work.app.config.public_url();
    let (mut written, mut destinations) = (Vec::new(), HashSet::<Destination>::new());
    let mut come_to = None;
    for event in &batch.events {
        if written.len() >= MOST_NOTICES {
            break;
        }
        come_to = Some(event.seq);
        let happened = Happened::new(event);
        let Some(audience) = batch.audiences.get(&event.organization_id) else { continue };
        let is_recovery = is_recovery(work, &happened).await?;
        let hearing = audience.hearing(&happened, is_recovery);
        if hearing.is_empty() {
            continue;
        }
        let around = Around {
            organization: &audience.organization.name,
            public_url: &public_url,
            last_lines: batch.last_lines.get(&event.seq).map_or("", String::as_str),
            is_recovery,
        };
        let message = messages::message(&happened, &around);
        for destination in hearing {
            let notice = waiting(work.app, &destination, &message)?;
            written.push(Notice {
                position: event.seq,
                event: event.name.as_str().to_owned(),
                needs: event.name.needs().as_str().to_owned(),
                application_id: event.application_id,
                ..notice
            });
            destinations.insert(destination);
        }
    }
    notices::insert_all(work, &written).await?;
    // Always in the same order, and before notices are changed: two transactions that hold jobs must not wait for each other.
    let mut in_order: Vec<_> = destinations.iter().map(|destination| (destination.key(), destination)).collect();
    in_order.sort_by(|(one, _), (other, _)| one.cmp(other));
    for (_, destination) in in_order {
        wake(work, destination).await?;
    }
    let organizations: HashSet<_> = destinations.iter().filter_map(|destination| destination.organization_id).collect();
    for organization_id in organizations {
        bound(work, organization_id).await?;
    }
    Ok(come_to)
}

/// Remembers what has failed, and whether what has succeeded had failed before. So it is known whatever was chosen then.
async fn is_recovery(work: &mut Work<'_>, happened: &Happened<'_>) -> Result<bool> {
    let Some(subject) = happened.trouble() else { return Ok(false) };
    let (organization_id, now) = (happened.event.organization_id, work.app.now());
    match messages::of(happened.event.name).kind {
        Kind::Success(..) => Ok(notices::end_trouble(work, organization_id, &subject).await?),
        _ => {
            notices::begin_trouble(work, organization_id, &subject, now).await?;
            Ok(false)
        }
    }
}

/// The oldest give way when too many wait.
async fn bound(work: &mut Work<'_>, organization_id: Uuid) -> Result<()> {
    let (most, now) = (work.app.config.organization_notices, work.app.now());
    let count = notices::count_waiting(work, organization_id).await?;
    if count > most {
        notices::drop_oldest(work, organization_id, count - most, TOO_MANY, now).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of one log that cannot be read keep no other event waiting for longer than the limit of all.
    #[tokio::test]
    async fn what_was_read_in_time_is_kept() {
        let logs = (0..5).map(|seq| (seq, Of::Deployment(Uuid::from_u128(1)))).collect();
        let mut read = HashMap::new();
        let asked = std::cell::Cell::new(0);
        let reading = |_| {
            let is_third = asked.replace(asked.get() + 1) == 2;
            async move {
                if is_third {
                    std::future::pending::<()>().await;
                }
                "line".to_owned()
            }
        };
        let limit = Duration::from_millis(200);
        assert!(tokio::time::timeout(limit, read_lines(logs, reading, &mut read)).await.is_err());
        assert_eq!(read.len(), 2);
    }
}
