//! One execution as it is carried out: its rows, and the steps with every value in its place.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;
use windlass_api::{ExecutionStatus, LogStep, StepStatus, Timestamp, UndoStatus};
use windlass_compose::Project;
use windlass_durable::kill_point;
use windlass_extension::{Extension, ResolvedStep, Values};
use windlass_store::containers::{self, Stage};
use windlass_store::executions::{self, End, Execution, Step};
use windlass_store::installations::{self, Installation};
use windlass_store::logs::LogLine;
use windlass_store::{extensions, organizations};

use super::engine::{self, Engine};
use super::failure::{Interruption, Result, StepFailure, StepResult};
use super::saved;
use crate::app::App;
use crate::host::Host;
use crate::jobs::Held;
use crate::logs::Secrets;
use crate::logs::work_log::{self, Log, OF_STEP, Writer};
use crate::records::executions::last_lines;
use crate::service::executions as service;

pub struct Run<'a> {
    pub host: &'a Arc<Host>,
    pub held: &'a Held,
    pub execution: Execution,
    pub steps: Vec<Step>,
    pub resolved: Vec<ResolvedStep>,
    /// What it makes or changes; none for one that leaves nothing.
    pub installation: Option<Installation>,
    name: String,
    extension: Extension,
    values: Values,
    secrets: Secrets,
}

impl<'a> Run<'a> {
    pub async fn load(host: &'a Arc<Host>, held: &'a Held, id: Uuid) -> Result<Self> {
        let app = &host.app;
        let mut conn = app.db.read().await?;
        let execution = executions::get(&mut conn, id).await?.ok_or(Interruption::Lost)?;
        let material = executions::material(&mut conn, id).await?.ok_or(Interruption::Lost)?;
        let steps = executions::steps(&mut conn, id).await?;
        let extension = extensions::get(&mut conn, execution.extension_id).await?.ok_or(Interruption::Lost)?;
        let installation = match execution.installation_id {
            Some(id) => installations::get(&mut conn, id).await?,
            None => None,
        };
        drop(conn);
        let values = app.vault.execution_values(id, &material.sealed_values).await?;
        let checked = windlass_extension::check(&material.yaml_content).extension;
        let checked = checked.ok_or_else(|| unreadable("its text is not valid any more"))?;
        let name = installation.as_ref().map_or(&extension.extension_key, |installation| &installation.name).clone();
        let resolved = resolve(&checked, &values, &name)?;
        if resolved.len() != steps.len() {
            return Err(unreadable("its steps are not those of its text"));
        }
        let secrets = Secrets::of_texts(values.secrets());
        Ok(Self { host, held, execution, steps, resolved, installation, name, extension: checked, values, secrets })
    }

    fn app(&self) -> &App {
        &self.host.app
    }

    /// Where what a step replaces or removes is kept.
    pub fn saved(&self, index: usize) -> PathBuf {
        saved::folder(self.app(), self.execution.id).join(self.steps[index].step_order.to_string())
    }

    /// Whether what reaches beyond the organization's containers may be done: the user who asked for it was allowed to, and the
    /// organization still has host access.
    pub async fn has_host_access(&self) -> StepResult<bool> {
        let mut conn = self.app().db.read().await?;
        let has_host_access = organizations::has_host_access(&mut conn, self.execution.organization_id).await?;
        Ok(self.execution.may_reach_host && has_host_access)
    }

    /// Whether it has taken longer than executions may.
    pub fn is_overdue(&self) -> bool {
        let limit = self.app().config.execution_seconds;
        let started = self.execution.started_at.map(Timestamp::from_micros);
        started.is_some_and(|started| started.plus_seconds(limit) <= self.app().now())
    }

    /// What a step has to work with on the engine.
    pub async fn engine<'r>(&'r self, installation: &'r Installation, log: Log) -> StepResult<Engine<'r>> {
        let has_host_access = self.has_host_access().await?;
        Ok(Engine { host: self.host, held: self.held, execution: &self.execution, installation, has_host_access, log })
    }

