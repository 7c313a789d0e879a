//! Reading lines: pages in both directions, and searching.

use std::any::Any;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use regex::Regex;
use sqlx::FromRow;
use uuid::Uuid;
use windlass_api::{LogStep, LogStream, Timestamp};

use super::colors;
use super::pack::{PackedLine, lines, unpack};
use super::{LogLine, LogStore};
use crate::db::sql;
use crate::{Conn, Result};

/// Chunks that are read at first. Most pages are in one or two. A page that needs more reads twice as many each time.
const FEW: usize = 2;
/// About 4 MiB of text.
const MANY: usize = 64;
/// A page has no more text than this, whatever its lines are; it is just shorter, and goes on.
const PAGE_BYTES: usize = 4 * 1024 * 1024;
/// So much of a line is compared with an expression, because the time that takes grows with both.
const COMPARED: usize = 16 * 1024;

/// The application or deployment whose lines are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    Application(Uuid),
    Deployment(Uuid),
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub struct Query {
    pub of: Of,
    /// Shared, because an expression's working memory is.
    pub filter: Arc<Filter>,
}

/// All that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// At this time or later.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
    /// None means all.
    pub streams: Vec<LogStream>,
    /// Whether lines keep their colours. They are searched without them.
    pub colors: bool,
    pub steps: Vec<LogStep>,
    pub service: Option<String>,
    /// Found anywhere in the text.
    pub term: Option<Regex>,
    /// Found in the first 16 KiB of the text.
    pub expression: Option<Regex>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub seq: i64,
    pub deployment_id: Uuid,
    pub line: LogLine,
}

#[derive(Debug, Default)]
pub struct Page {
    pub lines: Vec<Stored>,
    /// Where to go on; none when there is nothing more that way.
    pub next: Option<i64>,
    /// The time was up before there were enough lines.
    pub is_cut_short: bool,
}

/// How much is asked for.
#[derive(Clone)]
pub struct Bounds {
    pub lines: usize,
    /// Some lines are looked at even when it is later than this: a caller that asks again and again makes progress.
    pub until: Instant,
    /// Kept until the work has ended, which may be later than the caller stops waiting.
    pub turn: Option<WorkGuard>,
}

/// A value of the caller's that is dropped when the work has ended.
pub type WorkGuard = Arc<dyn Any + Send + Sync>;

#[derive(FromRow)]
struct Chunk {
    first_seq: i64,
    last_seq: i64,
    min_at: i64,
    deployment_id: Uuid,
    body: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Back,
    Forth,
}

impl LogStore {
    /// The newest lines with a smaller number, newest first, after leaving out so many that match.
    pub async fn before(&self, query: &Query, seq: i64, skip: u64, bounds: Bounds) -> Result<Page> {
        self.scan(query, Direction::Back, seq, skip, bounds).await
    }

    /// The oldest lines with a greater number, oldest first.
    pub async fn after(&self, query: &Query, seq: i64, bounds: Bounds) -> Result<Page> {
        self.scan(query, Direction::Forth, seq, 0, bounds).await
    }

    /// The number that the application's next line will get.
    pub async fn next_seq(&self, application_id: Uuid) -> Result<i64> {
        let query = "select next_seq from log_heads where application_id = $1";
        let mut conn = self.db.read().await?;
        let found: Option<i64> =
            sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_optional(c).await)?;
        Ok(found.unwrap_or(1))
    }

    /// The number of the oldest line that is kept.
    pub async fn first_seq(&self, application_id: Uuid) -> Result<Option<i64>> {
        let query = "select min(first_seq) from log_chunks where application_id = $1";
        let mut conn = self.db.read().await?;
        Ok(sql!(conn, |c| sqlx::query_scalar(query).bind(application_id).fetch_one(c).await)?)
    }

    /// How many lines were removed after the one that was seen last and before the one that was found next.
    pub async fn removed_between(&self, application_id: Uuid, last: i64, next: i64) -> Result<i64> {
        if next <= last + 1 {
            return Ok(0);
        }
        let kept_from = self.first_seq(application_id).await?.map_or(next, |first| first.min(next));
        Ok((kept_from - last - 1).max(0))
    }

    async fn scan(&self, query: &Query, direction: Direction, seq: i64, skip: u64, bounds: Bounds) -> Result<Page> {
        let mut scan = Scan::new(query.clone(), direction, seq, skip, bounds);
        while !scan.is_over {
            let limit = scan.chunks_to_read();
            let chunks = chunks(&mut self.db.read().await?, query, direction, scan.seq, limit).await?;
            if chunks.is_empty() {
                break;
            }
            // Away from the async threads: unpacking and searching take their time.
            let looked = tokio::task::spawn_blocking(move || {
                scan.look_at(chunks);
                scan
            });
            scan = looked.await.map_err(|_| sqlx::Error::WorkerCrashed)?;
        }
        Ok(scan.page)
    }
}

/// A page while it is being read.
struct Scan {
    query: Query,
    direction: Direction,
    bounds: Bounds,
    /// The last line that was looked at.
    seq: i64,
    /// Lines that match and are still to be left out.
    skip: u64,
    /// Chunks that were asked for the last time.
    asked: usize,
    /// What was looked at, and how much text its lines have.
    chunks: usize,
    lines: usize,
    bytes: usize,
    page: Page,
    page_bytes: usize,
    is_over: bool,
}

