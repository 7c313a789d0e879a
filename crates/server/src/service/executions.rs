//! Executions: extensions that are to be carried out. Carrying them out is in `executions`.

use uuid::Uuid;
use windlass_api as api;
use windlass_api::RunExtension;
use windlass_api::{Can, ErrorCode, EventName, ExecutionKind, ExecutionPhase, ExecutionStatus, StepStatus, UndoStatus};
use windlass_extension::{Kind, Phase, Values};
use windlass_store::executions::{self, End, Ending, Execution, Material, Step};
use windlass_store::extensions::Extension;
use windlass_store::jobs;

use crate::app::App;
use crate::auth::{Authority, Granted};
use crate::error::{Error, Result};
use crate::records;
use crate::service::audit::{Action, Actor, Change, Resource};
use crate::service::installations;
use crate::service::installed_volumes;
use crate::service::preparation::{Asked, Prepared, needs_engine, prepare, reasons_for_host_access};
use crate::service::queue;
use crate::service::work::{EventSubject, Work};

pub async fn run(app: &App, granted: &Granted<Extension>, input: &RunExtension) -> Result<api::ExtensionExecution> {
    let extension = granted.row();
    let name = input.name.as_deref().unwrap_or(&extension.extension_key);
    let given = input.variables.as_ref();
    let asked =
        match installations::values_of_failed(app, granted.authority().organization_id(), extension, name).await? {
            Some(stored) => Asked::Again { stored, given },
            None => Asked::Given(given),
        };
    let prepared = prepare(app, extension, &asked, name).await?;
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    if !reasons_for_host_access(&prepared.steps).is_empty() {
        authority.require(app, Can::ExtensionHost)?;
    }
    let (kind, installation_id) = match prepared.kind {
        Kind::Install => {
            let installation = installations::begin(&mut work, &authority, extension, name).await?;
            installed_volumes::join(&mut work, &authority, &installation, volumes_of(input)).await?;
            (ExecutionKind::Install, Some(installation.id))
        }
        Kind::Run => {
            refuse_volumes(input)?;
            (ExecutionKind::Run, None)
        }
    };
    let new = NewExecution { kind, installation_id, restored_id: None };
    let execution = insert(&mut work, &authority, extension, new, &prepared).await?;
    let answer = records::executions::full(&mut work, execution).await?;
    work.commit().await?;
    Ok(answer)
}

/// Those that an earlier installation has left behind.
pub fn volumes_of(input: &RunExtension) -> &[String] {
    input.volumes.as_deref().unwrap_or_default()
}

pub fn refuse_volumes(input: &RunExtension) -> Result<()> {
    match volumes_of(input) {
        [] => Ok(()),
        _ => Err(Error::field("volumes", "only an extension of the type install has volumes")),
    }
}

