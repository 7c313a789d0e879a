//! What becomes of services and domains when an execution ends. The rows say it in one transaction; the reconciler makes the
//! engine and the edge agree with them.

use windlass_api::{ExecutionKind, InstallationState};
use windlass_store::containers::{self, Stage};
use windlass_store::executions::Execution;
use windlass_store::installations;
use windlass_store::{Result, executions, networks};

use crate::service::work::Work;

/// What the execution has made is in force, with those services of before that it wants as they are. All others go.
pub async fn make_live(work: &mut Work<'_>, execution: &Execution) -> Result<()> {
    let Some(id) = execution.installation_id else { return Ok(()) };
    let all = installations::services(work, id).await?;
    for seen in &all {
        let stage = match seen.stage {
            Stage::Leaving => continue,
            Stage::Stopped if seen.service.execution_id == execution.id => continue,
            _ if seen.service.execution_id == execution.id => Stage::Live,
            _ if seen.service.kept_by == Some(execution.id) => {
                installations::set_execution_of_service(work, seen.service.id, execution.id).await?;
                Stage::Live
            }
            _ => Stage::Leaving,
        };
        containers::set_stage(work, seen.service.id, stage).await?;
    }
    let now = work.app.now();
    installations::make_routes_live(work, id, execution.id, now).await?;
    let now = work.app.now();
    installations::set_execution(work, id, execution.id, now).await?;
    work.wake_reconciler();
    Ok(())
}

/// What the execution has made goes, and what it has put aside has its address again.
pub async fn give_back(work: &mut Work<'_>, execution: &Execution) -> Result<()> {
    let Some(id) = execution.installation_id else { return Ok(()) };
    let Some(installation) = installations::lock(work, id).await? else { return Ok(()) };
    for seen in installations::services(work, id).await? {
        if seen.service.execution_id == execution.id {
            containers::set_stage(work, seen.service.id, Stage::Leaving).await?;
        } else if seen.stage != Stage::Leaving {
            // Whatever replaced it was given its address. One that was put aside is started before it is live again.
            networks::take_address(work, installation.organization_id, &seen.address, seen.service.id).await?;
        }
    }
    installations::delete_waiting_routes(work, execution.id).await?;
    work.wake_reconciler();
    Ok(())
}

/// The state of an installation whose execution has failed, in that one's last transaction.
pub async fn settle_failed(work: &mut Work<'_>, execution: &Execution) -> Result<()> {
    let Some(id) = execution.installation_id else { return Ok(()) };
    let Some(installation) = installations::lock(work, id).await? else { return Ok(()) };
    // An uninstallation that could not undo everything has removed the services.
    let newest = executions::newest_uninstall(work, id).await?;
    let was_removed = newest.is_some_and(|removal| Some(removal) > installation.execution_id);
    let state = match (installation.execution_id, execution.kind) {
        (Some(_), ExecutionKind::Update | ExecutionKind::Rollback) if !was_removed => InstallationState::Installed,
        _ => InstallationState::Failed,
    };
    let now = work.app.now();
    installations::set_state(work, id, state, now).await
}

/// Everything goes but the volumes.
pub async fn remove_all(work: &mut Work<'_>, execution: &Execution) -> Result<()> {
    let Some(id) = execution.installation_id else { return Ok(()) };
    for seen in installations::services(work, id).await? {
        containers::set_stage(work, seen.service.id, Stage::Leaving).await?;
    }
    let now = work.app.now();
    installations::delete_routes(work, id, now).await?;
    work.wake_reconciler();
    Ok(())
}
