//! The handler of the jobs that send notices, and how many are worked on at once.

use std::sync::Arc;
use std::time::Duration;

use windlass_api::ErrorCode;

use super::work_off::work_off;
use crate::app::App;
use crate::error::Error;
use crate::jobs::{Entry, Needs, Outcome, Pool, Registry, Task};
use crate::service::queue::{self, Destination};

const LEASE: Duration = Duration::from_secs(60);
/// Mail of the installation itself has places of its own, so that no organization's channels keep a password from being reset.
const PRODUCT_MAILS_AT_ONCE: usize = 4;

/// Of one organization, whose members all have the same mail server: while that hangs, others' mail goes on.
const MEMBER_MAILS_AT_ONCE: usize = 2;

/// With the kinds of jobs of this room.
pub fn add_to(registry: Registry, app: &Arc<App>) -> Registry {
    let pool = |slots, most_of_one| Pool { slots, may_wait: false, most_of_one };
    let slots = app.config.parallel_notices;
    registry
        .add(pool(slots, None), vec![entry(app, queue::NOTICES)])
        .add(pool(slots, Some(MEMBER_MAILS_AT_ONCE)), vec![entry(app, queue::MEMBER_MAIL)])
        .add(pool(PRODUCT_MAILS_AT_ONCE, None), vec![entry(app, queue::PRODUCT_MAIL)])
}

fn entry(app: &Arc<App>, kind: &'static str) -> Entry {
    let worker = app.clone();
    Entry {
        kind,
        lease: LEASE,
        needs: Needs::Nothing,
        handler: Box::new(move |task| {
            let app = worker.clone();
            Box::pin(async move { handle(&app, task).await })
        }),
        kept_waiting: Box::new(|_, _| Box::pin(async {})),
    }
}

async fn handle(app: &App, mut task: Task) -> Outcome {
    let (held, lease, _) = task.parts();
    let destination: Destination = match held.payload() {
        Ok(destination) => destination,
        Err(unreadable) => return unreadable,
    };
    match lease.during(Box::pin(work_off(app, held, &destination))).await {
        None => Outcome::Lost,
        Some(Ok(outcome)) => outcome,
        Some(Err(error)) => again(error),
    }
}

/// Something of this server is in the way: the notices wait for it.
fn again(error: Error) -> Outcome {
    let why = error.cause.unwrap_or(error.message);
    match error.code {
        ErrorCode::Internal => Outcome::again(why),
        _ => Outcome::later(why),
    }
}
