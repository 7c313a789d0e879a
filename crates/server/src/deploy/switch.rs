//! switch: visitors are sent to the new instances from one instant to the next. The transaction is the point of no
//! return: after it the worker carries the deployment to its end. Only when the edge has been told does the deployment
//! say `deployed`.

use windlass_api::{ContainerStatus, DeploymentState, LogStep, Wanted};
use windlass_durable::kill_point;
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::{applications, deployments, jobs, releases};

use super::attempt::Attempt;
use super::failure::{Interruption, Result};
use super::{hold, restore};
use crate::service::{queue, states};

pub async fn switch(attempt: &mut Attempt<'_>, instances: &[Container]) -> Result<()> {
    kill_point::reached("deploy-before-switch");
    make_live(attempt, instances).await?;
    kill_point::reached("deploy-switched");
    attempt.host.routes.publish(&attempt.host.app).await?;
    kill_point::reached("deploy-published");
    hold::note_wait(attempt).await?;
    say_deployed(attempt).await?;
    kill_point::reached("deploy-deployed");
    attempt.log.enter(LogStep::Switch);
    attempt.log.note(format!("Deployed: visitors of {} are served by it", attempt.application.domain)).await;
    Ok(())
}

/// Can run twice: what is live already stays so.
async fn make_live(attempt: &Attempt<'_>, instances: &[Container]) -> Result<()> {
    let deployment = &attempt.deployment;
    let now = attempt.host.app.now();
    let mut tx = attempt.held.begin().await?;
    let application = applications::lock(&mut tx, deployment.application_id).await?.ok_or(Interruption::Lost)?;
    if application.live_deployment_id == Some(deployment.id) {
        return Ok(());
    }
    let is_cancelled = jobs::is_cancel_requested(&mut tx, attempt.held.job.id).await?;
    if is_cancelled || application.wanted != Wanted::Running {
        return Err(Interruption::Cancelled);
    }
    for other in containers::of_application(&mut tx, application.id).await? {
        if matches!(other.stage, Stage::Live | Stage::Held) && other.purpose == Purpose::App {
            containers::set_stage(&mut tx, other.id, Stage::Leaving).await?;
        }
    }
    for instance in instances {
        if !containers::set_stage(&mut tx, instance.id, Stage::Live).await? {
            return Err(Interruption::Later("a container of the deployment is gone".into()));
        }
        containers::observe(&mut tx, instance.id, &instance.engine_id, ContainerStatus::Running).await?;
        if instance.deployment_id != deployment.id {
            containers::set_deployment(&mut tx, instance.id, deployment.id, instance.ordinal).await?;
        }
    }
    restore::exchange(&mut tx, attempt).await?;
    states::set_live(&mut tx, application.id, Some(deployment.id)).await?;
    releases::set_live_at(&mut tx, deployment.release_id, now).await?;
    if !instances.is_empty() {
        deployments::observe_container(&mut tx, deployment.id, ContainerStatus::Running, now).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// What is left to do needs nothing of the application for itself, so it is a job of its own.
async fn say_deployed(attempt: &mut Attempt<'_>) -> Result<()> {
    let mut work = attempt.held.begin().await?;
    attempt.record_outcome(&mut work, "deployed", None);
    attempt.advance_in(&mut work, DeploymentState::Deployed).await?;
    let job = queue::finish(&attempt.application, attempt.host.app.new_id(), attempt.deployment.id);
    work.enqueue(&job).await?;
    attempt.held.done(&mut work).await?;
    states::settle(&mut work, attempt.application.id).await?;
    work.commit().await?;
    Ok(())
}
