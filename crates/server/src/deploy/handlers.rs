//! The handlers of the jobs that deploy, and how many of each are worked on at once.

use std::sync::Arc;
use std::time::Duration;

use windlass_api::LogStep;
use windlass_store::jobs::Job;
use windlass_store::logs::LogLine;

use super::failure::{Interruption, Result, outcome};
use super::{deploy, finish, remove, resume, snapshot, stop};
use crate::app::App;
use crate::host::Host;
use crate::jobs::{Entry, Needs, Outcome, Pool, Registry, Task};
use crate::service::queue::{self, OfDeployment, OfSnapshot};

const LEASE: Duration = Duration::from_secs(180);
/// Rollbacks, restarts, starts, restores, and what was built before a crash: nothing is built for them.
const MOST_ROLL_OUTS: usize = 8;
/// Applications being stopped or deleted, which wait for their visitors, and those whose containers are started again.
const MOST_ENDING: usize = 32;
/// Containers being drained, commands being run: they mostly wait.
const MOST_FINISHING: usize = 64;
/// Volumes being written to disk: each may use all of it.
const MOST_SNAPSHOTS: usize = 4;

/// Every kind of job there is.
pub fn registry(host: &Arc<Host>) -> Registry {
    let config = &host.app.config;
    let pool = |slots| Pool { slots, may_wait: false, most_of_one: None };
    let waiting_pool = |slots| Pool { slots, may_wait: true, most_of_one: None };
    Registry::new(config.parallel_starts, config.organization_share)
        .add(waiting_pool(config.parallel_deployments), vec![entry(host, queue::DEPLOY)])
        .add(waiting_pool(MOST_ROLL_OUTS), vec![entry(host, queue::ROLL_OUT)])
        .add(pool(MOST_ENDING), vec![entry(host, queue::RESUME), entry(host, queue::STOP), entry(host, queue::DELETE)])
        .add(pool(MOST_FINISHING), vec![entry(host, queue::FINISH)])
        .add(pool(MOST_SNAPSHOTS), vec![entry(host, queue::SNAPSHOT)])
}

fn entry(host: &Arc<Host>, kind: &'static str) -> Entry {
    let (worker, app) = (host.clone(), host.app.clone());
    Entry {
        kind,
        lease: LEASE,
        needs: Needs::ContainerEngine,
        handler: Box::new(move |task| {
            let host = worker.clone();
            Box::pin(async move { handle(&host, kind, task).await })
        }),
        kept_waiting: Box::new(move |job, problem| {
            let app = app.clone();
            Box::pin(async move { note_waiting(&app, &job, &problem).await })
        }),
    }
}

async fn handle(host: &Arc<Host>, kind: &'static str, mut task: Task) -> Outcome {
    let (held, lease, slot) = task.parts();
    let deployment_id = held.payload().map(|OfDeployment { deployment_id }| deployment_id);
    let ended = match (kind, deployment_id) {
        (queue::RESUME, _) => lease.during(resume::resume_left(host, held)).await,
        (queue::STOP, _) => lease.during(stop::stop(host, held)).await,
        (queue::SNAPSHOT, _) => match held.payload() {
            Ok(OfSnapshot { snapshot_id }) => Box::pin(lease.during(snapshot::take(host, held, snapshot_id))).await,
            Err(unreadable) => return unreadable,
        },
        (queue::DELETE, _) => lease.during(remove::remove(host, held)).await,
        (_, Err(unreadable)) => return unreadable,
        (queue::FINISH, Ok(id)) => Box::pin(lease.during(finish(host, held, id))).await,
        (queue::DEPLOY | queue::ROLL_OUT, Ok(id)) => Some(Box::pin(deploy(host, held, id, lease, slot)).await),
        (kind, Ok(_)) => return Outcome::Failed(format!("no handler for jobs of the kind {kind}")),
    };
    outcome(ended.unwrap_or(Err(Interruption::Lost)))
}

/// A person who looks at a deployment that waits must see what for.
async fn note_waiting(app: &App, job: &Job, problem: &str) {
    let payload: Result<OfDeployment> = serde_json::from_str(&job.payload).map_err(|_| Interruption::Lost);
    let (Ok(OfDeployment { deployment_id }), Some(application_id)) = (payload, job.application_id) else { return };
    if job.kind == queue::FINISH {
        return;
    }
    let text = format!("Waiting for the container engine: {problem}");
    let line = LogLine::note(app.now(), LogStep::Queue, text);
    app.logs.note(application_id, deployment_id, line).await;
}
