//! hold: for what two releases must not write at once, the containers before end first. Visitors wait meanwhile at the edge, a
//! bounded number for a bounded time, and are let through to the new containers; or to the old ones again, if the new ones do
//! not become well in time. Rows say at each moment who is to run, so the worker or the reconciler can go on after a crash.

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use tokio::net::TcpStream;
use uuid::Uuid;
use windlass_api::{ContainerStatus, LogStep, Timestamp, Wanted};
use windlass_durable::kill_point;
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::{applications, deployments, releases};

use super::attempt::Attempt;
use super::failure::{Interruption, Result};
use super::hold_limit::Hold;
use super::mounts;
use crate::host::Host;
use crate::service::states;
use crate::subject::read_configuration;

/// Of the time that visitors wait at most, the part for requests under way, and the part for the containers to end.
const DRAIN_PART: u32 = 6;
/// How long containers that are started again may take until they take connections. Visitors are let through then at the
/// latest; the edge knows what to do with a target that takes none.
const RESUME_LIMIT: Duration = Duration::from_secs(20);
const RESUME_PAUSE: Duration = Duration::from_millis(20);

/// Makes visitors wait and ends the containers that the new ones exclude, if there are any. Can run twice.
pub async fn begin(attempt: &Attempt<'_>) -> Result<Option<Hold>> {
    let before = containers_before(attempt).await?;
    if before.is_empty() {
        return Ok(None);
    }
    refuse_beside_command(attempt).await?;
    attempt.log.enter(LogStep::Hold);
    let (began, hold) = hold_visitors(attempt).await?;
    kill_point::reached("hold-stored");
    attempt.host.routes.publish(&attempt.host.app.db).await?;
    kill_point::reached("hold-published");
    let words = "Visitors wait: the containers before end first, because both would write the same data.";
    attempt.log.note(words).await;
    drain(attempt, &before, hold.limit / DRAIN_PART).await?;
    kill_point::reached("hold-drained");
    mark_held(attempt, &before).await?;
    kill_point::reached("hold-marked");
    stop(attempt, &before, hold.limit / DRAIN_PART).await?;
    kill_point::reached("hold-stopped");
    let seconds = attempt.host.app.now().micros().saturating_sub(began.micros()) as f64 / 1e6;
    attempt.log.note(format!("The containers before have ended after {seconds:.1} s.")).await;
    Ok(Some(hold))
}

/// Those of other deployments that must not run beside the new ones, of those that serve or did a moment ago.
async fn containers_before(attempt: &Attempt<'_>) -> Result<Vec<Container>> {
    let pauses = attempt.configuration.settings.pause && !attempt.configuration.pre_run_command.is_empty();
    let rows = containers::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    let mut before = Vec::new();
    for row in rows {
        let is_other = row.deployment_id != attempt.deployment.id && row.purpose == Purpose::App;
        if is_other && row.stage != Stage::Starting && (pauses || excludes(attempt, &row)?) {
            before.push(row);
        }
    }
    Ok(before)
}

fn excludes(attempt: &Attempt<'_>, row: &Container) -> Result<bool> {
    Ok(mounts::exclude(&attempt.mounts, &mounts::of_container(row)?))
}

/// The command after the run of the deployment before may write the same data, and is not ended halfway.
async fn refuse_beside_command(attempt: &Attempt<'_>) -> Result<()> {
    let rows = containers::of_application(&mut attempt.host.app.db.read().await?, attempt.application.id).await?;
    for row in rows {
        let is_command = row.deployment_id != attempt.deployment.id && row.purpose == Purpose::PostRun;
        if is_command && excludes(attempt, &row)? {
            return Err(Interruption::Later("the post-run command of the deployment before has not ended yet".into()));
        }
    }
    Ok(())
}

/// The rows say from now on that visitors wait, until when, and for which deployment.
async fn hold_visitors(attempt: &Attempt<'_>) -> Result<(Timestamp, Hold)> {
    let (limit, now) = (attempt.host.app.config.hold_limit, attempt.host.app.now());
    let mut work = attempt.held.begin().await?;
    let application = applications::get(&mut work, attempt.application.id).await?.ok_or(Interruption::Lost)?;
    if application.wanted != Wanted::Running {
        return Err(Interruption::Cancelled);
    }
    // An attempt before this one may have begun it.
    let began = match (application.held_until, attempt.deployment.held_at) {
        (Some(_), Some(began)) => Timestamp::from_micros(began),
        _ => now,
    };
    let micros = |time: Duration| i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
    let until = Timestamp::from_micros(began.micros().saturating_add(micros(limit)));
    applications::set_held_until(&mut work, application.id, Some(until)).await?;
    deployments::set_held_at(&mut work, attempt.deployment.id, began).await?;
    work.commit().await?;
    let waited_before = attempt.host.routes.held_requests(application.id).await;
    let passed = Duration::from_micros(u64::try_from(now.micros().saturating_sub(began.micros())).unwrap_or_default());
    Ok((began, Hold::new(limit, began, passed, waited_before)))
}

/// Requests under way finish, unless they take too long for those who wait.
async fn drain(attempt: &Attempt<'_>, before: &[Container], most: Duration) -> Result<()> {
    let service = attempt.application.id.to_string();
    let draining = before.iter().map(async |container| -> Result<()> {
        let Some(address) = target(attempt, container).await? else { return Ok(()) };
        let set = Duration::from_secs(attempt.configuration.settings.drain_seconds.into());
        let drained = attempt.host.routes.drain(service.clone(), address, set.min(most)).await;
        drained.map(drop).map_err(|error| Interruption::Later(error.to_string()))
    });
    try_join_all(draining).await.map(drop)
}

