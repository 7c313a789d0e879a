//! A command that is under way: until it ends, is called off, or takes too long.

use std::time::Duration;

use windlass_api::{RunStatus, Timestamp};
use windlass_durable::kill_point;
use windlass_runtime::{Error, State};
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
    let ended_by_itself = if run.decided().is_none() {
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
        match decision {
            None => !is_leaving(host, &run).await?,
            Some((status, reason)) => {
                let (mut work, _) = begin(held, run.application_id).await?;
                // Who asked may have decided already, with a reason of their own.
                runs::set_ending(&mut work, run.id, status, &reason).await?;
                work.commit().await?;
                kill_point::reached("run-decided");
                stop(host, &run, row).await?
            }
        }
    } else {
        stop(host, &run, row).await?
    };
    // Before whatever is said about its end.
    host.read_to_end(&row.name).await?;
    kill_point::reached("run-followed");
    judge(host, &run, row, ended_by_itself).await
}

/// True if it had ended by itself before.
async fn stop(host: &Host, run: &Run, row: &Container) -> Result<bool> {
    let found = host.container(&row.name).await?;
    let had_ended = found.is_some_and(|found| matches!(found.state, State::Exited | State::Dead));
    let ended_by_itself = had_ended && !is_leaving(host, run).await?;
    host.stop_container(&row.name, GRACE).await?;
    Ok(ended_by_itself)
}

/// Whether the worker that ends all containers of the application may have ended it: its row says so before.
async fn is_leaving(host: &Host, run: &Run) -> Result<bool> {
    Ok(row_of(host, run.id).await?.is_none_or(|row| row.stage == Stage::Leaving))
}

/// What is left of its time. However the clock was set meanwhile, no more than all of it.
fn left(run: &Run, now: Timestamp) -> Duration {
    let limit = Duration::from_secs(run.timeout_seconds.unsigned_abs());
    let started = run.started_at.unwrap_or(now.micros());
    let passed = Duration::from_micros(u64::try_from(now.micros().saturating_sub(started)).unwrap_or_default());
    limit.saturating_sub(passed)
}

/// What the engine says of its end, and what was decided before.
async fn judge(host: &Host, run: &Run, row: &Container, ended_by_itself: bool) -> Result<End> {
    let Some(found) = host.container(&row.name).await? else { return lost(host, run).await };
    let now = runs::get(&mut host.app.db.read().await?, run.id).await?.ok_or(Interruption::Lost)?;
    let seen = Seen {
        code: found.exit_code,
        error: &found.error,
        is_out_of_memory: found.oom_killed,
        ended_by_itself,
        is_leaving: is_leaving(host, run).await?,
    };
    let (status, reason) = verdict(&now, &seen);
    Ok(End { exit_code: Some(found.exit_code), ..over(status, reason) })
}

/// The end of a command.
struct Seen<'a> {
    code: i64,
    /// The engine's own words.
    error: &'a str,
    is_out_of_memory: bool,
    /// Before it was told to end.
    ended_by_itself: bool,
    /// Whether a worker ends all containers of the application.
    is_leaving: bool,
}

/// A command that had ended well before its end was asked for did what it was to do. One that was told to end may say 0 as well, and has not.
fn verdict(run: &Run, seen: &Seen<'_>) -> (RunStatus, String) {
    let code = seen.code;
    match run.decided() {
        Some(_) if code == 0 && seen.ended_by_itself => (RunStatus::Succeeded, String::new()),
        Some(status) => (status, run.reason.clone()),
        None if seen.is_leaving && !seen.ended_by_itself => {
            (RunStatus::Interrupted, "the application was stopped".to_owned())
        }
        None if seen.is_out_of_memory => {
            (RunStatus::Failed, format!("it needed more memory than it may have (exit code {code})"))
        }
        None if code == 0 => (RunStatus::Succeeded, String::new()),
        None if seen.error.is_empty() => (RunStatus::Failed, format!("exit code {code}")),
        None => (RunStatus::Failed, format!("exit code {code}: {}", seen.error)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::as_decided;
    use super::*;

    #[test]
    fn no_clock_gives_a_run_more_than_its_time() {
        let run = Run { timeout_seconds: 60, started_at: Some(1_000_000_000), ..sample() };
        let left = |seconds: i64| left(&run, Timestamp::from_micros(1_000_000_000).plus_seconds(seconds)).as_secs();
        assert_eq!([left(0), left(59), left(60), left(600), left(-600)], [60, 1, 0, 0, 60]);
    }

    #[test]
    fn a_record_says_what_happened() {
        let decided = Run { ending: "cancelled".to_owned(), reason: "cancelled by Ada".to_owned(), ..sample() };
        let seen = |code, ended_by_itself, is_leaving| Seen {
            code,
            error: "",
            is_out_of_memory: false,
            ended_by_itself,
            is_leaving,
        };
        let status = |run: &Run, seen: &Seen<'_>| verdict(run, seen).0;
        assert_eq!(verdict(&decided, &seen(0, true, false)), (RunStatus::Succeeded, String::new()), "it came too late");
        assert_eq!(verdict(&decided, &seen(0, false, false)), (RunStatus::Cancelled, "cancelled by Ada".to_owned()));
        assert_eq!(status(&decided, &seen(143, false, false)), RunStatus::Cancelled);
        assert_eq!(status(&decided, &seen(3, true, false)), RunStatus::Cancelled, "it was decided");
        assert_eq!(status(&sample(), &seen(0, true, true)), RunStatus::Succeeded);
        assert_eq!(status(&sample(), &seen(0, false, true)), RunStatus::Interrupted);
        assert_eq!(verdict(&sample(), &seen(3, true, false)), (RunStatus::Failed, "exit code 3".to_owned()));
    }

    #[test]
    fn a_problem_hides_no_decision() {
        let decided = Run { ending: "cancelled".to_owned(), reason: "cancelled by Ada".to_owned(), ..sample() };
        let ended = as_decided(&decided, over(RunStatus::Failed, "the engine refused it"));
        assert_eq!((ended.status, ended.reason.as_str()), (RunStatus::Cancelled, "cancelled by Ada"));
        let seen = End { exit_code: Some(0), ..over(RunStatus::Succeeded, "") };
        assert_eq!(as_decided(&decided, seen).status, RunStatus::Succeeded);
        assert_eq!(as_decided(&sample(), over(RunStatus::Failed, "the engine refused it")).status, RunStatus::Failed);
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
