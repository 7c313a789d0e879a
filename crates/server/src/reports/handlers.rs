//! The handlers of the jobs that tell code hosts something, and how many are worked on at once.

use std::sync::Arc;
use std::time::Duration;

use super::{comment, report, unregister};
use crate::app::App;
use crate::code_host::Failed;
use crate::jobs::{Entry, Later, Needs, Outcome, Pool, Registry, Task};
use crate::service::queue::{self, OfDeployment, OfPullRequest, Registered};

const LEASE: Duration = Duration::from_secs(60);
/// They mostly wait for other servers.
const MOST_AT_ONCE: usize = 8;
/// With the waits below that is about a day.
const MOST_TRIES: i64 = 30;
const FIRST_WAIT: Duration = Duration::from_secs(5);
const LONGEST_WAIT: Duration = Duration::from_secs(3_600);

/// With the kinds of jobs of this room.
pub fn add_to(registry: Registry, app: &Arc<App>) -> Registry {
    let entries = vec![entry(app, queue::REPORT), entry(app, queue::COMMENT), entry(app, queue::UNREGISTER)];
    registry.add(Pool { slots: MOST_AT_ONCE, may_wait: false, most_of_one: None }, entries)
}

fn entry(app: &Arc<App>, kind: &'static str) -> Entry {
    let worker = app.clone();
    Entry {
        kind,
        lease: LEASE,
        needs: Needs::Nothing,
        handler: Box::new(move |task| {
            let app = worker.clone();
            Box::pin(async move { handle(&app, kind, task).await })
        }),
        kept_waiting: Box::new(|_, _| Box::pin(async {})),
    }
}

async fn handle(app: &Arc<App>, kind: &'static str, mut task: Task) -> Outcome {
    let (held, lease, _) = task.parts();
    let done = match kind {
        queue::REPORT => match held.payload::<OfDeployment>() {
            Ok(about) => lease.during(report::report(app, held, about.deployment_id)).await,
            Err(unreadable) => return unreadable,
        },
        queue::COMMENT => match held.payload::<OfPullRequest>() {
            Ok(about) => lease.during(comment::comment(app, held, &about)).await,
            Err(unreadable) => return unreadable,
        },
        _ => match held.payload::<Registered>() {
            Ok(registered) => lease.during(unregister::unregister(app, held, &registered)).await,
            Err(unreadable) => return unreadable,
        },
    };
    match done {
        None => Outcome::Lost,
        Some(Ok(())) => Outcome::Done,
        Some(Err(failed)) => again(&failed, held.job.attempts),
    }
}

/// The waits grow. A code host that says how long to wait is believed.
fn again(failed: &Failed, attempts: i64) -> Outcome {
    if !failed.is_temporary() || attempts + 1 >= MOST_TRIES {
        return Outcome::Failed(failed.words());
    }
    let doublings = u32::try_from(attempts).unwrap_or(u32::MAX).min(16);
    let wait = FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT);
    let after = wait.max(failed.wait().unwrap_or_default().min(LONGEST_WAIT));
    Outcome::Later(Later { after, why: failed.words(), is_attempt: true })
}

#[cfg(test)]
mod tests {
    use windlass_codehost::api::ApiError;

    use super::*;

    #[test]
    fn waits_grow_and_end() {
        let waits = |failed: ApiError, attempts| match again(&Failed::Api(failed), attempts) {
            Outcome::Later(later) => Some(later.after.as_secs()),
            _ => None,
        };
        let down = ApiError::Unavailable { status: 503 };
        let told: Vec<_> = [0, 1, 5, 20].into_iter().map(|attempts| waits(down.clone(), attempts)).collect();
        assert_eq!(told, [Some(5), Some(10), Some(160), Some(3_600)]);
        assert_eq!(waits(down, MOST_TRIES - 1), None);
        assert_eq!(waits(ApiError::BadToken, 0), None, "it does not come right by itself");
        assert_eq!(waits(ApiError::RateLimited { seconds: Some(90) }, 0), Some(90));
        assert_eq!(waits(ApiError::RateLimited { seconds: Some(90_000) }, 0), Some(3_600));
    }
}
