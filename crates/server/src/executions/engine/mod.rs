//! The container engine, as steps of extensions use it: services in containers of their own, in the organization's network.
//!
//! Rows come first, as everywhere: each step can run twice, and what it has made is found again. What an update replaces is stopped and
//! kept until the whole execution is completed; then the rows are switched in one transaction.

mod image;
mod specification;
mod switch;
mod up;
mod volumes;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use windlass_runtime::State;
use windlass_store::containers::{self, Container, Stage};
use windlass_store::executions::Execution;
use windlass_store::installations::{self, Installation, Route, Seen};
use windlass_store::jobs;

use super::failure::{Interruption, StepFailure, StepResult};
use crate::host::{Host, HostError};
use crate::jobs::Held;
use crate::logs::work_log::Log;
use crate::service::domains;

pub use image::pull;
pub use switch::{give_back, make_live, remove_all, settle_failed};
pub use up::{STOP_GRACE, up};
pub use wait::wait_for;

/// A service that asks for more time to end has this much.
const LONGEST_GRACE: Duration = Duration::from_secs(120);

/// What a step has to work with.
pub struct Engine<'a> {
    pub host: &'a Arc<Host>,
    pub held: &'a Held,
    pub execution: &'a Execution,
    pub installation: &'a Installation,
    /// Whether what reaches beyond the organization's own containers may be done.
    pub has_host_access: bool,
    pub log: Log,
}

impl Engine<'_> {
    /// All services of the installation, those that are going included.
    async fn services(&self) -> StepResult<Vec<Seen>> {
        let mut conn = self.host.app.db.read().await?;
        Ok(installations::services(&mut conn, self.installation.id).await?)
    }

    /// The container that a name stands for now: that of this execution before one that is to be replaced.
    async fn current(&self, name: &str) -> StepResult<Option<Seen>> {
        let all = self.services().await?;
        let own = all.iter().find(|seen| seen.service.name == name && seen.service.execution_id == self.execution.id);
        let live = || all.iter().find(|seen| seen.service.name == name && seen.stage != Stage::Leaving);
        Ok(own.or_else(live).cloned())
    }

    async fn set_stage(&self, seen: &Seen, stage: Stage) -> StepResult<()> {
        let mut work = self.held.begin().await?;
        containers::set_stage(&mut work, seen.service.id, stage).await?;
        work.commit().await?;
        Ok(())
    }

    /// Stops a container that this execution replaces. It is started again if the execution fails.
    async fn put_aside(&self, seen: &Seen) -> StepResult<()> {
        let state = self.host.container(&seen.container_name).await?.map(|found| found.state);
        if seen.stage == Stage::Live {
            if !seen.service.is_kept && matches!(state, Some(State::Exited) | None) {
                // It has done its work, and is not to do it again if this execution fails.
                return Ok(());
            }
            self.log.note(format!("Stopping {}, which is replaced", seen.container_name)).await;
            self.set_stage(seen, Stage::Held).await?;
        }
        Ok(self.host.stop_container(&seen.container_name, stop_grace(self.host, seen.service.id).await).await?)
    }
}

impl From<windlass_store::Error> for StepFailure {
    fn from(error: windlass_store::Error) -> Self {
        Self::later(Interruption::from(error))
    }
}

impl From<windlass_runtime::Error> for StepFailure {
    fn from(error: windlass_runtime::Error) -> Self {
        match &error {
            windlass_runtime::Error::Unreachable { .. } => Self::later(Interruption::EngineLost(error.to_string())),
            _ => Self::new(error),
        }
    }
}

impl From<crate::deploy::Interruption> for StepFailure {
    fn from(problem: crate::deploy::Interruption) -> Self {
        use crate::deploy::Interruption as Problem;
        match problem {
            Problem::Failed(_, words) => Self::new(words),
            Problem::Cancelled | Problem::Lost => Self::later(Interruption::Lost),
            Problem::EngineLost(words) => Self::later(Interruption::EngineLost(words)),
            Problem::Later(words) => Self::later(Interruption::Later(words)),
        }
    }
}

impl From<crate::error::Error> for StepFailure {
    fn from(error: crate::error::Error) -> Self {
        match error.code {
            windlass_api::ErrorCode::Unavailable | windlass_api::ErrorCode::DiskFull => {
                Self::later(Interruption::Later(error.cause.unwrap_or(error.message)))
            }
            _ => Self::new(error.cause.unwrap_or(error.message)),
        }
    }
}

/// How long a service has to end by itself.
pub async fn stop_grace(host: &Host, id: uuid::Uuid) -> Duration {
    let grace = specification::load(host, id).await.ok().and_then(|specification| specification.service.stop_grace);
    grace.unwrap_or(STOP_GRACE).min(LONGEST_GRACE)
}

/// A service that an earlier step of this execution has stopped. One of before is replaced or kept by the steps that run services.
pub async fn start(engine: &Engine<'_>, name: &str) -> StepResult<()> {
    let seen = named(engine, name).await?;
    if seen.service.execution_id == engine.execution.id {
        engine.set_stage(&seen, Stage::Starting).await?;
        engine.host.start_container(&seen.container_name).await?;
    }
    Ok(())
}