async fn refuse_too_many(work: &mut Work<'_>, authority: &Authority) -> Result<()> {
    let limit = work.app.config.organization_executions;
    if executions::count_under_way(work, authority.organization_id()).await? >= limit {
        let message =
            format!("{limit} executions of this organization wait or run, which is the most. Try again later.");
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    Ok(())
}

/// The rows of an execution, and the job that carries it out.
pub async fn insert(
    work: &mut Work<'_>,
    authority: &Authority,
    extension: &Extension,
    new: NewExecution,
    prepared: &Prepared,
) -> Result<Execution> {
    refuse_too_many(work, authority).await?;
    let execution = row(work.app, authority, extension, new, prepared.shown_values());
    store(work, &execution, &prepared.values, prepared.yaml_content.clone()).await?;
    for (order, resolved) in (1..).zip(&prepared.steps) {
        let step = new_step(work.app, &execution, order, &resolved.name, resolved.kind.as_str(), phase(resolved.phase));
        executions::insert_step(work, &step).await?;
    }
    enqueue(work, authority, extension, &execution, needs_engine(&prepared.steps)).await?;
    Ok(execution)
}

pub async fn store(work: &mut Work<'_>, execution: &Execution, values: &Values, yaml_content: String) -> Result<()> {
    let app = work.app;
    let sealed_values = app.vault.seal_execution_values(work, execution.id, values).await?;
    Ok(executions::insert(work, execution, &Material { sealed_values, yaml_content }).await?)
}

pub async fn enqueue(
    work: &mut Work<'_>,
    authority: &Authority,
    extension: &Extension,
    execution: &Execution,
    needs_engine: bool,
) -> Result<()> {
    work.enqueue(&queue::execution(execution, needs_engine)).await?;
    record(
        work,
        &authority.actor(),
        Action::Create,
        execution,
        extension,
        &format!("began to {}", execution.kind.as_str()),
    );
    tell(work, execution, extension, EventName::ExecutionQueued, "");
    Ok(())
}

/// What an execution is for.
#[derive(Clone, Copy, Debug)]
pub struct NewExecution {
    pub kind: ExecutionKind,
    pub installation_id: Option<Uuid>,
    /// The execution that a rollback brings back.
    pub restored_id: Option<Uuid>,
}

impl Default for NewExecution {
    fn default() -> Self {
        Self { kind: ExecutionKind::Run, installation_id: None, restored_id: None }
    }
}

pub fn row(
    app: &App,
    authority: &Authority,
    extension: &Extension,
    new: NewExecution,
    variable_values: String,
) -> Execution {
    Execution {
        id: app.new_id(),
        organization_id: authority.organization_id(),
        user_id: authority.user_id(),
        extension_id: extension.id,
        installation_id: new.installation_id,
        kind: new.kind,
        version: extension.version.clone(),
        content_hash: extension.content_hash.clone(),
        server_id: None,
        server_hostname: String::new(),
        may_reach_host: authority.may(Can::ExtensionHost),
        restored_id: new.restored_id,
        status: ExecutionStatus::Pending,
        ending: Ending(None),
        exit_code: None,
        error_message: String::new(),
        variable_values,
        started_at: None,
        completed_at: None,
        created_at: app.now(),
    }
}

pub fn new_step(
    app: &App,
    execution: &Execution,
    step_order: i64,
    name: &str,
    step_type: &str,
    phase: ExecutionPhase,
) -> Step {
    Step {
        id: app.new_id(),
        execution_id: execution.id,
        step_order,
        step_name: name.to_owned(),
        step_type: step_type.to_owned(),
        phase,
        status: StepStatus::Pending,
        exit_code: None,
        output: String::new(),
        undo: String::new(),
        undo_status: UndoStatus::None,
        undo_message: String::new(),
        started_at: None,
        completed_at: None,
        created_at: app.now(),
    }
}

pub fn phase(phase: Phase) -> ExecutionPhase {
    match phase {
        Phase::Run => ExecutionPhase::Run,
        Phase::Validate => ExecutionPhase::Validate,
    }
}

/// The message for the caller, and the execution. One that waits is cancelled at once, one that runs as soon as it can be.
pub async fn cancel(app: &App, granted: &Granted<Execution>) -> Result<(&'static str, api::ExtensionExecution)> {
    let mut work = app.begin().await?;
    let authority = work.hold(granted.authority()).await?;
    let id = granted.row().id;
    let execution = executions::get(&mut work, id).await?.ok_or_else(|| Error::not_found("execution"))?;
    // One that was begun has something to be undone, also while its job waits.
    let is_withdrawn = execution.status == ExecutionStatus::Pending && jobs::withdraw(&mut work, id).await?;
    let execution = executions::get(&mut work, id).await?.ok_or_else(|| Error::not_found("execution"))?;
    if execution.status.is_over() {
        let message = format!("This execution is over: it is {}.", execution.status.as_str());
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    if execution.kind == ExecutionKind::Uninstall && !is_withdrawn {
        let message = "What is being uninstalled cannot be brought back.";
        return Err(Error::new(ErrorCode::Conflict, message));
    }
    let extension = windlass_store::extensions::get(&mut work, execution.extension_id).await?;
    let extension = extension.ok_or_else(|| Error::not_found("extension"))?;
    let actor = authority.actor();
    record(&mut work, &actor, Action::Update, &execution, &extension, "cancelled a run of");
    let message = if is_withdrawn {
        let words = format!("cancelled by {} before it began", actor.name());
        let end = End { status: ExecutionStatus::Cancelled, exit_code: None, error_message: &words };
        executions::end(&mut work, id, &end, app.now()).await?;
        installations::fall_back(&mut work, &execution).await?;
        tell(&mut work, &execution, &extension, EventName::ExecutionCancelled, &words);
        "Execution cancelled"
    } else {
        jobs::request_cancel(&mut work, id, app.now()).await?;
        "Execution is being cancelled"
    };
    let execution = executions::get(&mut work, id).await?.ok_or_else(|| Error::not_found("execution"))?;
    let answer = records::executions::full(&mut work, execution).await?;
    work.commit().await?;
    Ok((message, answer))
}

/// An execution is over: told to all who want to hear of it.
pub async fn end(work: &mut Work<'_>, execution: &Execution, end: &End<'_>) -> windlass_store::Result<()> {
    let now = work.app.now();
    if !executions::end(work, execution.id, end, now).await? {
        return Ok(());
    }
    let Some(extension) = windlass_store::extensions::get(work, execution.extension_id).await? else { return Ok(()) };
    let name = match end.status {
        ExecutionStatus::Completed => EventName::ExecutionSucceeded,
        ExecutionStatus::Cancelled => EventName::ExecutionCancelled,
        ExecutionStatus::Failed | ExecutionStatus::Pending | ExecutionStatus::Running => EventName::ExecutionFailed,
    };
    tell(work, execution, &extension, name, end.error_message);
    let verb = format!("{} a run of", if end.status == ExecutionStatus::Completed { "completed" } else { "ended" });
    record(work, &Actor::Server, Action::Update, execution, &extension, &verb);
    let kept = work.app.config.kept_executions;
    executions::forget_old(work, execution.organization_id, kept).await
}

fn tell(work: &mut Work<'_>, execution: &Execution, extension: &Extension, name: EventName, reason: &str) {
    let about = EventSubject { organization_id: execution.organization_id, application_id: None, deployment_id: None };
    let id = execution.id.to_string();
    let details = [
        ("extension", extension.extension_key.as_str()),
        ("execution", &id),
        ("kind", execution.kind.as_str()),
        ("reason", reason),
    ];
    work.tell(name, about, &details);
}

fn record(
    work: &mut Work<'_>,
    actor: &Actor,
    action: Action,
    execution: &Execution,
    extension: &Extension,
    verb: &str,
) {
    let change = Change {
        organization_id: Some(execution.organization_id),
        action,
        resource: Resource::Execution,
        resource_id: execution.id,
        summary: &format!("{verb} the extension {}", extension.extension_key),
        details: &[
            ("extension", &extension.extension_key),
            ("kind", execution.kind.as_str()),
            ("version", &execution.version),
            ("content_hash", &execution.content_hash),
        ],
    };
    work.record(actor, &change);
}
