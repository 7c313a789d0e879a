//! Undoing what was completed, the last step first. What must be known for it is stored before a step changes anything.

use serde::{Deserialize, Serialize};
use windlass_api::{StepStatus, UndoStatus};
use windlass_durable::kill_point;
use windlass_extension::Action;

use super::failure::{Break, Interruption, Result, StepFailure, StepResult};
use super::machine::command::Script;
use super::machine::{MARK, Machine, command, file, package, service, user};
use super::run::Run;
use crate::jobs::{Ended, Lease};
use crate::programs::end_marked;

/// What the row of a step says of how it was before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Before {
    /// There is nothing to be undone.
    Nothing,
    /// The step says itself how it is undone, if it can be.
    Command,
    File(file::Before),
    Service(service::Before),
    User(user::Before),
    Package(package::Before),
    /// Rows say what was made and what was put aside. They are changed back once, for all steps together.
    Engine,
}

/// What became of undoing a step.
enum Undone {
    Done,
    Impossible(&'static str),
}

/// Everything that was completed. What could not be undone is told, and the others are undone nevertheless.
pub async fn all(run: &mut Run<'_>, lease: &mut Lease) -> Result<()> {
    let mut is_given_back = false;
    let elsewhere = run.is_elsewhere();
    for index in (0..run.steps.len()).rev() {
        let is_open = matches!(run.steps[index].undo_status, UndoStatus::None | UndoStatus::Undoing);
        if !is_open || run.steps[index].undo.is_empty() {
            continue;
        }
        let before = serde_json::from_str(&run.steps[index].undo)
            .map_err(|error| Interruption::Unreadable(format!("how to undo a step: {error}")))?;
        if !is_to_be_undone(run, index, &before) {
            continue;
        }
        match before {
            Before::Engine => {
                if !std::mem::replace(&mut is_given_back, true) {
                    run.give_back().await?;
                }
                run.end_undo(index, UndoStatus::Undone, "").await?;
            }
            _ if elsewhere => {
                let words = format!("it was done on another machine, {}", run.execution.server_hostname);
                run.end_undo(index, UndoStatus::Impossible, &words).await?;
            }
            before => one(run, index, &before, lease).await?,
        }
        kill_point::reached("execution-step-undone");
    }
    Ok(())
}

/// A step of an execution that was completed long ago, on this machine. What became of it.
pub async fn completed_step(run: &mut Run<'_>, index: usize, lease: &mut Lease) -> Result<UndoStatus> {
    if run.steps[index].undo_status != UndoStatus::Undone {
        let before = serde_json::from_str(&run.steps[index].undo)
            .map_err(|error| Interruption::Unreadable(format!("how to undo a step: {error}")))?;
        one(run, index, &before, lease).await?;
    }
    Ok(run.steps[index].undo_status)
}

/// A step that was not completed may have done a part of its work. How it was before is known but for commands.
fn is_to_be_undone(run: &Run<'_>, index: usize, before: &Before) -> bool {
    match run.steps[index].status {
        StepStatus::Completed | StepStatus::Failed | StepStatus::Cancelled => *before != Before::Nothing,
        StepStatus::Pending | StepStatus::Running | StepStatus::Skipped => false,
    }
}

/// Why a command is not undone although it has a way back; none if it is.
fn reason_against(run: &Run<'_>, index: usize) -> Option<&'static str> {
    match run.steps[index].status {
        StepStatus::Completed => None,
        _ => Some("it did not end as it should, and what it did until then is not known"),
    }
}

async fn one(run: &mut Run<'_>, index: usize, before: &Before, lease: &mut Lease) -> Result<()> {
    if let (Before::Command, Some(reason)) = (before, reason_against(run, index)) {
        return run.end_undo(index, UndoStatus::Impossible, reason).await;
    }
    if run.steps[index].undo_status == UndoStatus::Undoing {
        let id = run.steps[index].id.to_string();
        end_marked(MARK, id.as_bytes()).await.map_err(|error| Interruption::Later(error.to_string()))?;
        // A command that takes something back is never begun again: how far it came is not known.
        if *before == Before::Command {
            let words = "the server was stopped while it was undone; how far that came is not known";
            return run.end_undo(index, UndoStatus::Failed, words).await;
        }
    }
    run.end_undo(index, UndoStatus::Undoing, "").await?;
    kill_point::reached("execution-undo-begun");
    let (log, writer) = run.open_log(index);
    log.note("Undoing this step.").await;
    let machine = Machine { log, step_id: run.steps[index].id, saved: run.saved(index) };
    let undone = limited(run, index, &machine, before, lease).await;
    kill_point::reached("execution-undo-acted");
    if let Err(failure) = undone.as_ref().map_err(|_| Interruption::Lost)? {
        machine.log.note(format!("It could not be undone: {}", failure.words)).await;
    }
    drop(machine);
    writer.finish().await;
    match undone.map_err(|_| Interruption::Lost)? {
        Ok(Undone::Done) => run.end_undo(index, UndoStatus::Undone, "").await,
        Ok(Undone::Impossible(why)) => run.end_undo(index, UndoStatus::Impossible, why).await,
        Err(failure) => run.end_undo(index, UndoStatus::Failed, &failure.words).await,
    }
}

/// It is not cancelled, because that is what it is for; but it has no more time than the step itself.
async fn limited(
    run: &Run<'_>,
    index: usize,
    machine: &Machine,
    before: &Before,
    lease: &mut Lease,
) -> std::result::Result<StepResult<Undone>, Break> {
    let limit = run.resolved[index].timeout;
    let undoing = undo(&run.resolved[index].action, machine, before);
    // A thread that writes files cannot be stopped, so its end is waited for.
    if matches!(before, Before::File(_)) {
        return Ok(undoing.await);
    }
    let limited = async {
        match tokio::time::timeout(limit, undoing).await {
            Ok(undone) => undone,
            Err(_) => Err(StepFailure::new(format!("it took more than {} s", limit.as_secs()))),
        }
    };
    tokio::pin!(limited);
    tokio::select! {
        undone = &mut limited => Ok(undone),
        ended = lease.ended() => match ended {
            Ended::Cancelled => Ok(limited.await),
            Ended::Lost => Err(Break::Lost),
        },
    }
}

async fn undo(action: &Action, machine: &Machine, before: &Before) -> StepResult<Undone> {
    match (action, before) {
        (Action::Command { revert: Some(revert), user, environment, .. }, Before::Command) => {
            let script = Script { text: revert, user: user.as_deref(), environment };
            command::act(machine, &script).await?;
        }
        (Action::Command { revert: None, .. }, Before::Command) => {
            return Ok(Undone::Impossible("the step has no revert_cmd"));
        }
        (Action::File(action), Before::File(before)) => file::undo(machine, action, before).await?,
        (Action::Service { name, change }, Before::Service(before)) => {
            if let Some(inverse) = service::inverse(*change, *before) {
                service::act(machine, name, inverse).await?;
            }
        }
        (Action::User(action), Before::User(before)) => {
            if !user::can_be_undone(action, before) {
                return Ok(Undone::Impossible("a user who was deleted cannot be brought back"));
            }
            user::undo(machine, action, before).await?;
        }
        (Action::Package { names, state }, Before::Package(before)) => {
            package::undo(machine, names, *state, before).await?;
            if !package::can_be_undone(*state, before) {
                return Ok(Undone::Impossible("packages that were upgraded stay as they are"));
            }
        }
        _ => return Ok(Undone::Impossible("it is not known how the step was begun")),
    }
    Ok(Undone::Done)
}
