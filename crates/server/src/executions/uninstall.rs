//! Removing what an extension has installed: its services and domains, then what its steps have done to the machine, the last first.
//! What cannot be undone is told, and does not keep the rest from being undone.

use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{ExecutionStatus, StepStatus, UndoStatus};
use windlass_durable::kill_point;
use windlass_store::executions::{self, End, Execution, Step};
use windlass_store::{containers, installations};

use super::engine;
use super::failure::{Interruption, Result};
use super::run::Run;
use super::saved;
use super::undo;
use crate::host::{Host, HostError};
use crate::jobs::{Held, Lease};
use crate::service::executions as service;
use crate::service::installed_volumes;
use crate::service::uninstall::Removal;

/// How often the engine may be lost, or a container not be removable.
const MOST_TRIES: i64 = 5;

pub async fn carry_out(host: &Arc<Host>, held: &Held, execution: Execution, lease: &mut Lease) -> Result<()> {
    let mut steps = executions::steps(&mut host.app.db.read().await?, execution.id).await?;
    begin(host, held, &execution).await?;
    for step in &mut steps {
        if matches!(step.status, StepStatus::Completed | StepStatus::Failed) {
            continue;
        }
        let removal = Removal::of(step).map_err(Interruption::Unreadable)?;
        step.started_at.get_or_insert(host.app.now().micros());
        step.status = StepStatus::Running;
        store(held, step).await?;
        kill_point::reached("uninstall-step-begun");
        let (status, output) = match &removal {
            Removal::Services { .. } => match remove_services(host, held, &execution).await {
                Err(Interruption::EngineLost(words) | Interruption::Again(words))
                    if held.job.attempts + 1 >= MOST_TRIES =>
                {
                    (StepStatus::Failed, words)
                }
                removed => removed.map(|()| (StepStatus::Completed, String::new()))?,
            },
            Removal::Step { execution_id, order } => undo_step(host, held, *execution_id, *order, lease).await?,
        };
        step.completed_at = Some(host.app.now().micros());
        (step.status, step.output) = (status, output);
        store(held, step).await?;
        kill_point::reached("uninstall-step-stored");
    }
    end(host, held, &execution, &steps).await
}

async fn begin(host: &Host, held: &Held, execution: &Execution) -> Result<()> {
    let mut work = held.begin().await?;
    executions::begin(&mut work, execution.id, host.server_id(), &super::run::hostname(), host.app.now()).await?;
    work.commit().await?;
    Ok(())
}

async fn store(held: &Held, step: &Step) -> Result<()> {
    let mut work = held.begin().await?;
    executions::update_step(&mut work, step).await?;
    work.commit().await?;
    Ok(())
}

/// Ends and removes all containers. Their rows go last.
async fn remove_services(host: &Host, held: &Held, execution: &Execution) -> Result<()> {
    let Some(id) = execution.installation_id else { return Ok(()) };
    let _no_other = host.lock_containers(id).await;
    let mut work = held.begin().await?;
    engine::remove_all(&mut work, execution).await?;
    work.commit().await?;
    if let Err(error) = host.routes.publish(&host.app).await {
        return Err(Interruption::Later(error.to_string()));
    }
    for seen in installations::services(&mut host.app.db.read().await?, id).await? {
        match engine::remove_container(host, seen.service.id, &seen.container_name).await {
            Ok(()) => {}
            Err(HostError::Engine(error @ windlass_runtime::Error::Unreachable { .. })) => {
                return Err(Interruption::EngineLost(error.to_string()));
            }
            Err(HostError::Engine(error)) => return Err(Interruption::Again(error.to_string())),
            Err(HostError::Unread(unread)) => return Err(Interruption::Again(unread.to_string())),
        }
        let mut work = held.begin().await?;
        containers::delete(&mut work, seen.service.id, host.app.now()).await?;
        work.commit().await?;
        kill_point::reached("uninstall-service-removed");
    }
    Ok(())
}

/// What a step of an earlier execution has done to the machine. What cannot be undone at all is told, and is no failure.
async fn undo_step(
    host: &Arc<Host>,
    held: &Held,
    execution_id: Uuid,
    order: i64,
    lease: &mut Lease,
) -> Result<(StepStatus, String)> {
    let mut run = match Run::load(host, held, execution_id).await {
        Err(Interruption::Unreadable(words)) => return Ok((StepStatus::Failed, words)),
        run => run?,
    };
    let index = run.steps.iter().position(|step| step.step_order == order);
    let Some(index) = index else { return Ok((StepStatus::Completed, String::new())) };
    if run.is_elsewhere() {
        let words =
            format!("it was done on another machine, {}, and cannot be undone here", run.execution.server_hostname);
        return Ok((StepStatus::Failed, words));
    }
    let undone = undo::completed_step(&mut run, index, lease).await?;
    let status = if undone == UndoStatus::Failed { StepStatus::Failed } else { StepStatus::Completed };
    Ok((status, run.steps[index].undo_message.clone()))
}

/// The last transaction. An installation of which something is left stays, so that it can be removed once more.
async fn end(host: &Host, held: &Held, execution: &Execution, steps: &[Step]) -> Result<()> {
    let left: Vec<String> = steps
        .iter()
        .filter(|step| step.status == StepStatus::Failed)
        .map(|step| format!("{}: {}", step.step_name, step.output))
        .collect();
    let is_forced = steps.iter().filter_map(|step| Removal::of(step).ok()).any(|removal| removal.is_forced());
    let is_gone = left.is_empty() || is_forced;
    let (status, exit_code) = match is_gone {
        true => (ExecutionStatus::Completed, Some(0)),
        false => (ExecutionStatus::Failed, None),
    };
    let words = left.join("; ");
    let mut forgotten: Vec<Uuid> = Vec::new();
    let mut work = held.begin().await?;
    if let Some(id) = execution.installation_id {
        match is_gone {
            true => {
                let deleted = steps.iter().filter_map(|step| Removal::of(step).ok()).flat_map(Removal::deleted_volumes);
                installed_volumes::leave(&mut work, id, &deleted.collect::<Vec<_>>()).await?;
                // What is left of it could still be put back by hand.
                if left.is_empty() && steps.len() > 1 {
                    let all = executions::completed_of_installation(&mut work, id).await?;
                    forgotten = all.iter().map(|old| old.id).collect();
                }
                installations::delete(&mut work, id).await?;
            }
            false => {
                let state = windlass_api::InstallationState::Failed;
                installations::set_state(&mut work, id, state, host.app.now()).await?;
            }
        }
    }
    service::end(&mut work, execution, &End { status, exit_code, error_message: &words }).await?;
    held.done(&mut work).await?;
    work.commit().await?;
    kill_point::reached("uninstall-ended");
    for id in forgotten {
        saved::forget(&host.app, id).await;
    }
    Ok(())
}
