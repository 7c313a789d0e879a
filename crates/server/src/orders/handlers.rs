//! The handler of the jobs that order certificates, and how many are worked on at once.

use std::sync::Arc;
use std::time::Duration;

use super::attempt;
use super::problem::Stopped;
use crate::host::Host;
use crate::jobs::{Entry, Later, Needs, Outcome, Pool, Registry, Task};
use crate::service::queue::{self, OfCertificateOrder};

const LEASE: Duration = Duration::from_secs(60);
/// They mostly wait for authorities. Few, so that one that is slow is not asked by many.
const MOST_AT_ONCE: usize = 4;
/// When something of our own did not work.
const REST: Duration = Duration::from_secs(10);

/// With the kind of jobs of this room. A server without an authority leaves them to others.
pub fn add_to(registry: Registry, host: &Arc<Host>) -> Registry {
    if host.app.config.acme.directories.is_empty() {
        return registry;
    }
    let worker = host.clone();
    let entry = Entry {
        kind: queue::CERTIFICATE_ORDER,
        lease: LEASE,
        needs: Needs::Nothing,
        handler: Box::new(move |task| {
            let host = worker.clone();
            Box::pin(async move { handle(&host, task).await })
        }),
        kept_waiting: Box::new(|_, _| Box::pin(async {})),
    };
    registry.add(Pool { slots: MOST_AT_ONCE, may_wait: false, most_of_one: None }, vec![entry])
}

async fn handle(host: &Host, mut task: Task) -> Outcome {
    let (held, lease, _) = task.parts();
    let about = match held.payload::<OfCertificateOrder>() {
        Ok(about) => about,
        Err(unreadable) => return unreadable,
    };
    match lease.during(Box::pin(attempt::carry_out(host, held, about.order_id))).await {
        None => Outcome::Lost,
        Some(Ok(())) => Outcome::Done,
        Some(Err(Stopped::Lost)) => Outcome::Lost,
        Some(Err(Stopped::Failed(problem))) => Outcome::later(problem.words),
        Some(Err(Stopped::Here(error))) => {
            let why = error.cause.unwrap_or(error.message);
            Outcome::Later(Later { after: REST, why, is_attempt: false })
        }
    }
}
