//! A client that follows log lines.
//!
//! Nothing is made for a follower until the client takes it: a follower has no task and no queue. One that keeps up is
//! given what the writer has just stored, encoded once for all followers; one that does not keep up reads the store
//! from where it is.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use uuid::Uuid;
use windlass_api::ErrorCode;
use windlass_store::logs::{LogLine, Of, Page, Query, Stored};

use super::Published;
use super::searches::may_still_read;
use crate::app::App;
use crate::auth::Ctx;
use crate::error::{Error, Result};
use crate::records;
use crate::streams::OpenStream;

/// How long a client is to wait before it comes again.
const RETRY_MILLIS: u32 = 1_000;
/// Lines that are read at once for a follower that is behind.
const LINES: usize = 200;
/// How long one read may take. The next one goes on from there.
const READ_LIMIT: Duration = Duration::from_secs(1);
/// Text that is searched without looking at the time.
const SEARCHED_AT_ONCE: usize = 64 * 1024;
/// Text that an async thread encodes itself.
const ENCODED_IN_PLACE: usize = 16 * 1024;
/// Other servers write to a shared store without telling this one.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Between two tries while the store does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// What is followed: its lines have numbers of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    Application(Uuid),
    Execution(Uuid),
    Run(Uuid),
}

impl Followed {
    fn id(self) -> Uuid {
        match self {
            Self::Application(id) | Self::Execution(id) | Self::Run(id) => id,
        }
    }
}

/// Where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With so many of the newest lines.
    Newest(usize),
    /// After this one; 0 stands for the oldest that is kept.
    After(i64),
}

pub struct Follower {
    ctx: Ctx,
    followed: Followed,
    query: Query,
    /// The last line that was sent, or looked at and left out.
    cursor: i64,
    /// There may be more in the store than was looked at.
    is_behind: bool,
    news: watch::Receiver<Option<Arc<Published>>>,
    stopping: watch::Receiver<bool>,
    next_beat: Instant,
    next_look: Instant,
    first: Option<Bytes>,
    open: OpenStream,
}

