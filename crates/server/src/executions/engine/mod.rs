//! The container engine, as steps of extensions use it: services in containers of their own, in the organization's network.
//!
//! Rows come first, as everywhere: each step can run twice, and what it has made is found again. What an update replaces is stopped and
//! kept until the whole execution is completed; then the rows are switched in one transaction.

mod image;
mod route;
mod specification;
mod switch;
mod up;
mod upkeep;
mod volumes;
mod wait;

use std::sync::Arc;
use std::time::Duration;

use windlass_runtime::State;
use windlass_store::containers::{self, Stage};
use windlass_store::executions::Execution;
use windlass_store::installations::{self, Installation, Seen};
use windlass_store::jobs;

use super::failure::{StepFailure, StepResult};
use crate::host::Host;
use crate::jobs::Held;
use crate::logs::work_log::Log;

pub use image::pull;
pub use route::{route, unroute};
pub use switch::{give_back, make_live, remove_all, settle_failed};
pub use up::up;
pub use upkeep::{keep_alive, remove_container, resume};
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
        // An earlier step may have wanted it as it is.
        if seen.service.kept_by.is_some() {
            let mut work = self.held.begin().await?;
            installations::stop_keeping_service(&mut work, seen.service.id).await?;
            work.commit().await?;
        }
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

/// How long a service has to end by itself.
pub async fn stop_grace(host: &Host, id: uuid::Uuid) -> Duration {
    let grace = specification::load(host, id).await.ok().and_then(|specification| specification.service.stop_grace);
    grace.unwrap_or(specification::USUAL_GRACE).min(LONGEST_GRACE)
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

/// Whether a worker has a job of this installation, or will have.
pub async fn is_busy(host: &Host, installation_id: uuid::Uuid) -> windlass_store::Result<bool> {
    jobs::has_key(&mut host.app.db.read().await?, &crate::service::queue::installation_key(installation_id)).await
}
