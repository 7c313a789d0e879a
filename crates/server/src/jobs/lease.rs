//! Holding a job: renewing the claim, and hearing when it is lost or called off.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass_store::jobs;

use super::Held;
use super::heartbeat::Heartbeat;

/// A claim is renewed when this part of it is over.
const RENEW_AFTER: u32 = 9;
/// How often to look whether the job is to be called off.
const LOOK: Duration = Duration::from_millis(500);
/// How long one look may take: a database that does not answer must not hide that the time is up.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// Why work on a job must stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    Cancelled,
    Lost,
}

/// Renews the claim for as long as it lives.
pub struct Lease {
    end: watch::Receiver<Option<Ended>>,
    keeping: JoinHandle<()>,
}

impl Lease {
    /// Of a job that was just claimed for this time.
    pub(super) fn hold(held: &Held, heartbeat: &Arc<Heartbeat>, lasting: Duration) -> Self {
        let (ended, end) = watch::channel(None);
        let keeper = Keeper { held: held.clone(), heartbeat: heartbeat.clone(), lasting };
        let keeping = tokio::spawn(keeper.keep(ended));
        Self { end, keeping }
    }

    /// Returns when the work must stop.
    pub async fn ended(&mut self) -> Ended {
        match self.end.wait_for(Option::is_some).await.as_deref() {
            Ok(Some(Ended::Cancelled)) => Ended::Cancelled,
            _ => Ended::Lost,
        }
    }

    /// Works while the job is held; none when it was lost. What cannot be cancelled goes on when that is asked for.
    pub async fn during<T>(&mut self, work: impl Future<Output = T>) -> Option<T> {
        tokio::pin!(work);
        tokio::select! {
            done = &mut work => Some(done),
            end = self.ended() => match end {
                Ended::Cancelled => Some(work.await),
                Ended::Lost => None,
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
    held: Held,
    heartbeat: Arc<Heartbeat>,
    lasting: Duration,
}

impl Keeper {
    /// Until the lease is dropped: a handler that was told to stop still needs the job to clean up.
    async fn keep(self, ended: watch::Sender<Option<Ended>>) {
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(LOOK).await;
            // Another worker may have it from then on, whether or not the database answers.
            let held_until = renewed + self.lasting;
            let limit = held_until.min(Instant::now() + LOOK_LIMIT);
            let looked = tokio::time::timeout_at(limit, self.look(&mut renewed)).await;
            let is_over = Instant::now() >= held_until || self.heartbeat.is_late();
            let end = if is_over { Some(Ended::Lost) } else { looked.unwrap_or(None) };
            if let Some(end) = end {
                ended.send_replace(Some(end));
            }
            if end == Some(Ended::Lost) {
                return std::future::pending().await;
            }
        }
    }

    async fn look(&self, renewed: &mut Instant) -> Option<Ended> {
        let is_cancelled = self.held.is_cancel_requested().await.unwrap_or(false);
        if renewed.elapsed() >= self.lasting / RENEW_AFTER {
            let asked = Instant::now();
            match self.renew().await {
                Ok(true) => *renewed = asked,
                Ok(false) => return Some(Ended::Lost),
                Err(error) => tracing::warn!(%error, "the claim of a job could not be renewed"),
            }
        }
        is_cancelled.then_some(Ended::Cancelled)
    }

    async fn renew(&self) -> windlass_store::Result<bool> {
        let app = &self.held.app;
        let mut tx = app.db.begin().await?;
        let renewed = jobs::renew(&mut tx, &self.held.job, app.now(), seconds(self.lasting)).await?;
        tx.commit().await?;
        Ok(renewed)
    }
}

pub(super) fn seconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}