    /// The services that a file of the machine describes.
    pub async fn project_of_file(&self, path: &Path) -> StepResult<Project> {
        let text = read_file(path.to_owned()).await?;
        self.extension.project_of_file(&text, &self.values, &self.name).map_err(|problems| {
            StepFailure::new(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        })
    }

    /// Whether another machine has begun it. What was done there cannot be undone here.
    pub fn is_elsewhere(&self) -> bool {
        self.execution.server_id.is_some_and(|id| id != self.host.server_id())
    }

    /// What the execution has done on the engine is taken back.
    pub async fn give_back(&self) -> Result<()> {
        let mut work = self.held.begin().await?;
        engine::give_back(&mut work, &self.execution).await?;
        work.commit().await?;
        kill_point::reached("execution-given-back");
        if let Err(problem) = self.restore().await {
            tracing::warn!(?problem, "services of before could not be started again at once");
            self.note("The services of before are started again as soon as the engine lets them be.").await;
        }
        Ok(())
    }

    /// What the rows say is done on the engine at once. What fails is done by the reconciler.
    async fn restore(&self) -> crate::deploy::Result<()> {
        let Some(installation) = &self.installation else { return Ok(()) };
        let _no_other = self.host.lock_containers(installation.id).await;
        let all = installations::services(&mut self.app().db.read().await?, installation.id).await?;
        for seen in all.iter().filter(|seen| seen.stage == Stage::Leaving) {
            engine::remove_container(self.host, seen.service.id, &seen.container_name).await?;
            let mut work = self.held.begin().await?;
            containers::delete(&mut work, seen.service.id, self.app().now()).await?;
            work.commit().await?;
        }
        for seen in all.iter().filter(|seen| seen.stage == Stage::Held) {
            let row = containers::by_name(&mut self.app().db.read().await?, &seen.container_name).await?;
            if let Some(row) = row {
                engine::resume(self.host, &row).await?;
            }
        }
        Ok(())
    }

    pub async fn begin(&mut self) -> Result<()> {
        let hostname = hostname();
        let mut work = self.held.begin().await?;
        executions::begin(&mut work, self.execution.id, self.host.server_id(), &hostname, self.app().now()).await?;
        work.commit().await?;
        if self.execution.server_id.is_none() {
            (self.execution.server_id, self.execution.server_hostname) = (Some(self.host.server_id()), hostname);
        }
        self.execution.started_at.get_or_insert(self.host.app.now().micros());
        kill_point::reached("execution-begun");
        Ok(())
    }

    /// The log of one step, and the task that writes it.
    pub fn open_log(&self, index: usize) -> (Log, Writer) {
        let ids = (self.execution.id, self.steps[index].id);
        work_log::open(self.host.app.clone(), ids, self.secrets.clone(), LogStep::Run, OF_STEP)
    }

    /// A line about the whole.
    pub async fn note(&self, text: impl Into<String>) {
        let text = self.secrets.safe_line(&text.into());
        let line = LogLine::note(self.app().now(), LogStep::Run, text);
        self.app().logs.note(self.execution.id, self.execution.id, line).await;
    }

    /// The step's row as it is in memory becomes what others see.
    pub async fn store(&self, index: usize) -> Result<()> {
        let mut work = self.held.begin().await?;
        executions::update_step(&mut work, &self.steps[index]).await?;
        work.commit().await?;
        Ok(())
    }

    /// How a step ended, with the end of what it printed.
    pub async fn end_step(&mut self, index: usize, status: StepStatus, exit_code: Option<i64>) -> Result<()> {
        let output =
            last_lines(&self.host.app.logs.store, windlass_store::logs::Of::Deployment(self.steps[index].id)).await;
        let now = self.app().now();
        let step = &mut self.steps[index];
        (step.status, step.exit_code, step.output) = (status, exit_code, output);
        step.completed_at = Some(now.micros());
        self.store(index).await
    }

    pub async fn end_undo(&mut self, index: usize, status: UndoStatus, message: &str) -> Result<()> {
        let message = self.secrets.safe_line(message);
        let step = &mut self.steps[index];
        (step.undo_status, step.undo_message) = (status, message);
        self.store(index).await
    }

    /// The execution goes no further; what it will have been is known from now on, also to the worker after a crash.
    pub async fn decide(&mut self, status: ExecutionStatus, exit_code: Option<i64>, words: &str) -> Result<()> {
        let words = self.secrets.safe_line(words);
        let mut work = self.held.begin().await?;
        let end = End { status, exit_code, error_message: &words };
        executions::set_ending(&mut work, self.execution.id, &end).await?;
        work.commit().await?;
        kill_point::reached("execution-decided");
        self.note(format!("{}: {words}", if status == ExecutionStatus::Cancelled { "Cancelled" } else { "Failed" }))
            .await;
        self.execution.ending.0 = Some(status);
        (self.execution.exit_code, self.execution.error_message) = (exit_code, words);
        Ok(())
    }

    /// The last transaction.
    pub async fn finish(self) -> Result<()> {
        let status = self.execution.ending.0.unwrap_or(ExecutionStatus::Completed);
        let words = self.execution.error_message.clone();
        let exit_code = if status == ExecutionStatus::Completed { Some(0) } else { self.execution.exit_code };
        self.note(format!("The execution is {}.", status.as_str())).await;
        let mut work = self.held.begin().await?;
        let end = End { status, exit_code, error_message: &words };
        match status {
            ExecutionStatus::Completed => engine::make_live(&mut work, &self.execution).await?,
            _ => {
                engine::give_back(&mut work, &self.execution).await?;
                engine::settle_failed(&mut work, &self.execution).await?;
            }
        }
        service::end(&mut work, &self.execution, &end).await?;
        self.held.done(&mut work).await?;
        work.commit().await?;
        kill_point::reached("execution-ended");
        // What was installed can still be uninstalled, and what could not be undone can be put back by hand.
        let is_undone = |step: &Step| !matches!(step.undo_status, UndoStatus::Failed | UndoStatus::Undoing);
        let is_over = status != ExecutionStatus::Completed && self.steps.iter().all(is_undone);
        if is_over || (status == ExecutionStatus::Completed && self.execution.installation_id.is_none()) {
            saved::forget(self.app(), self.execution.id).await;
        }
        Ok(())
    }
}

fn unreadable(problem: impl std::fmt::Display) -> Interruption {
    Interruption::Unreadable(problem.to_string())
}

fn resolve(extension: &Extension, values: &Values, name: &str) -> Result<Vec<ResolvedStep>> {
    windlass_extension::resolve(extension, values, name)
        .map_err(|problems| unreadable(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
}

/// The most that is read of a file of the machine.
const MOST_BYTES: u64 = 256 * 1024;

async fn read_file(path: PathBuf) -> StepResult<String> {
    let read = move || {
        let mut text = String::new();
        std::fs::File::open(&path)
            .and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
            .map(|_| text)
            .map_err(|error| StepFailure::new(format!("{}: {error}", path.display())))
    };
    tokio::task::spawn_blocking(read).await.map_err(StepFailure::new)?
}

/// What the machine calls itself.
pub fn hostname() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
