//! drain: what was replaced gets no new request, finishes those that it has, and is removed.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use uuid::Uuid;
use windlass_durable::kill_point;
use windlass_edge::Drained;
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::deployments;
use windlass_store::releases::{self, Artifact, Release};

use super::failure::{Interruption, Result};
use super::services;
use crate::host::Host;
use crate::jobs::Held;
use crate::route_publisher;
use crate::service::{queue, states};
use crate::subject::read_configuration;

/// Ends every container of the application that was replaced.
pub async fn drain(host: &Host, held: &Held, deployment_id: Uuid) -> Result<Drained> {
    kill_point::reached("finish-begun");
    let instances = containers::instances_of(&mut host.app.db.read().await?, &[deployment_id]).await?;
    for instance in instances {
        if instance.stage == Stage::Live {
            // From now on the engine restarts it by itself, also when Windlass is not there.
            host.restart_always(&instance.name).await.or_else(unless_gone)?;
        }
    }
    let mut rows = containers::of_application(&mut host.app.db.read().await?, held.application_id()).await?;
    rows.retain(|row| row.stage == Stage::Leaving);
    retire(host, held, &rows).await
}

/// The reconciler makes again what has vanished.
fn unless_gone(error: windlass_runtime::Error) -> std::result::Result<(), windlass_runtime::Error> {
    match error {
        windlass_runtime::Error::NotFound { .. } => Ok(()),
        error => Err(error),
    }
}

/// Lets containers that are in no route any more finish, ends them, and forgets them. All at the same time: together
/// they take no longer than one.
pub async fn retire(host: &Host, held: &Held, leaving: &[Container]) -> Result<Drained> {
    let mut all = Drained::default();
    if leaving.is_empty() {
        return Ok(all);
    }
    // The worker that took them out of the routes may have ended before the edge was told.
    host.routes.publish(&host.app).await?;
    for drained in join_all(leaving.iter().map(|container| retire_one(host, held, container))).await {
        all.add(drained?);
    }
    Ok(all)
}

/// A container that gets no new requests, with what its own release says about its end.
pub struct Leaver {
    service: String,
    /// Where the edge sent visitors; none of a command.
    pub address: Option<SocketAddr>,
    drain: Duration,
    /// How long it may take to end.
    pub grace: Duration,
}

impl Leaver {
    pub async fn load(host: &Host, container: &Container) -> Result<Self> {
        let mut conn = host.app.db.read().await?;
        let deployment = deployments::get(&mut conn, container.deployment_id).await?.ok_or(Interruption::Lost)?;
        let release = releases::get(&mut conn, deployment.release_id).await?.ok_or(Interruption::Lost)?;
        drop(conn);
        let settings = read_configuration(&release.configuration)?.settings;
        let usual = Duration::from_secs(settings.stop_seconds.into());
        let grace = match container.service.as_str() {
            "" => usual,
            _ => services::grace(host, &release, container, usual).await?,
        };
        Ok(Self {
            service: route_publisher::edge_service_name(
                container.application_id,
                &container.service,
                release.main_service().unwrap_or_default(),
            ),
            address: target(container, &release).filter(|_| container.purpose == Purpose::App),
            drain: Duration::from_secs(settings.drain_seconds.into()),
            grace,
        })
    }

    /// Waits until its last request is over, or the time is.
    pub async fn drain(&self, host: &Host, most: Duration) -> Result<Drained> {
        let Some(address) = self.address else { return Ok(Drained::default()) };
        let drained = host.routes.drain(self.service.clone(), address, self.drain.min(most)).await;
        drained.map_err(|error| Interruption::Later(error.to_string()))
    }
}

async fn retire_one(host: &Host, held: &Held, container: &Container) -> Result<Drained> {
    let leaver = Leaver::load(host, container).await?;
    let drained = leaver.drain(host, Duration::MAX).await?;
    kill_point::reached("finish-drained");
    if is_leaving(held, container).await? {
        host.stop_container(&container.name, leaver.grace).await?;
    }
    kill_point::reached("finish-stopped");
    match held.job.kind.as_str() {
        // Its lines go with it.
        queue::DELETE => host.collector.leave(held.application_id()),
        _ => host.read_to_end(&container.name).await?,
    }
    if is_leaving(held, container).await? {
        host.remove_ended_container(&container.name).await?;
    }
    kill_point::reached("finish-removed");
    let (mut work, now) = (held.begin().await?, host.app.now());
    if containers::delete_leaving(&mut work, container.id, now).await? {
        states::container_deleted(&mut work, container).await?;
    }
    states::settle(&mut work, container.application_id).await?;
    work.commit().await?;
    Ok(drained)
}

/// Where the edge sent visitors.
fn target(container: &Container, release: &Release) -> Option<SocketAddr> {
    match &release.artifact {
        Some(Artifact::Image(image)) => container.socket_address(image.port),
        Some(Artifact::Services(_)) => {
            container.socket_address(u16::try_from(container.port).ok().filter(|port| *port > 0)?)
        }
        Some(Artifact::Site(_)) | None => None,
    }
}

/// Whether the container is still to go, and this worker's to end: a step that is about to destroy something looks
/// again.
async fn is_leaving(held: &Held, container: &Container) -> Result<bool> {
    let mut tx = held.begin().await?;
    let now = containers::by_name(&mut tx, &container.name).await?;
    Ok(now.is_some_and(|now| now.stage == Stage::Leaving))
}
