//! The worker: claims jobs, has their handlers work on them while it holds them, and puts back what did not end. It does not know
//! what a job is about: the [`Registry`] does.

mod heartbeat;
mod held;
mod lease;
mod outcome;
mod registry;
mod slots;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use uuid::Uuid;
use windlass_store::jobs::{self, Job, Search};
use windlass_store::servers;

use crate::app::App;
use crate::engine_health::EngineState;
use heartbeat::Heartbeat;
pub use held::Held;
pub use lease::{Ended, Lease};
pub use outcome::{Later, Outcome};
pub use registry::{Entry, Needs, Pool, Registry, Task};
pub use slots::Slot;

/// How often to look for jobs that this process was not told of: those of other servers, and those whose time has come.
const LOOK: Duration = Duration::from_secs(2);
/// Jobs that are told at once what they wait for.
const MOST_TOLD: i64 = 100;

/// Works until `stop` says so, then drops what is under way: the next worker goes on with it.
pub async fn run(app: Arc<App>, owner: Uuid, registry: Registry, mut stop: watch::Receiver<bool>) {
    let mut worker = Worker::new(app, owner, registry);
    worker.take_back().await;
    let beating = tokio::spawn({
        let (app, heartbeat) = (worker.app.clone(), worker.heartbeat.clone());
        async move { heartbeat.run(&app, owner).await }
    });
    loop {
        if let Err(error) = worker.claim_all().await {
            tracing::warn!(%error, "could not look for jobs; trying again in a moment");
        }
        tokio::select! {
            () = worker.app.jobs_waiting.notified() => {}
            () = tokio::time::sleep(LOOK) => {}
            Some(_) = worker.under_way.join_next() => {}
            _ = stop.wait_for(|stop| *stop) => break,
        }
    }
    worker.under_way.shutdown().await;
    beating.abort();
    worker.take_back().await;
    worker.leave().await;
}

struct Worker {
    app: Arc<App>,
    /// Whose jobs are this process'. The same after a restart.
    owner: Uuid,
    registry: Registry,
    heartbeat: Arc<Heartbeat>,
    /// For each pool of the registry.
    slots: Vec<Arc<Semaphore>>,
    /// For jobs of any pool that only wait.
    waiting: Arc<Semaphore>,
    under_way: JoinSet<()>,
    /// Jobs that were told what they wait for.
    told: HashSet<Uuid>,
}

impl Worker {
    fn new(app: Arc<App>, owner: Uuid, registry: Registry) -> Self {
        Self {
            heartbeat: Arc::new(Heartbeat::new(&app.db)),
            slots: registry.pools.iter().map(|(pool, _)| Arc::new(Semaphore::new(pool.slots))).collect(),
            waiting: Arc::new(Semaphore::new(registry.waiting_slots)),
            under_way: JoinSet::new(),
            told: HashSet::new(),
            app,
            owner,
            registry,
        }
    }

    /// What this server was working on when it last ended can be gone on with at once.
    async fn take_back(&self) {
        let released = async {
            let mut tx = self.app.db.begin().await?;
            let released = jobs::release_all(&mut tx, self.owner).await?;
            tx.commit().await?;
            Ok::<_, windlass_store::Error>(released)
        };
        match released.await {
            Ok(0) => {}
            Ok(jobs) => tracing::info!(jobs, "going on with what was under way"),
            Err(error) => tracing::warn!(%error, "could not take back jobs; they come back when their time is up"),
        }
    }

    /// The other servers need not wait until this one is missed.
    async fn leave(&self) {
        let left = async {
            let mut tx = self.app.db.begin().await?;
            servers::leave(&mut tx, self.owner).await?;
            tx.commit().await
        };
        if let Err(error) = left.await {
            tracing::debug!(%error, "the other servers notice by themselves that this one is gone");
        }
    }

    async fn claim_all(&mut self) -> windlass_store::Result<()> {
        if self.heartbeat.is_late() {
            return Ok(());
        }
        let seen = self.app.engine_health.seen();
        match &seen {
            EngineState::Well => self.told.clear(),
            EngineState::NotAsked => {}
            EngineState::Unreachable(problem) => self.tell_waiting(&format!("engine unreachable: {problem}")).await?,
            EngineState::HeldByAnother { words, .. } => {
                // What was begun before another installation took this one's place is not this one's to finish.
                self.under_way.shutdown().await;
                return self.tell_waiting(words).await;
            }
        }
        for index in 0..self.slots.len() {
            self.claim_of_pool(index, seen == EngineState::Well).await?;
        }
        Ok(())
    }

