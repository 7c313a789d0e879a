//! The handler of the jobs that carry out executions, and how many are worked on at once.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::ExecutionStatus;
use windlass_store::executions::{self, End};

use super::failure::{Interruption, Result};
use super::{carry_out, engine};
use crate::host::Host;
use crate::jobs::{Entry, Held, Needs, Outcome, Pool, Registry, Task};
use crate::service::executions as service;
use crate::service::queue::{self, OfExecution};

const LEASE: Duration = Duration::from_secs(180);
/// Each may run programs of the machine.
const MOST_AT_ONCE: usize = 8;

/// With the kinds of jobs of this room.
pub fn add_to(registry: Registry, host: &Arc<Host>) -> Registry {
    let entries = vec![
        entry(host, queue::EXECUTION, Needs::ContainerEngine),
        entry(host, queue::MACHINE_EXECUTION, Needs::Nothing),
    ];
    registry.add(Pool { slots: MOST_AT_ONCE, may_wait: false, most_of_one: None }, entries)
}

fn entry(host: &Arc<Host>, kind: &'static str, needs: Needs) -> Entry {
    let worker = host.clone();
    Entry {
        kind,
        lease: LEASE,
        needs,
        handler: Box::new(move |task| {
            let host = worker.clone();
            Box::pin(async move { handle(&host, task).await })
        }),
        kept_waiting: Box::new(|_, _| Box::pin(async {})),
    }
}

async fn handle(host: &Arc<Host>, mut task: Task) -> Outcome {
    let (held, lease, _) = task.parts();
    let id = match held.payload() {
        Ok(OfExecution { execution_id }) => execution_id,
        Err(unreadable) => return unreadable,
    };
    let ended = match Box::pin(carry_out(host, held, id, lease)).await {
        Err(Interruption::Unreadable(words)) => give_up(held, id, &words).await,
        ended => ended,
    };
    match ended {
        Ok(()) => Outcome::Done,
        Err(Interruption::Lost) => Outcome::Lost,
        Err(Interruption::EngineLost(words)) => {
            host.note_lost(&words);
            Outcome::again(words)
        }
        Err(Interruption::Again(words)) => Outcome::again(words),
        Err(Interruption::Later(words) | Interruption::Unreadable(words)) => Outcome::later(words),
    }
}

/// What cannot be read cannot be undone either.
async fn give_up(held: &Held, id: Uuid, words: &str) -> Result<()> {
    let mut work = held.begin().await?;
    if let Some(execution) = executions::get(&mut work, id).await? {
        let words = format!("it could not be read, so nothing was done or undone: {words}");
        let end = End { status: ExecutionStatus::Failed, exit_code: None, error_message: &words };
        engine::give_back(&mut work, &execution).await?;
        engine::settle_failed(&mut work, &execution).await?;
        service::end(&mut work, &execution, &end).await?;
    }
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(())
}
