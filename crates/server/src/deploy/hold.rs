//! hold: for what two releases must not write at once, the containers before end first. Visitors wait meanwhile at the edge, a
//! bounded number for a bounded time, and are let through to the new containers; or to the old ones again, if the new ones do
//! not become well in time. Rows say at each moment which containers are to run, so another worker can go on after a crash.

use std::time::Duration;

use futures_util::future::try_join_all;
use uuid::Uuid;
use windlass_api::{Configuration, ContainerStatus, LogStep, Timestamp, Wanted};
use windlass_durable::kill_point;
use windlass_edge::Drained;
use windlass_runtime::State;
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::{Conn, applications, deployments};

use super::attempt::Attempt;
use super::drain::Leaver;
use super::failure::{Interruption, Result};
use super::hold_limit::Hold;
use crate::mounts::{self, Mounted};
use crate::service::work::Work;
use crate::subject::SubjectError;

/// Of the time that visitors wait at most, the part for requests under way, and the part for the containers to end.
const PART: u32 = 6;

/// Makes visitors wait and ends the containers that the new ones exclude, if there are any. Can run twice.
pub async fn begin(attempt: &mut Attempt<'_>) -> Result<Option<Hold>> {
    let before = containers_before(attempt).await?;
    if !before.iter().any(|container| container.purpose == Purpose::App) {
        refuse_beside_command(attempt, &mut attempt.host.app.db.read().await?).await?;
        // What is left of commands of other deployments serves no visitor.
        stop_all(attempt, &before, Duration::ZERO).await?;
        return Ok(None);
    }
    attempt.log.enter(LogStep::Hold);
    let hold = hold_visitors(attempt).await?;
    kill_point::reached("hold-stored");
    attempt.host.routes.publish(&attempt.host.app).await?;
    kill_point::reached("hold-published");
    let words = "Visitors wait: the containers before end first, because both would write the same data.";
    attempt.log.note(words).await;
    let drained = drain_all(attempt, hold.limit / PART).await?;
    kill_point::reached("hold-drained");
    // The reconciler starts what is live, so it must not do so between the mark and the end.
    let _no_start = attempt.host.lock_containers(attempt.application.id).await;
    mark_held(attempt, &before, drained).await?;
    kill_point::reached("hold-marked");
    stop_all(attempt, &before, hold.limit / PART).await?;
    kill_point::reached("hold-stopped");
    let seconds = hold.passed().as_secs_f64();
    attempt.log.note(format!("The containers before have ended after {seconds:.1} s.")).await;
    Ok(Some(hold))
}

/// Those of other deployments that must not run beside the new ones. A command is not ended halfway: see
/// [`hold_visitors`].
async fn containers_before(attempt: &Attempt<'_>) -> Result<Vec<Container>> {
    let pauses = pauses(&attempt.configuration);
    let rows = containers::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    let mut before = Vec::new();
    for row in rows.into_iter().filter(|row| row.deployment_id != attempt.deployment.id) {
        if ends_first(&row, &attempt.mounts, pauses)? {
            before.push(row);
        }
    }
    Ok(before)
}

/// Whether the containers before are to end before a command runs that prepares the new ones.
pub fn pauses(configuration: &Configuration) -> bool {
    configuration.settings.pause && !configuration.pre_run_command.is_empty()
}

/// Whether a container of a release must end before those of another one begin, which have these mounts. `pauses`: a command before their start wants to be
/// alone. [`super::gap`] asks too, before there is a deployment.
pub fn ends_first(row: &Container, mounts: &[Mounted], pauses: bool) -> std::result::Result<bool, SubjectError> {
    let serves = row.purpose == Purpose::App && row.stage != Stage::Starting;
    let excluded = mounts::exclude(mounts, &mounts::of_container(row)?);
    Ok(!is_command(row) && (excluded || (pauses && serves)))
}

/// Whether it writes what its release writes, and is not ended halfway.
pub fn is_command(row: &Container) -> bool {
    matches!(row.purpose, Purpose::PostRun | Purpose::Run)
}

fn excludes(attempt: &Attempt<'_>, row: &Container) -> Result<bool> {
    Ok(mounts::exclude(&attempt.mounts, &mounts::of_container(row)?))
}

/// The rows say from now on that visitors wait, until when, and for which deployment.
async fn hold_visitors(attempt: &mut Attempt<'_>) -> Result<Hold> {
    let (limit, now) = (attempt.host.app.config.hold_limit, attempt.host.app.now());
    let waited = attempt.host.routes.held_requests(attempt.application.id).await;
    let mut work = attempt.held.begin().await?;
    let application = applications::get(&mut work, attempt.application.id).await?.ok_or(Interruption::Lost)?;
    if application.wanted != Wanted::Running {
        return Err(Interruption::Cancelled);
    }
    // An attempt before this one may have begun it.
    let (began, before) = match (application.held_until, attempt.deployment.held_at) {
        (Some(_), Some(began)) => (Timestamp::from_micros(began), attempt.deployment.held_before),
        _ => {
            refuse_beside_command(attempt, &mut work).await?;
            (now, i64::try_from(waited).unwrap_or(i64::MAX))
        }
    };
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let until = Timestamp::from_micros(began.micros().saturating_add(micros(limit)));
    applications::set_held_until(&mut work, application.id, Some(until)).await?;
    deployments::set_held_at(&mut work, attempt.deployment.id, began, before).await?;
    work.commit().await?;
    (attempt.deployment.held_at, attempt.deployment.held_before) = (Some(began.micros()), before);
    let passed = Duration::from_micros(u64::try_from(now.micros().saturating_sub(began.micros())).unwrap_or_default());
    Ok(Hold::new(limit, passed))
}

