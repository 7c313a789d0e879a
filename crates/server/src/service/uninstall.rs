//! Uninstallations: what each step of one removes is in its row. Carrying them out is in `executions::uninstall`.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_api as api;
use windlass_api::{Can, ExecutionKind, ExecutionPhase, InstallationState, Uninstall};
use windlass_extension::Values;
use windlass_store::executions::{self, Execution, Step};
use windlass_store::extensions::{self, Extension};
use windlass_store::installations::{self as rows, Installation};
use windlass_store::volumes;

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::Action;
use crate::service::executions::{NewExecution, enqueue, new_step, row, store};
use crate::service::installations::{hold_still, record};
use crate::service::work::Work;

/// What a step of an uninstallation removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Removal {
    /// All containers and domains, and with the end of it these volumes.
    Services {
        volumes: Vec<String>,
        /// Whether the installation goes although something of it is left.
        force: bool,
    },
    /// What a step of an earlier execution has done to the machine.
    Step { execution_id: Uuid, order: i64 },
}

impl Removal {
    pub fn of(step: &Step) -> std::result::Result<Self, String> {
        serde_json::from_str(&step.undo).map_err(|error| format!("what to uninstall: {error}"))
    }

    pub fn is_forced(&self) -> bool {
        matches!(self, Self::Services { force: true, .. })
    }

    pub fn deleted_volumes(self) -> Vec<String> {
        match self {
            Self::Services { volumes, .. } => volumes,
            Self::Step { .. } => Vec::new(),
        }
    }
}

/// Removes what was installed. Volumes stay unless they are named.
pub async fn uninstall(
    app: &App,
    granted: &Granted<Installation>,
    input: &Uninstall,
) -> Result<api::ExtensionExecution> {
    if *input.name != *granted.row().name {
        return Err(Error::field("name", format!("is not the name of the installation, {}", granted.row().name)));
    }
    let force = input.force.unwrap_or(false);
    let named: Vec<String> = input.volumes.iter().flat_map(|names| names.iter().map(ToString::to_string)).collect();
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let installation = hold_still(&mut work, granted.row()).await?;
    let own = volumes::of_installation(&mut work, installation.id).await?;
    if let Some(unknown) = named.iter().find(|name| !own.iter().any(|volume| volume.name == **name)) {
        return Err(Error::field(
            "volumes",
            format!("{} has no volume {unknown}; nothing was removed", installation.name),
        ));
    }
    let extension = extensions::get(&mut work, installation.extension_id).await?;
    let extension = extension.ok_or_else(|| Error::not_found("extension"))?;
    let mut removals = vec![(
        "Remove services and domains".to_owned(),
        "docker_compose".to_owned(),
        Removal::Services { volumes: named, force },
    )];
    let on_machine = done_to_machine(&mut work, &installation).await?;
    match authority.may(Can::ExtensionHost) {
        true => removals.extend(on_machine),
        // What it did to the machine stays.
        false if force => {}
        false if on_machine.is_empty() => {}
        false => authority.require(app, Can::ExtensionHost)?,
    }
    let execution = insert(&mut work, &authority, &extension, &installation, removals).await?;
    rows::set_state(&mut work, installation.id, InstallationState::Uninstalling, app.now()).await?;
    record(&mut work, &authority, Action::Delete, &installation, "uninstalled");
    let answer = records::executions::full(&mut work, execution).await?;
    work.commit().await?;
    Ok(answer)
}

/// Steps that changed the machine and are not undone, the last first.
async fn done_to_machine(work: &mut Work<'_>, installation: &Installation) -> Result<Vec<(String, String, Removal)>> {
    let (mut found, mut of_later) = (Vec::new(), HashSet::new());
    for execution in executions::completed_of_installation(work, installation.id).await? {
        let steps = executions::steps(work, execution.id).await?;
        let own: Vec<String> = steps.iter().map(|step| step.step_name.clone()).collect();
        for step in steps.into_iter().rev().filter(changed_machine) {
            // A command that each version has run is taken back once: the next time there would be nothing to take back.
            if step.step_type == "command" && of_later.contains(&step.step_name) {
                continue;
            }
            let removal = Removal::Step { execution_id: execution.id, order: step.step_order };
            found.push((format!("Undo: {}", step.step_name), step.step_type, removal));
        }
        of_later.extend(own);
    }
    Ok(found)
}

fn changed_machine(step: &Step) -> bool {
    let is_of_machine = matches!(step.step_type.as_str(), "command" | "file" | "service" | "user" | "package");
    let is_left = !matches!(step.undo_status, api::UndoStatus::Undone | api::UndoStatus::Impossible);
    // One whose errors are ignored may have done a part of its work.
    let was_begun =
        matches!(step.status, api::StepStatus::Completed | api::StepStatus::Failed) && !step.undo.is_empty();
    is_of_machine && is_left && step.phase == ExecutionPhase::Run && was_begun
}

/// The rows of the execution, and the job that carries it out.
async fn insert(
    work: &mut Work<'_>,
    authority: &Authority,
    extension: &Extension,
    installation: &Installation,
    removals: Vec<(String, String, Removal)>,
) -> Result<Execution> {
    let has_services = !rows::services(work, installation.id).await?.is_empty();
    let (kind, installation_id) = (ExecutionKind::Uninstall, Some(installation.id));
    let new = NewExecution { kind, installation_id, restored_id: None };
    let execution = row(work.app, authority, extension, new, "{}".to_owned());
    store(work, &execution, &Values::default(), String::new()).await?;
    for (order, (name, step_type, removal)) in (1..).zip(removals) {
        let undo = serde_json::to_string(&removal).map_err(Error::internal)?;
        let step = new_step(work.app, &execution, order, &name, &step_type, ExecutionPhase::Undo);
        executions::insert_step(work, &Step { undo, ..step }).await?;
    }
    enqueue(work, authority, extension, &execution, has_services).await?;
    Ok(execution)
}