impl Follower {
    pub async fn begin(ctx: Ctx, open: OpenStream, followed: Followed, query: Query, start: Start) -> Result<Self> {
        let app = ctx.app.clone();
        // Before anything is read, so that nothing comes in between unseen.
        let news = app.logs.watch(followed.id());
        let (cursor, lines) = begin(&app, &open, followed.id(), &query, start).await?;
        // A client that is cut off before it has seen a line asks again for the same lines.
        let before = lines.first().map_or(cursor, |line| line.seq - 1);
        let mut first = format!("retry: {RETRY_MILLIS}\nid: {before}\n\n").into_bytes();
        first.extend_from_slice(&events(followed, lines).await?);
        let now = Instant::now();
        Ok(Self {
            ctx,
            followed,
            query,
            cursor,
            is_behind: matches!(start, Start::After(_)),
            news,
            stopping: app.stopping.subscribe(),
            next_beat: now + app.searches.heartbeat,
            next_look: now + LOOK_EVERY,
            first: Some(first.into()),
            open,
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
            let events = if self.is_behind { self.read().await? } else { self.wait().await? };
            if !events.is_empty() {
                return Some(events);
            }
        }
    }

    /// A comment, which keeps proxies from closing the connection, and an id, so that a client that reconnects does not
    /// ask again for lines that it has seen or does not want.
    async fn beat(&mut self) -> Option<Bytes> {
        self.next_beat = Instant::now() + self.ctx.app.searches.heartbeat;
        let may = may_still_read(&self.ctx, self.followed).await;
        may.then(|| format!(":\nid: {}\n\n", self.cursor).into())
    }

    /// Until something was printed, or it is time for something else.
    async fn wait(&mut self) -> Option<Bytes> {
        let is_shared = self.ctx.app.logs.store.is_shared();
        tokio::select! {
            stopping = self.stopping.changed() => stopping.ok()?,
            news = self.news.changed() => {
                news.ok()?;
                return Some(self.take_news().await);
            }
            () = sleep_until(self.next_beat) => {}
            () = sleep_until(self.next_look), if is_shared => self.is_behind = true,
        }
        Some(Bytes::new())
    }

    async fn take_news(&mut self) -> Bytes {
        let news = self.news.borrow_and_update().clone();
        let Some(news) = news.filter(|news| news.last_seq() > self.cursor) else { return Bytes::new() };
        match self.events_of(&news).await {
            Some(events) => {
                self.cursor = news.last_seq();
                events
            }
            None => {
                self.is_behind = true;
                Bytes::new()
            }
        }
    }

    /// Of what was just stored; nothing when the store is to be read instead, because lines are missing between or
    /// there is much to search.
    async fn events_of(&self, news: &Arc<Published>) -> Option<Bytes> {
        if news.first_seq() > self.cursor + 1 || self.is_much_to_search(news) {
            return None;
        }
        if self.is_everything() && news.first_seq() == self.cursor + 1 {
            let encode = || all_events(self.followed, self.query.clone(), news.clone());
            let events = if self.query.filter.colors { &news.colored_events } else { &news.plain_events };
            return events.get_or_try_init(encode).await.ok().cloned();
        }
        self.choose(news.clone()).await
    }

    fn is_everything(&self) -> bool {
        self.query.of == Of::Application(self.followed.id()) && self.query.filter.is_empty()
    }

    /// The store searches little by little, and stops when it takes too long.
    fn is_much_to_search(&self, news: &Published) -> bool {
        self.query.filter.has_patterns() && text_bytes(&news.lines) > SEARCHED_AT_ONCE
    }

    /// The events of those lines that are wanted, unless others search for too long. Away from the async threads,
    /// because this takes its time.
    async fn choose(&self, news: Arc<Published>) -> Option<Bytes> {
        let (followed, cursor, query) = (self.followed, self.cursor, self.query.clone());
        let turn = match query.filter.has_patterns() {
            true => {
                let turn = self.ctx.app.searches.turn(self.open.organization_id);
                Some(timeout_at(self.next_beat, turn).await.ok()?)
            }
            false => None,
        };
        let choose = move || {
            let _turn = turn;
            let is_wanted = |line: &&Stored| {
                let is_of = match query.of {
                    Of::Application(_) => true,
                    Of::Deployment(id) => line.deployment_id == id,
                };
                is_of && line.seq > cursor && query.filter.matches(&line.line)
            };
            encode(followed, news.lines.iter().filter(is_wanted).map(|line| as_asked(&query, line)))
        };
        tokio::task::spawn_blocking(choose).await.ok()
    }

    /// From the store; nothing when that is over for good.
    async fn read(&mut self) -> Option<Bytes> {
        let app = self.ctx.app.clone();
        match self.read_page(&app).await {
            Ok(events) => Some(events),
            Err(error) if error.code == ErrorCode::Unavailable => {
                sleep(PAUSE).await;
                Some(Bytes::new())
            }
            Err(error) => {
                tracing::error!(cause = error.cause, followed = %self.followed.id(), "a follower of log lines cannot go on");
                None
            }
        }
    }

    async fn read_page(&mut self, app: &App) -> Result<Bytes> {
        let store = &app.logs.store;
        let head = store.next_seq(self.followed.id()).await?;
        self.next_look = Instant::now() + LOOK_EVERY;
        if head <= self.cursor + 1 {
            self.is_behind = false;
            return Ok(Bytes::new());
        }
        let is_search = !self.query.filter.is_empty();
        let bounds = app.searches.bounds(self.open.organization_id, is_search, LINES, READ_LIMIT);
        // A follower that waits long for its turn is still sent heartbeats.
        let Ok(bounds) = timeout_at(self.next_beat, bounds).await else { return Ok(Bytes::new()) };
        let page = store.after(&self.query, self.cursor, bounds).await?;
        let mut out = self.pass_gap(app, &page, head).await?;
        let reached = match page.lines.last().map(|line| line.seq) {
            // Those behind it were removed if there are none, which the next look tells of.
            Some(last) if self.is_everything() => last,
            last => last.unwrap_or(0).max(head - 1),
        };
        out.extend_from_slice(&events(self.followed, page.lines).await?);
        self.cursor = self.cursor.max(page.next.unwrap_or(reached));
        self.is_behind = page.next.is_some() || self.cursor < head - 1;
        Ok(out.into())
    }

    /// Tells of lines that were removed before they were looked at. Its id keeps the same from being told again.
    async fn pass_gap(&mut self, app: &App, page: &Page, head: i64) -> Result<Vec<u8>> {
        let looked_at = page.next.map_or(head, |next| next + 1);
        let begin = page.lines.first().map_or(looked_at, |line| line.seq);
        let missing = app.logs.store.removed_between(self.followed.id(), self.cursor, begin).await?;
        if missing == 0 {
            return Ok(Vec::new());
        }
        self.cursor += missing;
        Ok(format!("id: {}\nevent: gap\ndata: {{\"missing\": {missing}}}\n\n", self.cursor).into_bytes())
    }
}

/// Where the follower is then, and the lines to begin with, oldest first.
async fn begin(
    app: &App,
    open: &OpenStream,
    application_id: Uuid,
    query: &Query,
    start: Start,
) -> Result<(i64, Vec<Stored>)> {
    let store = &app.logs.store;
    let head = store.next_seq(application_id).await?;
    match start {
        Start::After(0) => Ok((store.first_seq(application_id).await?.unwrap_or(head) - 1, Vec::new())),
        // A number beyond the end comes from a store that was restored to an earlier time.
        Start::After(seq) => Ok((seq.min(head - 1), Vec::new())),
        Start::Newest(0) => Ok((head - 1, Vec::new())),
        Start::Newest(lines) => {
            let (is_search, limit) = (!query.filter.is_empty(), app.config.search_limit);
            let bounds = app.searches.bounds(open.organization_id, is_search, lines, limit).await;
            let mut lines = store.before(query, i64::MAX, 0, bounds).await?.lines;
            lines.reverse();
            Ok((lines.last().map_or(0, |line| line.seq).max(head - 1), lines))
        }
    }
}

async fn events(followed: Followed, lines: Vec<Stored>) -> Result<Bytes> {
    aside(text_bytes(&lines), move || encode(followed, lines.into_iter())).await
}

async fn all_events(followed: Followed, query: Query, news: Arc<Published>) -> Result<Bytes> {
    aside(text_bytes(&news.lines), move || encode(followed, news.lines.iter().map(|line| as_asked(&query, line)))).await
}

/// Away from the async threads when it is much.
async fn aside(bytes: usize, encode: impl FnOnce() -> Bytes + Send + 'static) -> Result<Bytes> {
    match bytes > ENCODED_IN_PLACE {
        true => tokio::task::spawn_blocking(encode).await.map_err(Error::internal),
        false => Ok(encode()),
    }
}

fn text_bytes(lines: &[Stored]) -> usize {
    lines.iter().map(|line| line.line.text.len()).sum()
}

/// A line that was just stored, as the store would show it.
fn as_asked(query: &Query, stored: &Stored) -> Stored {
    let LogLine { at, stream, step, service, text } = &stored.line;
    let (service, text) = (service.clone(), query.filter.shown(text).into_owned());
    let line = LogLine { at: *at, stream: *stream, step: *step, service, text };
    Stored { seq: stored.seq, deployment_id: stored.deployment_id, line }
}

fn encode(followed: Followed, lines: impl Iterator<Item = Stored>) -> Bytes {
    let mut out = Vec::new();
    lines.for_each(|line| write_event(&mut out, followed, line));
    out.into()
}

fn write_event(out: &mut Vec<u8>, followed: Followed, line: Stored) {
    let length = out.len();
    let written = write!(out, "id: {}\ndata: ", line.seq).map_err(serde_json::Error::io);
    let written = written.and_then(|()| match followed {
        Followed::Application(id) => serde_json::to_writer(&mut *out, &records::logs::log(id, line)),
        Followed::Execution(id) => serde_json::to_writer(&mut *out, &records::executions::log(id, line)),
        Followed::Run(id) => serde_json::to_writer(&mut *out, &records::runs::log(id, line)),
    });
    match written {
        Ok(()) => out.extend_from_slice(b"\n\n"),
        // Our own types always serialise; if one ever does not, half an event must not go out.
        Err(error) => {
            tracing::error!(%error, "a log line could not be written as JSON");
            out.truncate(length);
        }
    }
}