    /// Begins as many jobs of a pool as it has slots.
    async fn claim_of_pool(&mut self, index: usize, has_engine: bool) -> windlass_store::Result<()> {
        let (pool, entries) = &self.registry.pools[index];
        let usable: Vec<_> =
            entries.iter().filter(|entry| has_engine || entry.needs == Needs::Nothing).cloned().collect();
        if usable.is_empty() {
            return Ok(());
        }
        let kinds: Vec<_> = usable.iter().map(|entry| entry.kind).collect();
        let share = i64::try_from(self.registry.share(pool)).unwrap_or(i64::MAX);
        let sharing = self.registry.sharing(index);
        let search = Search { kinds: &kinds, sharing: &sharing, share };
        // The longest, because it is not known yet which kind will be found. Each is renewed long before.
        let lease = usable.iter().map(|entry| entry.lease).max().unwrap_or_default();
        while let Ok(slot) = self.slots[index].clone().try_acquire_owned() {
            let Some(job) = self.claim(&search, lease).await? else { break };
            let Some(entry) = usable.iter().find(|entry| entry.kind == job.kind) else { break };
            self.begin(entry.clone(), job, slot, lease);
        }
        Ok(())
    }

    async fn claim(&self, search: &Search<'_>, lease: Duration) -> windlass_store::Result<Option<Job>> {
        let mut tx = self.app.db.begin().await?;
        let job = jobs::claim(&mut tx, search, self.owner, self.app.now(), lease::seconds(lease)).await?;
        tx.commit().await?;
        Ok(job)
    }

    fn begin(&mut self, entry: Arc<Entry>, job: Job, slot: OwnedSemaphorePermit, lease: Duration) {
        let held = Held { app: self.app.clone(), job };
        let lease = Lease::hold(&held, &self.heartbeat, lease);
        let task = Task { held: held.clone(), lease, slot: Slot::new(slot, self.waiting.clone()) };
        self.under_way.spawn(async move {
            let outcome = (entry.handler)(task).await;
            settle(&held, outcome).await;
            held.app.jobs_waiting.notify_one();
        });
    }

    /// A person who looks at what waits must see what for.
    async fn tell_waiting(&mut self, problem: &str) -> windlass_store::Result<()> {
        let entries = self.registry.pools.iter().flat_map(|(_, entries)| entries);
        let needing: Vec<_> = entries.filter(|entry| entry.needs == Needs::ContainerEngine).cloned().collect();
        let kinds: Vec<_> = needing.iter().map(|entry| entry.kind).collect();
        if kinds.is_empty() {
            return Ok(());
        }
        for job in jobs::waiting(&mut self.app.db.read().await?, &kinds, MOST_TOLD).await? {
            let entry = needing.iter().find(|entry| entry.kind == job.kind);
            if let Some(entry) = entry.filter(|_| self.told.insert(job.id)) {
                (entry.kept_waiting)(job, problem.to_owned()).await;
            }
        }
        Ok(())
    }
}

/// The job is gone, or put back, or another worker's.
async fn settle(held: &Held, outcome: Outcome) {
    let (id, kind) = (held.job.id, held.job.kind.as_str());
    let settled = match outcome {
        Outcome::Done => {
            tracing::debug!(job = %id, kind, "done");
            Ok(())
        }
        Outcome::Lost => {
            tracing::info!(job = %id, kind, "another worker has this job by now");
            // Does nothing then. Otherwise no worker would have it until its time is up, which is minutes.
            put_back(held, &Later { why: String::new(), after: LOOK, is_attempt: false }).await
        }
        Outcome::Later(later) => {
            tracing::warn!(job = %id, kind, why = later.why, "interrupted; it is tried again");
            put_back(held, &later).await
        }
        Outcome::Failed(why) => {
            tracing::error!(job = %id, kind, why, "a job failed, and is given up");
            give_up(held).await
        }
    };
    if let Err(error) = settled {
        tracing::warn!(%error, "a job could not be settled; it comes back when its time is up");
    }
}

async fn put_back(held: &Held, later: &Later) -> windlass_store::Result<()> {
    let mut tx = held.app.db.begin().await?;
    if later.is_attempt {
        jobs::count_attempt(&mut tx, &held.job).await?;
    }
    jobs::put_back(&mut tx, &held.job, held.app.now(), lease::seconds(later.after)).await?;
    tx.commit().await
}

async fn give_up(held: &Held) -> windlass_store::Result<()> {
    let mut tx = held.app.db.begin().await?;
    jobs::delete(&mut tx, &held.job).await?;
    tx.commit().await
}
