//! Holding a job: renewing the claim, and hearing when it is lost or called off.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass_store::deployments;
use windlass_store::jobs::{self, Job};

use crate::deploy::{Interruption, Result};
use crate::engine::Engine;

/// How long a claim lasts unless it is renewed, which it is as long as the process lives and the database answers.
pub const SECONDS: i64 = 180;
const RENEW: Duration = Duration::from_secs(20);
/// How often to look whether somebody wants it called off.
const LOOK: Duration = Duration::from_millis(500);
/// How long one look may take: a database that does not answer must not hide that the time is up.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Cancelled,
    Lost,
}

/// Renews the claim for as long as it lives.
pub struct Lease {
    end: watch::Receiver<Option<End>>,
    keeping: JoinHandle<()>,
}

impl Lease {
    pub fn hold(engine: &Arc<Engine>, job: &Job) -> Self {
        let (ended, end) = watch::channel(None);
        let keeper = Keeper { engine: engine.clone(), job: job.clone() };
        let keeping = tokio::spawn(keeper.keep(ended));
        Self { end, keeping }
    }

    /// Returns when the work must stop.
    pub async fn ended(&mut self) -> Interruption {
        match self.end.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(End::Cancelled)) => Interruption::Cancelled,
            _ => Interruption::Lost,
        }
    }

    /// Works while the job is held. What cannot be cancelled goes on when somebody asks for that.
    pub async fn during(&mut self, work: impl Future<Output = Result<()>>) -> Result<()> {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => done,
            end = self.ended() => match end {
                Interruption::Cancelled => work.await,
                end => Err(end),
            },
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.keeping.abort();
    }
}

struct Keeper {
    engine: Arc<Engine>,
    job: Job,
}

impl Keeper {
    /// Until the lease is dropped: who was told to stop still needs the job to clean up.
    async fn keep(self, ended: watch::Sender<Option<End>>) {
        let lasting = Duration::from_secs(SECONDS.unsigned_abs());
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(LOOK).await;
            // Somebody else may have it from then on, whether or not the database answers.
            let held_until = renewed + lasting;
            let limit = held_until.min(Instant::now() + LOOK_LIMIT);
            let looked = tokio::time::timeout_at(limit, self.look(&mut renewed)).await;
            let is_over = Instant::now() >= held_until || self.engine.heartbeat.is_late();
            let end = if is_over { Some(End::Lost) } else { looked.unwrap_or(None) };
            if let Some(end) = end {
                ended.send_replace(Some(end));
            }
            if end == Some(End::Lost) {
                return std::future::pending().await;
            }
        }
    }

    async fn look(&self, renewed: &mut Instant) -> Option<End> {
        let is_cancelled = self.is_cancelled().await.unwrap_or(false);
        if renewed.elapsed() >= RENEW {
            let asked = Instant::now();
            match self.renew().await {
                Ok(true) => *renewed = asked,
                Ok(false) => return Some(End::Lost),
                Err(error) => tracing::warn!(%error, "the claim of a job could not be renewed"),
            }
        }
        is_cancelled.then_some(End::Cancelled)
    }

    async fn is_cancelled(&self) -> windlass_store::Result<bool> {
        let Some(id) = self.job.deployment_id else { return Ok(false) };
        deployments::is_cancel_requested(&mut self.engine.app.db.read().await?, id).await
    }

    async fn renew(&self) -> windlass_store::Result<bool> {
        let mut tx = self.engine.app.db.begin().await?;
        let renewed = jobs::renew(&mut tx, &self.job, self.engine.app.now(), SECONDS).await?;
        tx.commit().await?;
        Ok(renewed)
    }
}