/// It stays stopped until another step starts it.
pub async fn stop(engine: &Engine<'_>, name: &str) -> StepResult<()> {
    let seen = named(engine, name).await?;
    if seen.service.execution_id == engine.execution.id {
        engine.set_stage(&seen, Stage::Stopped).await?;
        let grace = stop_grace(engine.host, seen.service.id).await;
        engine.host.stop_container(&seen.container_name, grace).await?;
    }
    Ok(())
}

async fn named(engine: &Engine<'_>, name: &str) -> StepResult<Seen> {
    let seen = engine.current(name).await?;
    seen.ok_or_else(|| StepFailure::new(format!("this installation has no service {name}")))
}

/// One that is not there is fine: many extensions remove before they run.
pub async fn remove(engine: &Engine<'_>, name: &str) -> StepResult<()> {
    match engine.current(name).await? {
        Some(seen) if seen.service.execution_id == engine.execution.id => {
            engine.set_stage(&seen, Stage::Leaving).await?;
            let grace = stop_grace(engine.host, seen.service.id).await;
            Ok(engine.host.stop_container(&seen.container_name, grace).await?)
        }
        Some(seen) => engine.put_aside(&seen).await,
        None => {
            engine.log.note(format!("There is no service {name} to be removed.")).await;
            Ok(())
        }
    }
}

pub async fn down(engine: &Engine<'_>) -> StepResult<()> {
    let mut names: Vec<_> = engine.services().await?.into_iter().map(|seen| seen.service.name).collect();
    names.dedup();
    for name in names {
        remove(engine, &name).await?;
    }
    Ok(())
}

/// A domain that leads to a service once the execution is completed.
pub async fn route(engine: &Engine<'_>, domain: &str, service: Option<&str>, port: u16) -> StepResult<()> {
    let service = match service {
        Some(name) => named(engine, name).await?.service.name,
        None => only_service(engine).await?,
    };
    let (app, id) = (&engine.host.app, engine.installation.id);
    let mut work = engine.held.begin().await?;
    domains::refuse_taken(&mut work, &app.config, domain, id).await?;
    let routes = installations::routes(&mut work, id).await?;
    let own = routes.iter().find(|route| route.domain == domain && route.execution_id == engine.execution.id);
    if own.is_none() {
        let route = Route {
            id: app.new_id(),
            installation_id: id,
            execution_id: engine.execution.id,
            domain: domain.to_owned(),
            service: service.clone(),
            port: port.into(),
            is_live: false,
            created_at: app.now(),
        };
        installations::insert_route(&mut work, &route).await?;
    }
    work.commit().await?;
    engine.log.note(format!("{domain} leads to port {port} of {service} once the execution is completed.")).await;
    Ok(())
}

async fn only_service(engine: &Engine<'_>) -> StepResult<String> {
    let mut names: Vec<_> = engine.services().await?.into_iter().map(|seen| seen.service.name).collect();
    names.dedup();
    match names.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(StepFailure::new("there is no service that the domain could lead to; run one before")),
        _ => Err(StepFailure::new(format!(
            "say in \"service\" which of these the domain leads to: {}",
            names.join(", ")
        ))),
    }
}

/// Keeps a live service as it should be: the reconciler calls it for each.
pub async fn keep_alive(host: &Host, row: &Container, state: Option<State>) -> crate::deploy::Result<()> {
    let Some(service) = installations::service(&mut host.app.db.read().await?, row.id).await? else { return Ok(()) };
    match state {
        Some(State::Running | State::Restarting) => {}
        Some(State::Paused) => host.unpause_container(&row.name).await?,
        // What was to end has ended.
        Some(State::Exited) | None if !service.is_kept => {}
        Some(State::Created) => {
            let specification = specification::load(host, row.id).await?;
            specification::write_files(host, row, &specification.service).await?;
            start_again(host, row).await?;
        }
        Some(State::Exited) if ended_well(host, row).await? => {}
        Some(State::Exited) => start_again(host, row).await?,
        Some(State::Dead | State::Removing) => host.remove_container(&row.name).await?,
        None => {
            tracing::info!(container = row.name, "making a service again that has vanished");
            specification::make_again(host, row).await?;
        }
    }
    Ok(())
}

/// Whether it is to be started again after a failure only, and has ended without one.
async fn ended_well(host: &Host, row: &Container) -> crate::deploy::Result<bool> {
    let restart = specification::load(host, row.id).await?.service.restart;
    let exit_code = host.container(&row.name).await?.map(|found| found.exit_code);
    Ok(restart == windlass_compose::Restart::OnFailure && exit_code == Some(0))
}

async fn start_again(host: &Host, row: &Container) -> crate::deploy::Result<()> {
    tracing::info!(container = row.name, "starting a service that has ended");
    host.restart_always(&row.name).await?;
    Ok(host.start_container(&row.name).await?)
}

/// One that was put aside by an execution that is over: it runs again, whatever it is.
pub async fn resume(host: &Host, row: &Container) -> crate::deploy::Result<()> {
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

/// Whether a worker has a job of this installation, or will have.
pub async fn is_busy(host: &Host, installation_id: uuid::Uuid) -> windlass_store::Result<bool> {
    jobs::has_key(&mut host.app.db.read().await?, &crate::service::queue::installation_key(installation_id)).await
}