async fn target(attempt: &Attempt<'_>, container: &Container) -> Result<Option<std::net::SocketAddr>> {
    let mut conn = attempt.host.app.db.read().await?;
    let deployment = deployments::get(&mut conn, container.deployment_id).await?.ok_or(Interruption::Lost)?;
    let release = releases::get(&mut conn, deployment.release_id).await?.ok_or(Interruption::Lost)?;
    Ok(super::drain::target(container, &release))
}

/// From now on they are not started again by anything but [`resume`].
async fn mark_held(attempt: &Attempt<'_>, before: &[Container]) -> Result<()> {
    let (mut work, now) = (attempt.held.begin().await?, attempt.host.app.now());
    for container in before {
        let stored = containers::by_name(&mut work, &container.name).await?;
        if stored.is_some_and(|stored| stored.stage == Stage::Live) {
            containers::set_stage(&mut work, container.id, Stage::Held).await?;
            containers::observe(&mut work, container.id, &container.engine_id, ContainerStatus::Exited).await?;
            deployments::observe_container(&mut work, container.deployment_id, ContainerStatus::Exited, now).await?;
        }
    }
    work.commit().await?;
    Ok(())
}

async fn stop(attempt: &Attempt<'_>, before: &[Container], most: Duration) -> Result<()> {
    attempt.held.check().await?;
    let stopping = before.iter().map(async |container| -> Result<()> {
        let grace = grace(attempt, container).await?;
        Ok(attempt.host.stop_container(&container.name, grace.min(most)).await?)
    });
    try_join_all(stopping).await.map(drop)
}

/// What the containers' own release says.
async fn grace(attempt: &Attempt<'_>, container: &Container) -> Result<Duration> {
    let mut conn = attempt.host.app.db.read().await?;
    let deployment = deployments::get(&mut conn, container.deployment_id).await?.ok_or(Interruption::Lost)?;
    let release = releases::get(&mut conn, deployment.release_id).await?.ok_or(Interruption::Lost)?;
    Ok(Duration::from_secs(read_configuration(&release.configuration)?.settings.stop_seconds.into()))
}

/// Visitors have been let through: for how long they waited, and how many. Into the deployment's row and its log.
pub async fn record(attempt: &Attempt<'_>, hold: &Hold) -> Result<()> {
    let now = attempt.host.app.now();
    let waited = attempt.host.routes.held_requests(attempt.application.id).await.saturating_sub(hold.waited_before);
    let milliseconds = now.micros().saturating_sub(hold.began.micros()) / 1000;
    let mut work = attempt.held.begin().await?;
    let count = i64::try_from(waited).unwrap_or(i64::MAX);
    deployments::add_held(&mut work, attempt.deployment.id, milliseconds, count, now).await?;
    work.commit().await?;
    let seconds = milliseconds as f64 / 1000.0;
    attempt.log.note(format!("Visitors were let through after {seconds:.1} s; {waited} requests have waited.")).await;
    Ok(())
}

/// Starts again what was stopped for a deployment that did not succeed, and lets visitors through. No container of that
/// deployment may be left.
pub async fn resume(host: &Host, application_id: Uuid) -> Result<()> {
    let mut conn = host.app.db.read().await?;
    let Some(application) = applications::get(&mut conn, application_id).await? else { return Ok(()) };
    let rows = containers::of_application(&mut conn, application_id).await?;
    drop(conn);
    let held: Vec<_> = rows.into_iter().filter(|row| row.stage == Stage::Held).collect();
    if application.wanted != Wanted::Running || (held.is_empty() && application.held_until.is_none()) {
        return Ok(());
    }
    kill_point::reached("resume-begun");
    for started in join_all(held.iter().map(|container| start_again(host, container))).await {
        started?;
    }
    kill_point::reached("resume-started");
    let mut work = host.app.begin_step().await?;
    applications::lock(&mut work, application_id).await?.ok_or(Interruption::Lost)?;
    let now = host.app.now();
    for container in &held {
        let stored = containers::by_name(&mut work, &container.name).await?;
        if stored.is_some_and(|stored| stored.stage == Stage::Held) {
            containers::set_stage(&mut work, container.id, Stage::Live).await?;
            containers::observe(&mut work, container.id, &container.engine_id, ContainerStatus::Running).await?;
            deployments::observe_container(&mut work, container.deployment_id, ContainerStatus::Running, now).await?;
        }
    }
    applications::set_held_until(&mut work, application_id, None).await?;
    states::settle(&mut work, application_id).await?;
    work.wake_reconciler();
    work.commit().await?;
    kill_point::reached("resume-live");
    host.routes.publish(&host.app.db).await?;
    Ok(())
}

/// One that has vanished is made again by the reconciler, once it is live.
async fn start_again(host: &Host, container: &Container) -> Result<()> {
    let started = async {
        host.restart_always(&container.name).await?;
        host.start_container(&container.name).await
    };
    match started.await {
        Ok(()) => {}
        Err(windlass_runtime::Error::NotFound { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    host.collector.begin(&container.name).await?;
    let mut conn = host.app.db.read().await?;
    let deployment = deployments::get(&mut conn, container.deployment_id).await?.ok_or(Interruption::Lost)?;
    let release = releases::get(&mut conn, deployment.release_id).await?.ok_or(Interruption::Lost)?;
    drop(conn);
    let Some(address) = super::drain::target(container, &release) else { return Ok(()) };
    let takes_connections = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(RESUME_PAUSE).await;
        }
    };
    if tokio::time::timeout(RESUME_LIMIT, takes_connections).await.is_err() {
        tracing::warn!(container = container.name, "a container that was started again takes no connections yet");
    }
    Ok(())
}
