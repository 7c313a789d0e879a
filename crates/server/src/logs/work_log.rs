//! What is said about a deployment or an execution, and what its programs print, on the way into the log store.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;
use uuid::Uuid;
use windlass_api::{LogStep, LogStream};
use windlass_runtime::{PrintedLine, Stream};
use windlass_store::logs::{self, Batch};

use super::{Closed, Secrets, WriteHandle, text};
use crate::app::App;

/// Lines that wait to be stored, and are stored at once; a program that prints more waits too. The store takes what has come some forty
/// times a second, so this many are needed for a program that prints all the time.
const QUEUE: usize = 32 * 1024;
/// Bytes of all lines that wait, with what each takes besides its text. As much again may be on its way into the store.
const QUEUE_BYTES: usize = 2 * 1024 * 1024;
/// What a line takes besides its text.
const LINE_BYTES: usize = 64;
/// What is kept of one attempt at a deployment.
pub const OF_DEPLOYMENT: MostKept = MostKept { lines: 20_000, bytes: 8 * 1024 * 1024 };
/// What is kept of one step of an execution.
pub const OF_STEP: MostKept = MostKept { lines: 200_000, bytes: 16 * 1024 * 1024 };
/// Lines about the work that come after that. The very last ones are always kept, with the end of everything.
const MOST_LATE_NOTES: usize = 50;
/// How many of the lines that are too many are kept: the last ones.
const TAIL: usize = 100;
/// The builder's longer lines come in parts, of which a secret may be in two.
const PART: usize = 60 * 1024;
/// How long a line about the work may wait for its place: when nothing can be stored, the work goes on.
const NOTE_WAIT: Duration = Duration::from_secs(1);
/// How long the last lines may take to be written.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// How much is kept; of what is more only the end is, and a line says so.
#[derive(Clone, Copy)]
pub struct MostKept {
    lines: usize,
    bytes: usize,
}

/// Takes lines; a builder that prints faster than they can be written is slowed down.
#[derive(Clone)]
pub struct Log {
    lines: mpsc::Sender<(LogStep, PrintedLine)>,
    /// A permit for each byte that may wait.
    room: Arc<Semaphore>,
    step: Arc<Mutex<LogStep>>,
}

pub struct Writer {
    writing: JoinHandle<()>,
}

/// A log of one deployment, or of one step of an execution, and the task that writes it.
pub fn open(
    app: Arc<App>,
    (application_id, deployment_id): (Uuid, Uuid),
    secrets: Secrets,
    step: LogStep,
    most: MostKept,
) -> (Log, Writer) {
    let (lines, arriving) = mpsc::channel(QUEUE);
    let room = Arc::new(Semaphore::new(QUEUE_BYTES));
    let writer = LogWriter {
        handle: app.logs.write_handle(),
        app,
        room: room.clone(),
        application_id,
        deployment_id,
        secrets,
        most,
        written: 0,
        bytes: 0,
        late_notes: 0,
        tail: VecDeque::new(),
        left_out: 0,
        is_after_part: false,
    };
    let log = Log { lines, room, step: Arc::new(Mutex::new(step)) };
    (log, Writer { writing: tokio::spawn(writer.write(arriving)) })
}

impl Log {
    /// What is being done from now on.
    pub fn enter(&self, step: LogStep) {
        *self.step.lock() = step;
    }

    /// A line of Windlass' own.
    pub async fn note(&self, text: impl Into<String>) {
        let line = PrintedLine { stream: Stream::Note, text: text.into() };
        let step = *self.step.lock();
        if tokio::time::timeout(NOTE_WAIT, self.take(step, line)).await.is_err() {
            tracing::warn!("a line about a deployment could not be stored in time");
        }
    }

    /// A line that a program printed. Waits while there is no place for it.
    pub async fn take(&self, step: LogStep, line: PrintedLine) {
        let Ok(permits) = self.room.acquire_many(permits(&line)).await else { return };
        if self.lines.send((step, line)).await.is_ok() {
            // The writer gives them back.
            permits.forget();
        }
    }

    /// All lines that come until there are no more to come.
    pub async fn take_all(&self, step: LogStep, mut lines: mpsc::Receiver<PrintedLine>) {
        while let Some(line) = lines.recv().await {
            self.take(step, line).await;
        }
    }
}

/// What a line takes of the room, at most all of it.
fn permits(line: &PrintedLine) -> u32 {
    u32::try_from((line.text.len() + LINE_BYTES).min(QUEUE_BYTES)).unwrap_or(u32::MAX)
}

