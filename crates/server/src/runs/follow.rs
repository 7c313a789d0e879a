//! A command that is under way: until it ends, is called off, or takes too long.

use std::time::Duration;

use windlass_api::{RunStatus, Timestamp};
use windlass_durable::kill_point;
use windlass_runtime::Error;
use windlass_store::containers::{Container, Stage};
use windlass_store::runs::{self, End, Run};

use super::container::row_of;
use super::run::{begin, lost, over};
use crate::deploy::{Interruption, Result};
use crate::host::Host;
use crate::jobs::{Ended, Held, Lease};

/// How long a command has to end by itself when it is told to.
const GRACE: Duration = Duration::from_secs(10);

pub async fn follow(host: &Host, held: &Held, run: &Run, row: &Container, lease: &mut Lease) -> Result<End> {
    host.collector.begin(&row.name).await?;
    let run = runs::get(&mut host.app.db.read().await?, run.id).await?.ok_or(Interruption::Lost)?;
    if run.decided().is_none() {
        let decision = tokio::select! {
            ended = host.wait_for_container(&row.name) => match ended {
                Ok(_) | Err(Error::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            },
            end = lease.ended() => match end {
                Ended::Lost => return Err(Interruption::Lost),
                Ended::Cancelled => Some((RunStatus::Cancelled, "cancelled on request".to_owned())),
            },
            () = tokio::time::sleep(left(&run, host.app.now())) => {
                Some((RunStatus::TimedOut, format!("it took more than {} s (timeout_seconds)", run.timeout_seconds)))
            }
        };
        if let Some((status, reason)) = decision {
            let (mut work, _) = begin(held, run.application_id).await?;
            // Who asked may have decided already, with a reason of their own.
            runs::set_ending(&mut work, run.id, status, &reason).await?;
            work.commit().await?;
            kill_point::reached("run-decided");
            host.stop_container(&row.name, GRACE).await?;
        }
    } else {
        host.stop_container(&row.name, GRACE).await?;
    }
    // Before whatever is said about its end.
    host.read_to_end(&row.name).await?;
    kill_point::reached("run-followed");
    judge(host, &run, row).await
}

/// What is left of its time. However the clock was set meanwhile, no more than all of it.
fn left(run: &Run, now: Timestamp) -> Duration {
    let limit = Duration::from_secs(run.timeout_seconds.unsigned_abs());
    let started = run.started_at.unwrap_or(now.micros());
    let passed = Duration::from_micros(u64::try_from(now.micros().saturating_sub(started)).unwrap_or_default());
    limit.saturating_sub(passed)
}

/// What the engine says of its end, and what was decided before.
async fn judge(host: &Host, run: &Run, row: &Container) -> Result<End> {
    let Some(found) = host.container(&row.name).await? else { return lost(host, run).await };
    let code = found.exit_code;
    let now = runs::get(&mut host.app.db.read().await?, run.id).await?.ok_or(Interruption::Lost)?;
    let is_leaving = row_of(host, run.id).await?.is_none_or(|row| row.stage == Stage::Leaving);
    let (status, reason) = match now.decided() {
        Some(status) => (status, now.reason),
        None if is_leaving => (RunStatus::Interrupted, "the application was stopped".to_owned()),
        None if found.oom_killed => {
            (RunStatus::Failed, format!("it needed more memory than it may have (exit code {code})"))
        }
        None if code == 0 => (RunStatus::Succeeded, String::new()),
        None if found.error.is_empty() => (RunStatus::Failed, format!("exit code {code}")),
        None => (RunStatus::Failed, format!("exit code {code}: {}", found.error)),
    };
    Ok(End { exit_code: Some(code), ..over(status, reason) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_clock_gives_a_run_more_than_its_time() {
        let run = Run { timeout_seconds: 60, started_at: Some(1_000_000_000), ..sample() };
        let left = |seconds: i64| left(&run, Timestamp::from_micros(1_000_000_000).plus_seconds(seconds)).as_secs();
        assert_eq!([left(0), left(59), left(60), left(600), left(-600)], [60, 1, 0, 0, 60]);
    }

    fn sample() -> Run {
        Run {
            id: uuid::Uuid::nil(),
            organization_id: uuid::Uuid::nil(),
            application_id: uuid::Uuid::nil(),
            schedule_id: None,
            schedule_name: String::new(),
            scheduled_at: None,
            user_id: None,
            actor: String::new(),
            command: String::new(),
            service: String::new(),
            timeout_seconds: 0,
            status: RunStatus::Running,
            ending: String::new(),
            reason: String::new(),
            exit_code: None,
            deployment_id: None,
            release_id: None,
            has_begun: true,
            created_at: Timestamp::default(),
            started_at: None,
            finished_at: None,
        }
    }
}
