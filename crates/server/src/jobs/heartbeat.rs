//! Telling the other servers of a database that this one lives. One that is not heard of loses its jobs to them, within seconds.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use uuid::Uuid;
use windlass_store::servers::{self, LONGEST_SILENCE_SECONDS};
use windlass_store::{Db, Kind, jobs};

use crate::app::App;

const INTERVAL: Duration = Duration::from_secs(2);
/// How long the database may take.
const LIMIT: Duration = Duration::from_secs(5);
/// A server that could not say that it lives stops working before the others may begin.
const MARGIN: Duration = Duration::from_secs(4);

/// When this server was last heard of.
pub struct Heartbeat {
    /// SQLite has one server, and no other that waits for its end.
    is_needed: bool,
    last: Mutex<Option<Instant>>,
}

impl Heartbeat {
    pub fn new(db: &Db) -> Self {
        Self { is_needed: db.kind() == Kind::Postgres, last: Mutex::default() }
    }

    /// Whether other servers may already have taken over what this one works on, or soon will.
    pub fn is_late(&self) -> bool {
        let longest = Duration::from_secs(LONGEST_SILENCE_SECONDS.unsigned_abs()) - MARGIN;
        self.is_needed && self.last.lock().is_none_or(|last| last.elapsed() > longest)
    }

    /// Beats until it is dropped.
    pub(super) async fn run(&self, app: &App, owner: Uuid) {
        if !self.is_needed {
            return std::future::pending().await;
        }
        loop {
            // The time before the call counts: the row holds a later one.
            let began = Instant::now();
            match tokio::time::timeout(LIMIT, self.beat(app, owner)).await {
                Ok(Ok(())) => *self.last.lock() = Some(began),
                Ok(Err(error)) => tracing::warn!(%error, "the other servers could not be told that this one lives"),
                Err(_) => tracing::warn!("the database does not answer, so other servers may take this one for dead"),
            }
            tokio::time::sleep(INTERVAL).await;
        }
    }

    /// After a silence that was too long this server has dropped its jobs, and no other may have taken them.
    async fn beat(&self, app: &App, owner: Uuid) -> windlass_store::Result<()> {
        let mut tx = app.db.begin().await?;
        if self.is_late() {
            jobs::release_all(&mut tx, owner).await?;
        }
        servers::beat(&mut tx, owner, app.now()).await?;
        tx.commit().await
    }
}
