//! Reads the output of one container into the log store, from where it was read to the last time.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;
use uuid::Uuid;
use windlass_api::{LogStep, LogStream, Timestamp};
use windlass_runtime::{Access, Docker, Error, Gap, Output, OutputLine, Portion, Position, Stream, Watched};
use windlass_store::logs::{Batch, Claim, LogLine, Outcome, ReadProgress};
use windlass_store::{containers, executions, installations};

use super::{Closed, Secrets, text};
use crate::app::App;
use crate::config::LogSource;
use crate::subject::{Subject, SubjectError};

/// Text that is read and stored at once.
const PORTION: usize = 512 * 1024;
/// Between two looks, when there was nothing new. The first ones come quickly.
const FIRST_PAUSE: Duration = Duration::from_millis(80);
const LONGEST_PAUSE: Duration = Duration::from_millis(160);
/// The same when the kernel tells of the next line. Most containers are silent, most of the time.
const PAUSE_IN_SILENCE: Duration = Duration::from_secs(5);
/// Asking the engine costs it more than looking at its files.
const FIRST_PAUSE_OF_ENGINE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE_OF_ENGINE: Duration = Duration::from_secs(1);
/// After something went wrong.
const REST: Duration = Duration::from_secs(1);
/// How often a claim is renewed where other servers could take it.
const RENEWAL: Duration = Duration::from_secs(20);
/// How old the list of secrets may be: another server may have been told of one.
const SECRETS_AGE: Duration = Duration::from_secs(60);

/// What the lines of a container belong to.
#[derive(Clone)]
pub struct LogOrigin {
    pub application_id: Uuid,
    pub deployment_id: Uuid,
    /// The deployment, or the service of an installation, that the container is of: what must not be shown.
    pub made_for: Uuid,
    pub step: LogStep,
    /// Of a compose file; empty for others. None if the labels do not say it: containers that were made before they did are still there.
    pub service: Option<String>,
}

/// A caller that waits until everything is stored.
pub type Waiter = oneshot::Sender<()>;

pub struct Reader {
    app: Arc<App>,
    docker: Docker,
    reading: Arc<Semaphore>,
    claim: Claim,
    /// Of the container.
    name: String,
    origin: LogOrigin,
    arriving: mpsc::Receiver<Waiter>,
    waiting: Vec<Waiter>,
}

/// Why reading stopped.
enum Stop {
    /// There is nothing more to read, and never will be.
    Ended,
    /// Another server reads it, or has.
    Lost,
    /// It may work later.
    Failed(String),
    /// The engine answers, but not with what can be understood.
    Unreadable(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::NotFound { .. } => Self::Ended,
            // The engine does not tell any more what it has printed.
            error if error.being_removed().is_some() => Self::Ended,
            Error::Unreachable { .. } | Error::TimedOut { .. } => Self::Failed(error.to_string()),
            error => Self::Unreadable(error.to_string()),
        }
    }
}