/// A command run, or the command after the run of a deployment before, may write the same data, and is not ended halfway. A run begins
/// only while no deployment is to come, the other one only while no visitor waits: so there is none later on.
async fn refuse_beside_command(attempt: &Attempt<'_>, conn: &mut Conn) -> Result<()> {
    for row in containers::of_application(conn, attempt.application.id).await? {
        if row.deployment_id == attempt.deployment.id || !is_command(&row) || !excludes(attempt, &row)? {
            continue;
        }
        let what = match row.purpose {
            Purpose::Run => format!("the command run {}, which has the same volume,", row.id),
            _ => "the post-run command of the deployment before".to_owned(),
        };
        return Err(Interruption::Later(format!("{what} has not ended yet")));
    }
    Ok(())
}

/// Requests under way finish, unless they take too long for those who wait. Also those in containers that go on: they may need one that is
/// about to end.
async fn drain_all(attempt: &Attempt<'_>, most: Duration) -> Result<Drained> {
    let rows = containers::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    let is_left = |row: &&Container| row.purpose == Purpose::App && row.deployment_id != attempt.deployment.id;
    let serving = rows.iter().filter(is_left).filter(|row| matches!(row.stage, Stage::Live | Stage::Held));
    let draining =
        serving.map(async |container| Leaver::load(attempt.host, container).await?.drain(attempt.host, most).await);
    let mut all = Drained::default();
    for drained in try_join_all(draining).await? {
        all.add(drained);
    }
    Ok(all)
}

/// From now on they are not started again by anything but `resume`.
async fn mark_held(attempt: &Attempt<'_>, before: &[Container], drained: Drained) -> Result<()> {
    let (mut work, now) = (attempt.held.begin().await?, attempt.host.app.now());
    for container in before {
        let stored = containers::by_name(&mut work, &container.name).await?;
        if stored.is_some_and(|stored| stored.stage == Stage::Live) {
            containers::set_stage(&mut work, container.id, Stage::Held).await?;
            containers::observe(&mut work, container.id, &container.engine_id, ContainerStatus::Exited).await?;
            deployments::observe_container(&mut work, container.deployment_id, ContainerStatus::Exited, now).await?;
        }
    }
    let count = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    let (finished, cut) = (count(drained.finished), count(drained.cut));
    deployments::add_requests(&mut work, attempt.deployment.id, finished, cut, now).await?;
    work.commit().await?;
    Ok(())
}

async fn stop_all(attempt: &Attempt<'_>, before: &[Container], most: Duration) -> Result<()> {
    attempt.held.check().await?;
    let stopping = before.iter().map(async |container| -> Result<()> {
        let grace = Leaver::load(attempt.host, container).await?.grace.min(most);
        attempt.host.stop_container(&container.name, grace).await?;
        match attempt.host.container(&container.name).await? {
            // Another server may have started it in the last moment.
            Some(found) if found.state == State::Running => {
                Err(Interruption::Later(format!("{} was started again", container.name)))
            }
            _ => Ok(()),
        }
    });
    try_join_all(stopping).await.map(drop)
}

/// Visitors have been let through, if they waited: for how long, and how many, into the deployment's row and its log.
pub async fn note_wait(attempt: &mut Attempt<'_>) -> Result<()> {
    attempt.hold = None;
    let Some(began) = attempt.deployment.held_at.filter(|_| attempt.deployment.held_ms == 0) else { return Ok(()) };
    let now = attempt.host.app.now();
    let waited = attempt.host.routes.held_requests(attempt.application.id).await;
    let waited = i64::try_from(waited).unwrap_or(i64::MAX).saturating_sub(attempt.deployment.held_before).max(0);
    let milliseconds = (now.micros().saturating_sub(began) / 1000).max(1);
    let mut work = attempt.held.begin().await?;
    deployments::set_held(&mut work, attempt.deployment.id, milliseconds, waited, now).await?;
    work.commit().await?;
    attempt.deployment.held_ms = milliseconds;
    let seconds = milliseconds as f64 / 1000.0;
    attempt.log.note(format!("Visitors were let through after {seconds:.1} s; {waited} requests have waited.")).await;
    Ok(())
}

/// Whether visitors of an application wait. For a caller that holds it.
pub async fn are_waiting(work: &mut Work<'_>, application_id: Uuid) -> Result<bool> {
    Ok(applications::get(work, application_id).await?.is_some_and(|application| application.held_until.is_some()))
}