impl Writer {
    /// After the last [`Log`] is dropped: waits until everything is written.
    pub async fn finish(self) {
        if tokio::time::timeout(LAST_WAIT, self.writing).await.is_err() {
            tracing::warn!("the last lines of a deployment could not be written in time");
        }
    }
}

/// Stores the lines of one deployment, and leaves out what is too much.
struct LogWriter {
    app: Arc<App>,
    room: Arc<Semaphore>,
    handle: Result<WriteHandle, Closed>,
    application_id: Uuid,
    deployment_id: Uuid,
    secrets: Secrets,
    most: MostKept,
    written: usize,
    bytes: usize,
    late_notes: usize,
    /// When there is no more room: the newest lines, which often say what went wrong.
    tail: VecDeque<logs::LogLine>,
    left_out: usize,
    /// The line before was only the beginning of one.
    is_after_part: bool,
}

impl Drop for LogWriter {
    /// Whatever ended it: a program must not wait for room that no writer makes any more.
    fn drop(&mut self) {
        self.room.close();
    }
}

impl LogWriter {
    async fn write(mut self, mut arriving: mpsc::Receiver<(LogStep, PrintedLine)>) {
        let mut arrived = Vec::new();
        while arriving.recv_many(&mut arrived, QUEUE).await > 0 {
            // More may come while these are stored.
            self.room.add_permits(arrived.iter().map(|(_, line)| permits(line) as usize).sum());
            let mut batch = Vec::with_capacity(arrived.len());
            for (step, line) in arrived.drain(..) {
                self.take(step, &line, &mut batch);
            }
            self.store(batch).await;
        }
        let mut batch = Vec::new();
        self.end_gap(&mut batch);
        self.store(batch).await;
    }

    /// Puts a line where it belongs. Some lines about the work come through when there is no room for others.
    fn take(&mut self, step: LogStep, line: &PrintedLine, batch: &mut Vec<logs::LogLine>) {
        let (is_full, is_note) = (self.is_full(), line.stream == Stream::Note);
        let line = self.line(step, line);
        if is_full && !(is_note && self.late_notes < MOST_LATE_NOTES) {
            self.left_out += 1;
            self.tail.push_back(line);
            if self.tail.len() > TAIL {
                self.tail.pop_front();
            }
            return;
        }
        if is_full {
            self.late_notes += 1;
            self.end_gap(batch);
        }
        self.written += 1;
        self.bytes += line.text.len();
        batch.push(line);
    }

    /// What was left out is told, and the end of it shown.
    fn end_gap(&mut self, batch: &mut Vec<logs::LogLine>) {
        let missing = self.left_out - self.tail.len();
        if let Some(step) = self.tail.front().filter(|_| missing > 0).map(|first| first.step) {
            let words = PrintedLine { stream: Stream::Note, text: format!("... {missing} lines are not kept") };
            batch.push(self.line(step, &words));
        }
        self.written += self.tail.len();
        self.bytes += self.tail.iter().map(|line| line.text.len()).sum::<usize>();
        batch.extend(self.tail.drain(..));
        self.left_out = 0;
    }

    fn line(&mut self, step: LogStep, line: &PrintedLine) -> logs::LogLine {
        let stream = match line.stream {
            Stream::Stdout => LogStream::Stdout,
            Stream::Stderr => LogStream::Stderr,
            Stream::Note => LogStream::Windlass,
        };
        let is_part = line.text.len() >= PART || self.is_after_part;
        self.is_after_part = line.text.len() >= PART;
        let longest = self.app.config.log_line_bytes;
        let text = match is_part {
            true => self.secrets.safe_part(&line.text),
            false => self.secrets.safe_colored_line(&line.text, longest),
        };
        logs::LogLine { stream, ..logs::LogLine::note(self.app.now(), step, text::cut(text, longest, 0)) }
    }

    fn is_full(&self) -> bool {
        self.written >= self.most.lines || self.bytes >= self.most.bytes
    }

    async fn store(&self, lines: Vec<logs::LogLine>) {
        if lines.is_empty() {
            return;
        }
        let (application_id, deployment_id) = (self.application_id, self.deployment_id);
        let batch = Batch { application_id, deployment_id, lines, progress: None };
        let stored = match &self.handle {
            Ok(handle) => handle.write(batch).await.map(drop),
            Err(Closed) => Err(Closed),
        };
        if let Err(error) = stored {
            tracing::warn!(%error, "lines of a deployment could not be written");
        }
    }
}