impl From<windlass_store::Error> for Stop {
    fn from(error: windlass_store::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Where reading is, and what it must not show.
struct Reading {
    output: Output,
    /// The position as it is stored.
    stored: String,
    secrets: Arc<Secrets>,
    secrets_from: Instant,
    secrets_changed: tokio::sync::watch::Receiver<()>,
    renewed: Instant,
}

impl Reader {
    pub fn new(
        app: Arc<App>,
        docker: Docker,
        reading: Arc<Semaphore>,
        claim: Claim,
        name: String,
        origin: LogOrigin,
        arriving: mpsc::Receiver<Waiter>,
    ) -> Self {
        Self { app, docker, reading, claim, name, origin, arriving, waiting: Vec::new() }
    }

    /// Until the container is gone.
    pub async fn run(mut self) {
        let mut known = String::new();
        loop {
            let stop = match self.read().await {
                Ok(never) => match never {},
                Err(stop) => stop,
            };
            match stop {
                Stop::Ended => break,
                Stop::Lost => {}
                Stop::Failed(problem) => self.tell(problem, &mut known),
                Stop::Unreadable(problem) => {
                    self.give_up(&problem).await;
                    self.tell(problem, &mut known);
                }
            }
            self.rest(REST).await;
        }
        self.take_waiters();
        self.grant_all();
        if let Err(error) = self.app.logs.store.forget(&self.claim.container_id).await {
            tracing::debug!(%error, "a position that is no longer needed stays for now");
        }
    }

    /// Once, not every second.
    fn tell(&self, problem: String, known: &mut String) {
        if problem != *known {
            let container = &self.claim.container_id;
            tracing::warn!(container, problem, "what it prints cannot be read; trying again");
            *known = problem;
        }
    }

    async fn read(&mut self) -> Result<Infallible, Stop> {
        let mut reading = self.open().await?;
        let mut pause = Duration::ZERO;
        loop {
            self.take_waiters();
            let waiters = self.waiting.len();
            // Before it is looked at, so that nothing that is printed after the look goes unseen.
            let watched = if pause >= LONGEST_PAUSE { reading.output.watch().await } else { None };
            let (is_news, is_end) = self.read_portion(&mut reading).await?;
            if is_news {
                pause = Duration::ZERO;
            }
            if !is_end {
                continue;
            }
            // Callers that came while it was being read may mean what was printed since.
            for done in self.waiting.drain(..waiters) {
                let _ = done.send(());
            }
            self.renew(&mut reading).await?;
            let watched = watched.filter(|_| reading.output.can_be_watched());
            let (first, longest) = pauses(&reading.output, watched.is_some());
            pause = (pause * 2).clamp(first, longest);
            match watched {
                // Where something happened, there may soon be more, in another file too.
                Some(watched) if self.rest_until_changed(pause, &watched).await => pause = Duration::ZERO,
                Some(_) => {}
                None => self.rest(pause).await,
            }
        }
    }

    /// Whether there was something, and whether that was all.
    async fn read_portion(&self, reading: &mut Reading) -> Result<(bool, bool), Stop> {
        let _permit = self.reading.clone().acquire_owned().await.map_err(|_| Stop::Ended)?;
        let portion = reading.output.read(PORTION).await?;
        let (is_news, is_end) = (portion.gap.is_some() || !portion.lines.is_empty(), portion.is_end);
        if is_news {
            self.keep_secrets_fresh(reading).await?;
            self.store(reading, portion).await?;
        }
        Ok((is_news, is_end))
    }

    /// From where it was read to the last time, by this server or another.
    async fn open(&mut self) -> Result<Reading, Stop> {
        // Before they are read, so that no change goes unseen.
        let secrets_changed = self.app.secrets_changed.subscribe();
        let secrets = self.secrets().await?;
        if self.origin.service.is_none() {
            self.origin.service = Some(self.service_of_row().await?);
        }
        self.take_waiters();
        // A caller that is about to remove the container cannot wait for another server.
        let stored = self.claim(!self.waiting.is_empty()).await?;
        let position = match stored.as_str() {
            "" => Position::default(),
            stored => serde_json::from_str(stored).map_err(|error| Stop::Unreadable(error.to_string()))?,
        };
        let config = &self.app.config;
        let access = match config.log_source {
            LogSource::Auto => Access::Files,
            LogSource::Engine => Access::Engine,
        };
        let output = self.docker.output(&self.claim.container_id, access, config.log_line_bytes, position).await?;
        let now = Instant::now();
        Ok(Reading { output, stored, secrets, secrets_from: now, secrets_changed, renewed: now })
    }

    async fn service_of_row(&self) -> Result<String, Stop> {
        let row = containers::by_name(&mut self.app.db.read().await?, &self.name).await?;
        Ok(row.map_or_else(String::new, |row| row.service))
    }

    async fn claim(&self, force: bool) -> Result<String, Stop> {
        let stored = self.app.logs.store.claim(&self.claim, self.app.now(), force).await?;
        stored.ok_or(Stop::Lost)
    }

    async fn renew(&self, reading: &mut Reading) -> Result<(), Stop> {
        if !self.app.logs.store.is_shared() || reading.renewed.elapsed() < RENEWAL {
            return Ok(());
        }
        reading.renewed = Instant::now();
        match self.claim(false).await? == reading.stored {
            true => Ok(()),
            // Another server had it in between.
            false => Err(Stop::Lost),
        }
    }

    async fn keep_secrets_fresh(&self, reading: &mut Reading) -> Result<(), Stop> {
        if reading.secrets_changed.has_changed().unwrap_or_default() || reading.secrets_from.elapsed() > SECRETS_AGE {
            reading.secrets_changed.mark_unchanged();
            reading.secrets = self.secrets().await?;
            reading.secrets_from = Instant::now();
        }
        Ok(())
    }

    /// Lines are not stored without knowing what they must not show.
    async fn secrets(&self) -> Result<Arc<Secrets>, Stop> {
        match Subject::load(&self.app, self.origin.made_for).await {
            Ok(subject) => Ok(Arc::new(Secrets::of(&subject))),
            Err(SubjectError::Gone) => self.secrets_of_service().await,
            Err(SubjectError::Unreadable(problem)) => {
                tracing::error!(problem, "what must not be shown cannot be read, so nothing is shown");
                Ok(Arc::new(Secrets::Everything))
            }
            Err(SubjectError::Later(problem)) => Err(Stop::Failed(problem)),
        }
    }

    /// What is no deployment's is a service's of an installation.
    async fn secrets_of_service(&self) -> Result<Arc<Secrets>, Stop> {
        let failed = |error: windlass_store::Error| Stop::Failed(error.to_string());
        let mut conn = self.app.db.read().await.map_err(failed)?;
        let service = installations::service(&mut conn, self.origin.made_for).await.map_err(failed)?;
        // Its application or installation is gone, so no user can read its lines any more.
        let execution_id = service.ok_or(Stop::Ended)?.execution_id;
        let material = executions::material(&mut conn, execution_id).await.map_err(failed)?.ok_or(Stop::Ended)?;
        drop(conn);
        match self.app.vault.execution_values(execution_id, &material.sealed_values).await {
            Ok(values) => Ok(Arc::new(Secrets::of_texts(values.secrets()))),
            Err(error) => {
                tracing::error!(cause = error.cause, "what must not be shown cannot be read, so nothing is shown");
                Ok(Arc::new(Secrets::Everything))
            }
        }
    }

    async fn store(&self, reading: &mut Reading, portion: Portion) -> Result<(), Stop> {
        let position = serde_json::to_string(&portion.position).map_err(|error| Stop::Failed(error.to_string()))?;
        let (origin, longest, now) = (self.origin.clone(), self.app.config.log_line_bytes, self.app.now());
        let secrets = reading.secrets.clone();
        // Away from the async threads: there may be thousands of them.
        let lines = tokio::task::spawn_blocking(move || {
            let gap = portion.gap.map(|gap| gap_line(&gap, origin.step, now));
            let lines = portion.lines.iter().map(|line| shown(line, &secrets, &origin, longest));
            gap.into_iter().chain(lines).collect()
        });
        let lines = lines.await.map_err(|error| Stop::Failed(error.to_string()))?;
        let (claim, from) = (self.claim.clone(), reading.stored.clone());
        let progress = Some(ReadProgress { claim, from, position: position.clone() });
        let LogOrigin { application_id, deployment_id, .. } = self.origin;
        match self.app.logs.write(Batch { application_id, deployment_id, lines, progress }).await {
            Ok(Outcome::Stored { .. }) => {
                reading.stored = position;
                Ok(())
            }
            Ok(Outcome::Lost) => Err(Stop::Lost),
            Err(Closed) => Err(Stop::Failed(Closed.to_string())),
        }
    }

    /// A container whose output cannot be read must not stay forever: callers that wait are let go, once that is in the
    /// log.
    async fn give_up(&mut self, problem: &str) {
        self.take_waiters();
        if self.waiting.is_empty() {
            return;
        }
        let LogOrigin { application_id, deployment_id, step, .. } = self.origin;
        let text = format!("[What the container printed last is missing: it cannot be read. {problem}]");
        let line = LogLine::note(self.app.now(), step, text);
        if self.app.logs.note(application_id, deployment_id, line).await {
            self.grant_all();
        }
    }

    fn grant_all(&mut self) {
        for done in self.waiting.drain(..) {
            let _ = done.send(());
        }
    }

    fn take_waiters(&mut self) {
        while let Ok(waiter) = self.arriving.try_recv() {
            self.waiting.push(waiter);
        }
        // Some have given up meanwhile.
        self.waiting.retain(|waiter| !waiter.is_closed());
    }

    /// Whether the file was changed meanwhile.
    async fn rest_until_changed(&mut self, pause: Duration, watched: &Watched) -> bool {
        tokio::select! {
            () = watched.changed() => true,
            () = self.rest(pause) => false,
        }
    }

    /// Ends early when a caller starts to wait.
    async fn rest(&mut self, pause: Duration) {
        if let Ok(Some(waiter)) = tokio::time::timeout(pause, self.arriving.recv()).await {
            self.waiting.push(waiter);
        }
    }
}

fn pauses(output: &Output, is_watched: bool) -> (Duration, Duration) {
    match (output.reads_files(), is_watched) {
        (true, false) => (FIRST_PAUSE, LONGEST_PAUSE),
        (true, true) => (PAUSE_IN_SILENCE, PAUSE_IN_SILENCE),
        (false, _) => (FIRST_PAUSE_OF_ENGINE, LONGEST_PAUSE_OF_ENGINE),
    }
}

fn shown(line: &OutputLine, secrets: &Secrets, origin: &LogOrigin, longest: usize) -> LogLine {
    let stream = match line.stream {
        Stream::Stdout => LogStream::Stdout,
        Stream::Stderr => LogStream::Stderr,
        Stream::Note => LogStream::Windlass,
    };
    let raw = String::from_utf8_lossy(&line.text);
    let safe = match (line.is_rest, line.cut) {
        (true, _) => secrets.safe_part(&raw),
        (false, 0) => secrets.safe_colored_line(&raw, longest),
        (false, _) => secrets.safe_beginning(&raw),
    };
    let (step, service) = (origin.step, origin.service.clone().unwrap_or_default());
    LogLine { at: timestamp(line.at), stream, step, service, text: text::cut(safe, longest, line.cut) }
}

fn gap_line(gap: &Gap, step: LogStep, now: Timestamp) -> LogLine {
    let at = gap.until.or(gap.after).map_or(now, timestamp);
    let moment = |at| timestamp(at).to_string();
    let span = match (gap.after.map(moment), gap.until.map(moment)) {
        (Some(after), Some(until)) => format!(" between {after} and {until}"),
        (Some(after), None) => format!(" after {after}"),
        (None, Some(until)) => format!(" before {until}"),
        (None, None) => String::new(),
    };
    let text = match gap.bytes {
        Some(bytes) => format!("[{bytes} bytes of output{span} are missing: the engine's file is damaged there]"),
        // Whether something was printed in between, only the engine could have told.
        None => format!("[Lines{span} may be missing: the engine dropped what it had of them before it could be read]"),
    };
    LogLine::note(at, step, text)
}

fn timestamp(at: time::OffsetDateTime) -> Timestamp {
    Timestamp::from_micros(i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000)).unwrap_or_default())
}
