//! The handler of the jobs that carry out command runs, and how many are worked on at once.

use std::sync::Arc;
use std::time::Duration;

use super::run::carry_out;
use crate::deploy::{Interruption, outcome};
use crate::host::Host;
use crate::jobs::{Entry, Needs, Outcome, Pool, Registry, Task};
use crate::service::queue::{self, OfRun};

const LEASE: Duration = Duration::from_secs(180);

/// With the kind of jobs of this room.
pub fn add_to(registry: Registry, host: &Arc<Host>) -> Registry {
    let worker = host.clone();
    let entry = Entry {
        kind: queue::RUN,
        lease: LEASE,
        needs: Needs::ContainerEngine,
        handler: Box::new(move |task| {
            let host = worker.clone();
            Box::pin(async move { handle(&host, task).await })
        }),
        kept_waiting: Box::new(|_, _| Box::pin(async {})),
    };
    registry.add(Pool { slots: host.app.config.parallel_runs, may_wait: false, most_of_one: None }, vec![entry])
}

async fn handle(host: &Arc<Host>, mut task: Task) -> Outcome {
    let (held, lease, _) = task.parts();
    let run_id = match held.payload() {
        Ok(OfRun { run_id }) => run_id,
        Err(unreadable) => return unreadable,
    };
    let ended = Box::pin(carry_out(host, held, run_id, lease)).await;
    if let Err(Interruption::EngineLost(words)) = &ended {
        host.note_lost(words);
    }
    outcome(ended)
}