impl Scan {
    fn new(query: Query, direction: Direction, seq: i64, skip: u64, bounds: Bounds) -> Self {
        let (page, asked, chunks, lines, bytes, page_bytes) = (Page::default(), 0, 0, 0, 0, 0);
        Self { query, direction, bounds, seq, skip, asked, chunks, lines, bytes, page, page_bytes, is_over: false }
    }

    /// Where every line is wanted, no more than those that are missing take, if the next chunks are like the last.
    fn chunks_to_read(&mut self) -> i64 {
        let doubled = (self.asked * 2).clamp(FEW, MANY);
        let is_every_line_wanted = self.query.filter.is_empty() && self.skip == 0;
        self.asked = match self.chunks > 0 && is_every_line_wanted {
            true => {
                let lines_left = self.bounds.lines.saturating_sub(self.page.lines.len()) + 1;
                let bytes_left = PAGE_BYTES.saturating_sub(self.page_bytes) + 1;
                let for_lines = (lines_left * self.chunks).div_ceil(self.lines.max(1));
                let for_bytes = (bytes_left * self.chunks).div_ceil(self.bytes.max(1));
                doubled.min(for_lines).min(for_bytes).max(1)
            }
            false => doubled,
        };
        self.asked as i64
    }

    fn look_at(&mut self, chunks: Vec<Chunk>) {
        for chunk in chunks {
            if self.is_after_a_hole(&chunk) {
                self.end_at(self.seq);
            }
            if self.is_over {
                break;
            }
            self.look_into(&chunk);
            self.chunks += 1;
        }
    }

    /// Whether chunks went away while this went on. The next page begins there, so that its reader can tell.
    fn is_after_a_hole(&self, chunk: &Chunk) -> bool {
        let Query { of, filter } = &self.query;
        let is_every_chunk_read = matches!(of, Of::Application(_)) && filter.from.is_none() && filter.to.is_none();
        let is_forth = self.direction == Direction::Forth;
        self.chunks > 0 && is_forth && is_every_chunk_read && chunk.first_seq > self.seq + 1
    }

    fn look_into(&mut self, chunk: &Chunk) {
        let Ok(bytes) = unpack(&chunk.body) else {
            self.pass_over(chunk);
            return;
        };
        let found = (chunk.first_seq..).zip(lines(&bytes)).map(|(seq, line)| Ok((seq, line?)));
        let Ok(mut found) = found.collect::<Result<Vec<_>>>() else {
            self.pass_over(chunk);
            return;
        };
        if self.direction == Direction::Back {
            found.reverse();
        }
        let edge = self.seq;
        for (seq, line) in found {
            let is_beyond = match self.direction {
                Direction::Back => seq < edge,
                Direction::Forth => seq > edge,
            };
            if !is_beyond {
                continue;
            }
            if self.chunks > 0 && Instant::now() >= self.bounds.until {
                self.page.is_cut_short = true;
                self.end_at(self.seq);
            } else if self.query.filter.sees(&line) {
                self.take(seq, chunk.deployment_id, line);
            }
            if self.is_over {
                return;
            }
            self.seq = seq;
            self.lines += 1;
            self.bytes += line.text.len();
        }
    }

    /// What is damaged is told of, in the place of its first line; the rest of the log can be read.
    fn pass_over(&mut self, chunk: &Chunk) {
        tracing::error!(first_seq = chunk.first_seq, deployment_id = %chunk.deployment_id, "stored log lines are damaged");
        let text = format!("[{} lines are damaged and cannot be shown]", chunk.last_seq - chunk.first_seq + 1);
        let (at, stream, step) = (Timestamp::from_micros(chunk.min_at), LogStream::Windlass, LogStep::Run);
        let line = PackedLine { at, stream, step, service: "", text: &text };
        if self.query.filter.sees(&line) {
            self.take(chunk.first_seq, chunk.deployment_id, line);
        }
        if !self.is_over {
            self.seq = if self.direction == Direction::Back { chunk.first_seq } else { chunk.last_seq };
        }
    }

    fn take(&mut self, seq: i64, deployment_id: Uuid, line: PackedLine<'_>) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        self.page_bytes += line.text.len();
        let is_full = self.page.lines.len() == self.bounds.lines || self.page_bytes > PAGE_BYTES;
        match self.page.lines.last() {
            Some(last) if is_full => self.end_at(last.seq),
            _ => {
                let text = &self.query.filter.shown(line.text);
                self.page.lines.push(Stored { seq, deployment_id, line: PackedLine { text, ..line }.to_line() });
            }
        }
    }

    fn end_at(&mut self, seq: i64) {
        self.page.next = Some(seq);
        self.is_over = true;
    }
}

