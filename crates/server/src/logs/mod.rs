//! What applications and their deployments print: on its way into the log store, and on its way to the clients that
//! follow it.
//!
//! Everything goes through one writer, which stores what has come in meanwhile in one transaction. A caller that gives
//! it lines waits until they are stored: when it cannot keep up, or the disk is full, readers read no further, and the
//! engine keeps what was not read.

pub mod collector;
pub mod follow;
mod reader;
pub mod retention;
mod room;
pub mod searches;
mod secrets;
mod tails;
pub mod text;
pub mod work_log;
mod writer;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot, watch};
use uuid::Uuid;
use windlass_store::logs::{Batch, LogLine, LogStore, Outcome};

use room::Room;
pub use secrets::Secrets;
pub use tails::Published;
use tails::Tails;
use writer::{StoreWriter, Waiting};

/// Batches that wait for the writer. A caller waits until its batch is stored, so this bounds what is in memory.
const QUEUE: usize = 16;
/// How long a line of Windlass' own may take.
const NOTE_LIMIT: Duration = Duration::from_secs(2);

/// The log store and its writer.
pub struct Logs {
    pub store: LogStore,
    room: Room,
    queue: Mutex<Option<mpsc::Sender<Waiting>>>,
    tails: Arc<Tails>,
    health: Arc<WriterHealth>,
    ended: watch::Receiver<bool>,
}

/// The server is stopping, or these lines cannot be stored at all.
#[derive(Debug, thiserror::Error)]
#[error("the log store does not take it")]
pub struct Closed;

impl Logs {
    /// Its writer is a task of the present runtime, which ends with [`Logs::close`] or with this value.
    /// `folder`: where the store is, if it is a file.
    pub fn open(store: LogStore, folder: Option<PathBuf>) -> Self {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (tails, health) = (Arc::<Tails>::default(), Arc::<WriterHealth>::default());
        let (ending, ended) = watch::channel(false);
        let room = Room::beside(folder);
        let writer = StoreWriter::new(store.clone(), room.clone(), tails.clone(), health.clone());
        tokio::spawn(async move {
            writer.run(waiting).await;
            ending.send_replace(true);
        });
        Self { store, room, queue: Mutex::new(Some(queue)), tails, health, ended }
    }

    /// For a caller that has more than one batch to write: until it is dropped, the store is not closed.
    pub fn write_handle(&self) -> Result<WriteHandle, Closed> {
        let queue = self.queue.lock().clone();
        queue.map(WriteHandle).ok_or(Closed)
    }

    /// Returns when the lines are stored.
    pub async fn write(&self, batch: Batch) -> Result<Outcome, Closed> {
        self.write_handle()?.write(batch).await
    }

    /// A line of Windlass' own, for a caller that cannot wait long. Whether it is stored.
    pub async fn note(&self, application_id: Uuid, deployment_id: Uuid, line: LogLine) -> bool {
        let batch = Batch { application_id, deployment_id, lines: vec![line], progress: None };
        let is_stored = matches!(tokio::time::timeout(NOTE_LIMIT, self.write(batch)).await, Ok(Ok(_)));
        if !is_stored {
            tracing::warn!(%deployment_id, "a line about a deployment could not be stored");
        }
        is_stored
    }

    /// The newest lines of an application, from now on.
    pub fn watch(&self, application_id: Uuid) -> watch::Receiver<Option<Arc<Published>>> {
        self.tails.watch(application_id)
    }

    /// Why lines that wait cannot be stored at present.
    pub fn problem(&self) -> Option<String> {
        self.health.problem()
    }

    /// The same, also when no line waits.
    pub async fn looked_for_problem(&self) -> Option<String> {
        match self.problem() {
            Some(problem) => Some(problem),
            None => self.room.problem().await,
        }
    }

    /// Batches that could not be stored at all since this server was started.
    pub fn lost_batches(&self) -> u64 {
        self.health.lost_batches.load(Ordering::Relaxed)
    }

    /// Stores what is under way, takes no more, and waits for all handles.
    pub async fn close(&self) {
        self.queue.lock().take();
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
        self.store.close().await;
    }
}

/// Gives batches to the writer.
pub struct WriteHandle(mpsc::Sender<Waiting>);

impl WriteHandle {
    /// Returns when the lines are stored.
    pub async fn write(&self, batch: Batch) -> Result<Outcome, Closed> {
        let (done, stored) = oneshot::channel();
        self.0.send(Waiting { batch, done }).await.map_err(|_| Closed)?;
        stored.await.map_err(|_| Closed)
    }
}

/// Whether lines can be stored.
#[derive(Default)]
struct WriterHealth {
    problem: Mutex<Option<String>>,
    lost_batches: AtomicU64,
}

impl WriterHealth {
    fn problem(&self) -> Option<String> {
        self.problem.lock().clone()
    }

    /// True when lines could be stored before and cannot now, or the other way around.
    fn set(&self, problem: Option<String>) -> bool {
        let mut seen = self.problem.lock();
        let is_news = seen.is_some() != problem.is_some();
        *seen = problem;
        is_news
    }

    fn count_lost(&self) {
        self.lost_batches.fetch_add(1, Ordering::Relaxed);
    }
}
