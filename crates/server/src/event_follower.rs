//! A caller that follows the events of an organization: the first consumer of the outbox. Its cursor is the id that it has seen last,
//! which it keeps itself.

use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use uuid::Uuid;
use windlass_api::{ErrorCode, Event, EventName};
use windlass_store::{Kind, events};

use crate::auth::{Authority, Ctx};
use crate::error::Result;
use crate::streams::OpenStream;

/// How long a client is to wait before it comes again.
const RETRY_MILLIS: u32 = 1_000;
/// Events that are read at once.
const BATCH: i64 = 100;
/// Other servers write to a shared database without telling this one.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Between two tries while the database does not answer.
const PAUSE: Duration = Duration::from_secs(1);

pub struct EventFollower {
    ctx: Ctx,
    organization_id: Uuid,
    /// What the caller may see, as of the last time it was checked.
    names: Vec<EventName>,
    /// The last event that was sent, or looked at and left out.
    cursor: i64,
    news: watch::Receiver<()>,
    stopping: watch::Receiver<bool>,
    next_beat: Instant,
    first: Option<Bytes>,
    /// There may be more than was looked at.
    is_behind: bool,
    _open: OpenStream,
}

impl EventFollower {
    /// After the event with this id, else with what happens from now on.
    pub async fn begin(ctx: Ctx, authority: &Authority, open: OpenStream, after: Option<i64>) -> Result<Self> {
        // Before anything is read, so that nothing comes in between unseen.
        let (news, stopping) = (ctx.app.events_written.subscribe(), ctx.app.stopping.subscribe());
        let mut conn = ctx.app.db.read().await?;
        let (oldest, newest) = (events::first_seq(&mut conn).await? - 1, events::last_seq(&mut conn).await?);
        drop(conn);
        let cursor = after.unwrap_or(newest).clamp(oldest, newest);
        let mut first = format!("retry: {RETRY_MILLIS}\nid: {cursor}\n\n");
        if after.is_some_and(|after| after != cursor && after > 0) {
            // Some were removed meanwhile, or the database was put back to an earlier time.
            first.push_str(&format!("id: {cursor}\nevent: gap\ndata: {{}}\n\n"));
        }
        Ok(Self {
            organization_id: authority.organization_id(),
            names: visible_names(authority),
            cursor,
            news,
            stopping,
            next_beat: Instant::now() + ctx.app.searches.heartbeat,
            first: Some(first.into()),
            is_behind: true,
            _open: open,
            ctx,
        })
    }

    /// The next events. Nothing when the server stops, or when the caller may not follow any more.
    pub async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            if *self.stopping.borrow() {
                return None;
            }
            if Instant::now() >= self.next_beat {
                return self.beat().await;
            }
            if !self.is_behind {
                self.wait().await?;
                continue;
            }
            let events = self.read().await?;
            if !events.is_empty() {
                return Some(events);
            }
        }
    }

    /// A comment for proxies, and an id, so that the client does not come again for what it has seen or may not see.
    async fn beat(&mut self) -> Option<Bytes> {
        self.next_beat = Instant::now() + self.ctx.app.searches.heartbeat;
        let look = async {
            let again = self.ctx.again().await?;
            Ok(visible_names(&again.organization(Some(self.organization_id)).await?))
        };
        match look.await {
            Ok(names) => self.names = names,
            // While that cannot be told, a caller that could follow before still can.
            Err(crate::error::Error { code: ErrorCode::Unavailable, .. }) => {}
            Err(_) => return None,
        }
        Some(format!(":\nid: {}\n\n", self.cursor).into())
    }

    /// Until something happened, or it is time for something else.
    async fn wait(&mut self) -> Option<()> {
        let is_shared = self.ctx.app.db.kind() == Kind::Postgres;
        tokio::select! {
            stopping = self.stopping.changed() => stopping.ok()?,
            news = self.news.changed() => {
                news.ok()?;
                self.is_behind = true;
            }
            // Looks too: a request that was given up in the moment of its commit has told no follower.
            () = sleep_until(self.next_beat) => self.is_behind = true,
            () = sleep(LOOK_EVERY), if is_shared => self.is_behind = true,
        }
        Some(())
    }

    /// From the outbox; nothing when that is over for good.
    async fn read(&mut self) -> Option<Bytes> {
        match self.read_batch().await {
            Ok(events) => Some(events),
            Err(error) => {
                let error = crate::error::Error::from(error);
                if error.code != ErrorCode::Unavailable {
                    tracing::error!(cause = error.cause, "a follower of events cannot go on");
                    return None;
                }
                sleep(PAUSE).await;
                Some(Bytes::new())
            }
        }
    }

    async fn read_batch(&mut self) -> windlass_store::Result<Bytes> {
        let mut conn = self.ctx.app.db.read().await?;
        // Read first: what is written meanwhile is looked at the next time.
        let newest = events::last_seq(&mut conn).await?;
        if newest <= self.cursor {
            self.is_behind = false;
            return Ok(Bytes::new());
        }
        let batch =
            events::of_organization_after(&mut conn, self.organization_id, &self.names, self.cursor, BATCH).await?;
        drop(conn);
        self.is_behind = batch.len() as i64 == BATCH;
        let reached = if self.is_behind { 0 } else { newest };
        self.cursor = batch.last().map_or(0, |event| event.seq).max(reached).max(self.cursor);
        Ok(batch.iter().filter_map(written).collect::<Vec<_>>().concat().into())
    }
}

/// The events whose subjects the caller may read.
fn visible_names(authority: &Authority) -> Vec<EventName> {
    EventName::ALL.iter().copied().filter(|name| authority.may(name.needs())).collect()
}

fn written(row: &events::Event) -> Option<String> {
    let seq = row.seq;
    let event = Event {
        id: seq,
        name: row.name,
        organization_id: row.organization_id,
        application_id: row.application_id,
        deployment_id: row.deployment_id,
        details: serde_json::from_str(&row.details).unwrap_or_default(),
        created_at: row.created_at,
    };
    let data = serde_json::to_string(&event).ok()?;
    Some(format!("id: {seq}\ndata: {data}\n\n"))
}
