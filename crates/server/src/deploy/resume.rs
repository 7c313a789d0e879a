//! resume: what was stopped for a deployment that did not succeed is started again, and visitors are let through to it.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::net::TcpStream;
use windlass_api::{ContainerStatus, Wanted};
use windlass_durable::kill_point;
use windlass_store::applications::{self, Application};
use windlass_store::containers::{self, Container, Stage};
use windlass_store::deployments;

use super::drain::Leaver;
use super::failure::{Interruption, Result};
use super::hold;
use crate::host::Host;
use crate::jobs::Held;
use crate::mounts;
use crate::service::states;

/// How long containers that are started again may take until they take connections. Then visitors are let through in any case: the
/// edge knows what to do with a target that takes none.
const START_LIMIT: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(20);

/// The job of an application whose visitors wait for a deployment that is over.
pub async fn resume_left(host: &Host, held: &Held) -> Result<()> {
    resume(host, held).await?;
    let mut work = held.begin().await?;
    held.done(&mut work).await?;
    work.commit().await?;
    Ok(())
}

/// Starts again what was stopped for a deployment that did not succeed, and lets visitors through. What is left of that deployment and
/// would write the same data is stopped first.
pub async fn resume(host: &Host, held: &Held) -> Result<()> {
    let id = held.application_id();
    let mut conn = host.app.db.read().await?;
    let Some(application) = applications::get(&mut conn, id).await? else { return Ok(()) };
    let rows = containers::of_application(&mut conn, id).await?;
    drop(conn);
    let (kept, others): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.stage == Stage::Held);
    if application.wanted != Wanted::Running || (kept.is_empty() && application.held_until.is_none()) {
        return Ok(());
    }
    kill_point::reached("resume-begun");
    let _no_other_start = host.lock_containers(id).await;
    held.check().await?;
    stop_excluded(host, &kept, &others).await?;
    for (container, started) in kept.iter().zip(join_all(kept.iter().map(|one| start_again(host, one))).await) {
        match started {
            Err(lost @ (Interruption::EngineLost(_) | Interruption::Lost)) => return Err(lost),
            // The reconciler goes on trying, once it is live; the others serve meanwhile.
            Err(problem) => tracing::warn!(container = container.name, ?problem, "it could not be started again yet"),
            Ok(()) => {}
        }
    }
    kill_point::reached("resume-started");
    make_live_again(host, held, &application, &kept).await?;
    kill_point::reached("resume-live");
    host.routes.publish(&host.app).await?;
    Ok(())
}

/// What is left of the deployment that they were stopped for may still write. A command is none of it: one of another release that has the
/// same data would have kept the deployment waiting, and one of their own writes what they write.
async fn stop_excluded(host: &Host, kept: &[Container], others: &[Container]) -> Result<()> {
    for other in others.iter().filter(|other| other.stage != Stage::Live && !hold::is_command(other)) {
        let theirs = mounts::of_container(other)?;
        for container in kept {
            if mounts::exclude(&mounts::of_container(container)?, &theirs) {
                host.stop_container(&other.name, Duration::ZERO).await?;
            }
        }
    }
    Ok(())
}

async fn make_live_again(host: &Host, held: &Held, application: &Application, kept: &[Container]) -> Result<()> {
    let (mut work, now) = (held.begin().await?, host.app.now());
    for container in kept {
        let stored = containers::by_name(&mut work, &container.name).await?;
        if stored.is_some_and(|stored| stored.stage == Stage::Held) {
            containers::set_stage(&mut work, container.id, Stage::Live).await?;
            containers::observe(&mut work, container.id, &container.engine_id, ContainerStatus::Running).await?;
            deployments::observe_container(&mut work, container.deployment_id, ContainerStatus::Running, now).await?;
        }
    }
    applications::set_held_until(&mut work, application.id, None).await?;
    states::settle(&mut work, application.id).await?;
    work.wake_reconciler();
    work.commit().await?;
    Ok(())
}

/// One that has vanished is made again by the reconciler, once it is live.
async fn start_again(host: &Host, container: &Container) -> Result<()> {
    // A worker that was called off may have asked for its end a moment ago.
    let leaver = Leaver::load(host, container).await?;
    host.stop_container(&container.name, leaver.grace).await?;
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
    let Some(address) = leaver.address else { return Ok(()) };
    let takes_connections = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
    };
    if tokio::time::timeout(START_LIMIT, takes_connections).await.is_err() {
        tracing::warn!(container = container.name, "a container that was started again takes no connections yet");
    }
    Ok(())
}
