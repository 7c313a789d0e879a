//! The worker: claims jobs, works on them while it holds them, and leaves rows that say how far it came.

pub mod heartbeat;
pub mod lease;
pub mod place;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use uuid::Uuid;
use windlass_api::{LogStep, LogStream};
use windlass_store::jobs::{self, Job, JobKind, Queue};
use windlass_store::logs::Line;
use windlass_store::{deployments, servers};

use crate::deploy::{self, Interruption};
use crate::engine::Engine;
use crate::engine_health::Seen;
use lease::Lease;
use place::Place;

/// How often to look for jobs that nobody has told of: those of other servers, and those whose time has come.
const LOOK: Duration = Duration::from_secs(2);
/// What has been interrupted is tried again after this time.
const REST_SECONDS: i64 = 3;
/// Rollbacks, restarts and starts: nothing is built for them.
const MOST_READY: usize = 8;
/// Applications being stopped or deleted: they wait for their visitors.
const MOST_ENDING: usize = 32;
/// Containers being drained, commands being run: they mostly wait.
const MOST_BESIDE: usize = 64;

/// Works until `stop` says so, then drops what is under way: whoever starts next goes on with it.
pub async fn run(engine: Arc<Engine>, mut stop: watch::Receiver<bool>) {
    let mut worker = Worker {
        deploying: Arc::new(Semaphore::new(engine.app.config.parallel_deployments)),
        ready: Arc::new(Semaphore::new(MOST_READY)),
        ending: Arc::new(Semaphore::new(MOST_ENDING)),
        beside: Arc::new(Semaphore::new(MOST_BESIDE)),
        starting: Arc::new(Semaphore::new(engine.app.config.parallel_starts)),
        under_way: JoinSet::new(),
        told: HashSet::new(),
        engine,
    };
    worker.take_back().await;
    let beating = tokio::spawn({
        let engine = worker.engine.clone();
        async move { heartbeat::run(&engine).await }
    });
    loop {
        if let Err(error) = worker.claim_all().await {
            tracing::warn!(%error, "could not look for jobs; trying again in a moment");
        }
        tokio::select! {
            () = worker.engine.app.jobs_waiting.notified() => {}
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
    engine: Arc<Engine>,
    deploying: Arc<Semaphore>,
    ready: Arc<Semaphore>,
    ending: Arc<Semaphore>,
    beside: Arc<Semaphore>,
    /// Those who have built and only wait for their container to be well.
    starting: Arc<Semaphore>,
    under_way: JoinSet<()>,
    /// Deployments that were told that they wait for the engine.
    told: HashSet<Uuid>,
}

impl Worker {
    /// What this server was working on when it last ended can be gone on with at once.
    async fn take_back(&self) {
        let released = async {
            let mut tx = self.engine.app.db.begin().await?;
            let released = jobs::release_all(&mut tx, self.engine.owner).await?;
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
            let mut tx = self.engine.app.db.begin().await?;
            servers::leave(&mut tx, self.engine.owner).await?;
            tx.commit().await
        };
        if let Err(error) = left.await {
            tracing::debug!(%error, "the other servers notice by themselves that this one is gone");
        }
    }

    async fn claim_all(&mut self) -> windlass_store::Result<()> {
        let health = &self.engine.app.engine_health;
        if health.seen() == Seen::Nothing || self.engine.heartbeat.is_late() {
            return Ok(());
        }
        if health.held_by_another().is_some() {
            // What was begun before another installation took this one's place is not this one's to finish.
            self.under_way.shutdown().await;
        }
        if let Some(problem) = self.engine.app.engine_health.problem() {
            return self.tell_waiting(&problem).await;
        }
        self.told.clear();
        let queues = [
            (Queue::Deploy, &self.deploying),
            (Queue::Ready, &self.ready),
            (Queue::End, &self.ending),
            (Queue::Beside, &self.beside),
        ];
        for (queue, places) in queues.map(|(queue, places)| (queue, places.clone())) {
            while let Ok(place) = places.clone().try_acquire_owned() {
                let Some(job) = self.claim(queue).await? else { break };
                let (engine, mut place) = (self.engine.clone(), Place::new(place, self.starting.clone()));
                self.under_way.spawn(async move { Box::pin(work(&engine, job, &mut place)).await });
            }
        }
        Ok(())
    }

    async fn claim(&self, queue: Queue) -> windlass_store::Result<Option<Job>> {
        let app = &self.engine.app;
        let mut tx = app.db.begin().await?;
        let job = jobs::claim(&mut tx, queue, self.engine.owner, app.now(), lease::SECONDS).await?;
        tx.commit().await?;
        Ok(job)
    }

    /// Whoever looks at a deployment that waits must see what for.
    async fn tell_waiting(&mut self, problem: &str) -> windlass_store::Result<()> {
        let app = &self.engine.app;
        let waiting = deployments::queued(&mut app.db.read().await?, 100).await?;
        let news: Vec<_> = waiting.into_iter().filter(|deployment| self.told.insert(deployment.id)).collect();
        if news.is_empty() {
            return Ok(());
        }
        for deployment in news {
            let text = format!("Waiting for the container engine: {problem}");
            let line = Line { at: app.now(), stream: LogStream::Windlass, step: LogStep::Queue, text };
            if !app.logs.note(deployment.application_id, deployment.id, line).await {
                break;
            }
        }
        Ok(())
    }
}

async fn work(engine: &Arc<Engine>, job: Job, place: &mut Place) {
    let mut lease = Lease::hold(engine, &job);
    let done = match job.kind {
        JobKind::Deploy => deploy::deploy(engine, &job, &mut lease, place).await,
        JobKind::Finish => Box::pin(lease.during(deploy::finish(engine, &job))).await,
        JobKind::Stop => lease.during(deploy::stop(engine, &job)).await,
        JobKind::Delete => lease.during(deploy::remove(engine, &job)).await,
    };
    drop(lease);
    let kind = job.kind.as_str();
    match done {
        Ok(()) => tracing::debug!(job = %job.id, kind, "done"),
        Err(Interruption::Lost) => tracing::info!(job = %job.id, kind, "somebody else has this job by now"),
        Err(interruption) => put_back(engine, &job, &interruption).await,
    }
    engine.app.jobs_waiting.notify_one();
}

async fn put_back(engine: &Engine, job: &Job, interruption: &Interruption) {
    tracing::warn!(job = %job.id, kind = job.kind.as_str(), ?interruption, "interrupted; it is tried again");
    let put_back = async {
        let mut tx = engine.app.db.begin().await?;
        if let Interruption::EngineLost(_) = interruption {
            jobs::count_engine_loss(&mut tx, job).await?;
        }
        jobs::put_back(&mut tx, job, engine.app.now(), REST_SECONDS).await?;
        tx.commit().await
    };
    if let Err(error) = put_back.await {
        tracing::warn!(%error, "a job could not be put back; it comes back when its time is up");
    }
}
