//! Images of services: there already, or brought from their registry.

use windlass_api::LogStep;
use windlass_compose::PullPolicy;
use windlass_runtime::Image;

use super::Engine;
use crate::executions::failure::StepResult;
use crate::host::Host;
use crate::logs::work_log::Log;
use crate::pulled_images::{self, PullFor};

pub async fn ensure(engine: &Engine<'_>, reference: &str, policy: PullPolicy) -> StepResult<Image> {
    let pull_for = PullFor {
        organization_id: engine.installation.organization_id,
        has_host_access: engine.has_host_access,
        may_use_built: true,
        shows_credentials: true,
        explains: false,
        is_temporary: false,
        log: &engine.log,
        step: LogStep::Run,
    };
    Ok(pulled_images::ensure(engine.host, &pull_for, reference, policy).await?)
}

pub async fn pull(host: &Host, has_host_access: bool, log: &Log, reference: &str) -> StepResult<()> {
    Ok(pulled_images::pull(host, has_host_access, log, LogStep::Run, reference).await?)
}