/// Beyond a number that way, nearest first.
async fn chunks(conn: &mut Conn, query: &Query, direction: Direction, seq: i64, limit: i64) -> Result<Vec<Chunk>> {
    macro_rules! select {
        ($of:literal, $beyond:expr, $order:literal) => {
            concat!(
                "select first_seq, last_seq, min_at, deployment_id, body from log_chunks where ",
                $of,
                " = $1 and ",
                $beyond,
                " and max_at >= $3 and min_at < $4 order by first_seq ",
                $order,
                " limit $5"
            )
        };
    }
    // The chunk in which the number stands begins before it.
    macro_rules! forth {
        ($of:literal) => {
            concat!(
                "last_seq > $2 and first_seq >= coalesce((select max(first_seq) from log_chunks where ",
                $of,
                " = $1 and first_seq <= $2), 0)"
            )
        };
    }
    let (text, id) = match (query.of, direction) {
        (Of::Application(id), Direction::Back) => (select!("application_id", "first_seq < $2", "desc"), id),
        (Of::Deployment(id), Direction::Back) => (select!("deployment_id", "first_seq < $2", "desc"), id),
        (Of::Application(id), Direction::Forth) => (select!("application_id", forth!("application_id"), "asc"), id),
        (Of::Deployment(id), Direction::Forth) => (select!("deployment_id", forth!("deployment_id"), "asc"), id),
    };
    let from = query.filter.from.map_or(i64::MIN, Timestamp::micros);
    let to = query.filter.to.map_or(i64::MAX, Timestamp::micros);
    Ok(sql!(conn, |c| sqlx::query_as(text).bind(id).bind(seq).bind(from).bind(to).bind(limit).fetch_all(c).await)?)
}

impl Filter {
    /// Whether it asks for anything.
    pub fn is_empty(&self) -> bool {
        self.from.is_none()
            && self.to.is_none()
            && self.streams.is_empty()
            && self.steps.is_empty()
            && self.service.is_none()
            && !self.has_patterns()
    }

    /// Whether texts are to be searched.
    pub fn has_patterns(&self) -> bool {
        self.term.is_some() || self.expression.is_some()
    }

    pub fn matches(&self, line: &LogLine) -> bool {
        let LogLine { at, stream, step, service, text } = line;
        self.sees(&PackedLine { at: *at, stream: *stream, step: *step, service, text })
    }

    fn sees(&self, line: &PackedLine<'_>) -> bool {
        self.from.is_none_or(|from| line.at >= from)
            && self.to.is_none_or(|to| line.at < to)
            && (self.streams.is_empty() || self.streams.contains(&line.stream))
            && (self.steps.is_empty() || self.steps.contains(&line.step))
            && self.service.as_ref().is_none_or(|service| line.service == service)
            && (!self.has_patterns() || self.finds(&colors::plain(line.text)))
    }

    fn finds(&self, text: &str) -> bool {
        self.term.as_ref().is_none_or(|term| term.is_match(text))
            && self.expression.as_ref().is_none_or(|expression| expression.is_match(beginning(text)))
    }

    /// A line's text as it is asked for.
    pub fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.colors { Cow::Borrowed(text) } else { colors::plain(text) }
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(COMPARED)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(filter: Filter) -> Scan {
        let query = Query { of: Of::Application(Uuid::nil()), filter: Arc::new(filter) };
        let bounds = Bounds { lines: 250, until: Instant::now(), turn: None };
        Scan::new(query, Direction::Back, i64::MAX, 0, bounds)
    }

    /// As if so many chunks had been looked at, each with so many lines and so much text.
    fn look(scan: &mut Scan, chunks: usize, lines: usize, bytes: usize) {
        scan.chunks += chunks;
        scan.lines += chunks * lines;
        scan.bytes += chunks * bytes;
    }

    #[test]
    fn a_search_reads_more_and_more() {
        let mut scan = scan(Filter { streams: vec![LogStream::Stderr], ..Filter::default() });
        let asked: Vec<_> = (0..7)
            .map(|_| {
                let chunks = scan.chunks_to_read();
                look(&mut scan, chunks as usize, 100, 10_000);
                chunks
            })
            .collect();
        assert_eq!(asked, [2, 4, 8, 16, 32, 64, 64]);
    }

    #[test]
    fn a_page_of_every_line_reads_little_more_than_those() {
        let mut few = scan(Filter::default());
        assert_eq!(few.chunks_to_read(), 2);
        look(&mut few, 2, 100, 10_000);
        few.page.lines = vec![stored(); 200];
        assert_eq!(few.chunks_to_read(), 1);
        // Long lines fill a page before there are enough of them.
        let mut long = scan(Filter::default());
        long.chunks_to_read();
        look(&mut long, 2, 1, PAGE_BYTES / 3);
        long.page.lines = vec![stored(); 2];
        long.page_bytes = PAGE_BYTES / 3 * 2;
        assert_eq!(long.chunks_to_read(), 2);
        // Short chunks are read as fast as in a search.
        let mut short = scan(Filter::default());
        short.chunks_to_read();
        look(&mut short, 2, 1, 10);
        assert_eq!(short.chunks_to_read(), 4);
    }

    fn stored() -> Stored {
        let line = LogLine::note(Timestamp::from_micros(0), LogStep::Run, String::new());
        Stored { seq: 1, deployment_id: Uuid::nil(), line }
    }
}
