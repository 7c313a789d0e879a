//! What a deployment prints, written down in batches. Secrets are masked on the way in.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use uuid::Uuid;
use windlass_api::Variables;
use windlass_runtime::{Line, Stream};
use windlass_store::log_lines::{self, LogLine};

use crate::app::App;

const BATCH: usize = 200;
/// How long a line waits for others before it is written.
const WAIT: Duration = Duration::from_millis(200);
/// Lines of one attempt; of what is more only the end is kept, and a line says so.
const MOST_LINES: usize = 20_000;
/// Lines about the work that come after that. The very last ones are always kept, with the end of everything.
const MOST_LATE_NOTES: usize = 50;
/// How many of the lines that are too many are kept: the last ones.
const TAIL: usize = 100;
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of one line; the rest is cut off, with a mark.
const LONGEST_LINE: usize = 8 * 1024;
/// Shorter values stand in too many places where they are no secret.
const SHORTEST_SECRET: usize = 8;
/// How long the last lines may take to be written.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Takes lines; a builder that prints faster than they can be written is slowed down.
#[derive(Clone)]
pub struct Log {
    lines: mpsc::Sender<Line>,
}

pub struct Writer {
    writing: JoinHandle<()>,
}

/// A log of one deployment, and who writes it.
pub fn open(app: Arc<App>, application_id: Uuid, deployment_id: Uuid, secrets: Secrets) -> (Log, Writer) {
    let (lines, arriving) = mpsc::channel(BATCH);
    let book = Book {
        app,
        application_id,
        deployment_id,
        secrets,
        written: 0,
        bytes: 0,
        late_notes: 0,
        tail: VecDeque::new(),
        left_out: 0,
    };
    (Log { lines }, Writer { writing: tokio::spawn(book.write(arriving)) })
}

impl Log {
    /// A line of Windlass' own.
    pub async fn note(&self, text: impl Into<String>) {
        let line = Line { stream: Stream::Note, text: text.into() };
        let _ = self.lines.send(line).await;
    }

    pub fn sender(&self) -> mpsc::Sender<Line> {
        self.lines.clone()
    }
}

impl Writer {
    /// After the last [`Log`] is dropped: waits until everything is written.
    pub async fn finish(self) {
        if tokio::time::timeout(LAST_WAIT, self.writing).await.is_err() {
            tracing::warn!("the last lines of a deployment could not be written in time");
        }
    }
}

struct Book {
    app: Arc<App>,
    application_id: Uuid,
    deployment_id: Uuid,
    secrets: Secrets,
    written: usize,
    bytes: usize,
    late_notes: usize,
    /// When there is no more room: the newest lines, which often say what went wrong.
    tail: VecDeque<LogLine>,
    left_out: usize,
}

impl Book {
    async fn write(mut self, mut arriving: mpsc::Receiver<Line>) {
        let mut batch = Vec::with_capacity(BATCH);
        while let Some(line) = arriving.recv().await {
            self.take(&line, &mut batch);
            let full = tokio::time::sleep(WAIT);
            tokio::pin!(full);
            while batch.len() < BATCH {
                tokio::select! {
                    next = arriving.recv() => match next {
                        Some(line) => self.take(&line, &mut batch),
                        None => break,
                    },
                    () = &mut full => break,
                }
            }
            self.store(&mut batch).await;
        }
        self.end_gap(&mut batch);
        self.store(&mut batch).await;
    }

    /// Puts a line where it belongs. Some lines about the work come through when there is no room for others.
    fn take(&mut self, line: &Line, batch: &mut Vec<LogLine>) {
        let (is_full, is_note) = (self.is_full(), line.stream == Stream::Note);
        let line = self.line(&line.text);
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
        self.bytes += line.log.len();
        batch.push(line);
    }

    /// What was left out is told, and the end of it shown.
    fn end_gap(&mut self, batch: &mut Vec<LogLine>) {
        let missing = self.left_out - self.tail.len();
        if missing > 0 {
            batch.push(self.line(&format!("... {missing} lines are not kept")));
        }
        self.written += self.tail.len();
        self.bytes += self.tail.iter().map(|line| line.log.len()).sum::<usize>();
        batch.extend(self.tail.drain(..));
        self.left_out = 0;
    }

    fn line(&self, text: &str) -> LogLine {
        LogLine {
            seq: 0,
            id: self.app.new_id(),
            application_id: self.application_id,
            deployment_id: self.deployment_id,
            log: cut(self.secrets.mask(&text.replace('\0', "\u{fffd}"))),
            created_at: self.app.now(),
        }
    }

    fn is_full(&self) -> bool {
        self.written >= MOST_LINES || self.bytes >= MOST_BYTES
    }

    async fn store(&self, batch: &mut Vec<LogLine>) {
        if batch.is_empty() {
            return;
        }
        let stored = async {
            let mut tx = self.app.db.begin().await?;
            log_lines::insert(&mut tx, batch).await?;
            tx.commit().await
        };
        if let Err(error) = stored.await {
            tracing::warn!(%error, "lines of a deployment could not be written");
        }
        batch.clear();
    }
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST_LINE {
        text.truncate(text.floor_char_boundary(LONGEST_LINE));
        text.push_str(" ...");
    }
    text
}

/// What no line may show.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl Secrets {
    pub fn new<'a>(variables: &'a Variables, others: impl IntoIterator<Item = &'a str>) -> Self {
        // A value of several lines is printed line by line.
        let lines = variables.secrets().chain(others).flat_map(str::lines).map(str::trim);
        let mut secrets: Vec<_> = lines.filter(|line| line.len() >= SHORTEST_SECRET).map(str::to_owned).collect();
        // The longest first: one may be a part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    pub fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "********"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_whole_and_line_by_line() {
        let mut variables = Variables::default();
        variables.environment.insert("KEY".into(), "first line of it\nsecond line of it".into());
        variables.environment.insert("SHORT".into(), "abc".into());
        variables.build.insert("OPEN".into(), "not a secret".into());
        variables.secret_names = vec!["KEY".into(), "SHORT".into()];
        let secrets = Secrets::new(&variables, ["a-token-of-a-repository"]);
        assert_eq!(secrets.mask("x second line of it y"), "x ******** y");
        assert_eq!(secrets.mask("abc not a secret"), "abc not a secret");
        assert_eq!(secrets.mask("a-token-of-a-repository"), "********");
    }
}
