//! drain: what was replaced gets no new request, finishes those that it has, and is removed.

use std::net::SocketAddr;
use std::time::Duration;

use windlass_api::{Configuration, ContainerStatus};
use windlass_durable::kill_point;
use windlass_edge::target::Drained;
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::jobs::{Job, JobKind};
use windlass_store::{applications, deployments, releases};

use super::attempt::{begin_work, read};
use super::failure::{Interruption, Result};
use crate::engine::Engine;

/// Ends every container of the application that was replaced.
pub async fn drain(engine: &Engine, job: &Job) -> Result<Drained> {
    kill_point::reached("finish-begun");
    let live =
        containers::of_deployment(&mut engine.app.db.read().await?, job.deployment_id.unwrap_or_default()).await?;
    for container in live {
        if container.stage == Stage::Live {
            // From now on the engine restarts it by itself, also when Windlass is not there.
            engine.docker.restart_always(&container.name).await.or_else(unless_gone)?;
        }
    }
    let mut all = Drained::default();
    let rows = containers::of_application(&mut engine.app.db.read().await?, job.application_id).await?;
    for container in rows {
        if container.stage == Stage::Leaving {
            all.add(retire(engine, job, &container).await?);
        }
    }
    Ok(all)
}

/// The reconciler makes again what has vanished.
fn unless_gone(error: windlass_runtime::Error) -> std::result::Result<(), windlass_runtime::Error> {
    match error {
        windlass_runtime::Error::NotFound { .. } => Ok(()),
        error => Err(error),
    }
}

/// Lets a container that is in no route any more finish, ends it, and forgets it.
pub async fn retire(engine: &Engine, job: &Job, container: &Container) -> Result<Drained> {
    // Whoever takes it out of the routes may have ended before the edge was told.
    engine.routes.publish(&engine.app.db).await?;
    let mut conn = engine.app.db.read().await?;
    let deployment = deployments::get(&mut conn, container.deployment_id).await?.ok_or(Interruption::Lost)?;
    let release = releases::get(&mut conn, deployment.release_id).await?.ok_or(Interruption::Lost)?;
    drop(conn);
    let configuration: Configuration = read(&release.configuration)?;
    let address: Option<SocketAddr> = format!("{}:{}", container.address, release.port).parse().ok();
    let drained = match address {
        Some(address) if container.purpose == Purpose::App => {
            let deadline = Duration::from_secs(configuration.settings.drain_seconds.into());
            let service = container.application_id.to_string();
            engine
                .routes
                .drain(service, address, deadline)
                .await
                .map_err(|error| Interruption::Later(error.to_string()))?
        }
        _ => Drained::default(),
    };
    kill_point::reached("finish-drained");
    let grace = Duration::from_secs(configuration.settings.stop_seconds.into());
    if is_leaving(engine, job, container).await? {
        engine.docker.stop(&container.name, grace).await?;
    }
    kill_point::reached("finish-stopped");
    match job.kind {
        // Its lines go with it.
        JobKind::Delete => engine.collector.leave(job.application_id),
        _ => engine.read_to_end(&container.name).await?,
    }
    if is_leaving(engine, job, container).await? {
        engine.docker.remove(&container.name).await?;
    }
    kill_point::reached("finish-removed");
    let (mut tx, now) = (begin_work(engine, job).await?, engine.app.now());
    if containers::delete_leaving(&mut tx, container.id, now).await? {
        deployments::observe_container(&mut tx, container.deployment_id, ContainerStatus::Removed, now).await?;
    }
    applications::settle(&mut tx, container.application_id, now).await?;
    tx.commit().await?;
    Ok(drained)
}

/// Whether the container is still to go, and ours to end: whoever is about to destroy something looks again.
async fn is_leaving(engine: &Engine, job: &Job, container: &Container) -> Result<bool> {
    let mut tx = begin_work(engine, job).await?;
    let now = containers::by_name(&mut tx, &container.name).await?;
    Ok(now.is_some_and(|now| now.stage == Stage::Leaving))
}
