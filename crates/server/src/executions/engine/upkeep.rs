//! Services that no execution is working on, kept as they should be.

use windlass_runtime::State;
use windlass_store::containers::{self, Container, Stage};
use windlass_store::installations;

use super::{specification, stop_grace};
use crate::deploy;
use crate::host::{Host, HostError};

/// Keeps a live service as it should be: the reconciler calls it for each.
pub async fn keep_alive(host: &Host, row: &Container, state: Option<State>) -> deploy::Result<()> {
    let Some(service) = installations::service(&mut host.app.db.read().await?, row.id).await? else { return Ok(()) };
    match state {
        Some(State::Running | State::Restarting) => {}
        Some(State::Paused) => host.unpause_container(&row.name).await?,
        // What was to end has ended.
        Some(State::Exited) | None if !service.is_kept => {}
        Some(State::Created) => {
            let specification = specification::load(host, row.id).await?;
            deploy::write_service_files(host, row, &specification.service).await?;
            start_again(host, row).await?;
        }
        Some(State::Exited) if ended_well(host, row).await? => {}
        Some(State::Exited) => start_again(host, row).await?,
        // The reconciler removes it.
        Some(State::Dead | State::Removing) => {}
        None => {
            tracing::info!(container = row.name, "making a service again that has vanished");
            specification::make_again(host, row).await?;
        }
    }
    Ok(())
}

/// Whether it is to be started again after a failure only, and has ended without one.
async fn ended_well(host: &Host, row: &Container) -> deploy::Result<bool> {
    let restart = specification::load(host, row.id).await?.service.restart;
    let exit_code = host.container(&row.name).await?.map(|found| found.exit_code);
    Ok(restart == windlass_compose::Restart::OnFailure && exit_code == Some(0))
}

async fn start_again(host: &Host, row: &Container) -> deploy::Result<()> {
    tracing::info!(container = row.name, "starting a service that has ended");
    let restart = specification::load(host, row.id).await?.service.restart;
    specification::start(host, row, restart).await
}

/// One that was put aside by an execution that is over: it runs again, whatever it is.
pub async fn resume(host: &Host, row: &Container) -> deploy::Result<()> {
    match host.start_container(&row.name).await {
        // Another program has removed it: the reconciler makes it again once it is live.
        Err(windlass_runtime::Error::NotFound { .. }) => {}
        started => started?,
    }
    let mut work = host.app.begin_step().await?;
    containers::set_stage(&mut work, row.id, Stage::Live).await?;
    Ok(work.commit().await?)
}

/// One whose time is over: ended in its own time, and removed once its last lines are stored.
pub async fn remove_container(host: &Host, id: uuid::Uuid, name: &str) -> Result<(), HostError> {
    host.stop_container(name, stop_grace(host, id).await).await?;
    host.remove_container(name).await
}
