//! The services of extensions: as their rows say, while no execution works on them.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;
use windlass_runtime::ContainerSummary;
use windlass_store::containers::{self, Container, Stage};

use super::found::{is_dead, judge, remove_dead};
use crate::beside::Beside;
use crate::deploy::Result;
use crate::executions;
use crate::host::Host;

/// A service of an extension: rows without a job of their installation are made true.
pub(super) async fn look_after(
    host: &Arc<Host>,
    beside: &mut Beside,
    row: &Container,
    found: Option<&ContainerSummary>,
) -> Result<()> {
    let Some(no_other) = host.try_to_lock_containers(row.application_id) else { return Ok(()) };
    if executions::engine::is_busy(host, row.application_id).await? {
        return Ok(());
    }
    // The rows were read when the pass began.
    let now = containers::by_name(&mut host.app.db.read().await?, &row.name).await?;
    let Some(row) = now else { return Ok(()) };
    match row.stage {
        Stage::Live if found.is_some_and(is_dead) => {
            remove_dead(host, beside, &row, no_other);
            Ok(())
        }
        Stage::Live => {
            let kept = executions::engine::keep_alive(host, &row, found.map(|found| found.state)).await;
            // Also when it could not be repaired: what is shown is what is.
            observe_service(host, &row).await?;
            kept
        }
        Stage::Stopped => observe_service(host, &row).await,
        // The execution that put it aside is over.
        Stage::Held => executions::engine::resume(host, &row).await,
        Stage::Starting | Stage::Leaving if beside.is_busy_with(&row.name) => Ok(()),
        Stage::Starting | Stage::Leaving => {
            tracing::info!(container = row.name, "removing a service whose time is over");
            beside.begin(&row.name.clone(), forget_service(host.clone(), row, no_other));
            Ok(())
        }
    }
}

async fn forget_service(host: Arc<Host>, row: Container, _no_other: OwnedMutexGuard<()>) -> Result<()> {
    executions::engine::remove_container(&host, row.id, &row.name).await?;
    let (mut work, now) = (host.app.begin_step().await?, host.app.now());
    containers::delete(&mut work, row.id, now).await?;
    Ok(work.commit().await?)
}

async fn observe_service(host: &Host, row: &Container) -> Result<()> {
    let found = host.container(&row.name).await?;
    let seen = judge(host, row, found.as_ref());
    if seen.is_known(row) {
        return Ok(());
    }
    let mut work = host.app.begin_step().await?;
    containers::observe(&mut work, row.id, &seen.engine_id, seen.status).await?;
    containers::set_crash_loop(&mut work, row.id, seen.steady_restarts, &seen.crash_loop_text()).await?;
    Ok(work.commit().await?)
}
