//! When a service of a compose file is well.

use std::time::Duration;

use windlass_api::LogStep;
use windlass_compose::Health;
use windlass_runtime::{HealthCheck, Image};
use windlass_store::containers::Container;

use crate::deploy::attempt::Attempt;
use crate::deploy::failure::Result;
use crate::deploy::health::{Expected, wait_for};
use crate::release_services::ReleaseService;

/// Waits until a service is well: by its own check, and reachable if visitors reach it. One without a check must have run for a moment.
pub async fn wait_for_service(
    attempt: &Attempt<'_>,
    instance: &Container,
    definition: &ReleaseService,
    image: &Image,
    is_visited: bool,
) -> Result<()> {
    attempt.log.enter(LogStep::Health);
    let is_main = attempt.release.main_service() == Some(&instance.service);
    let path = if is_main { attempt.configuration.settings.health_path.clone() } else { String::new() };
    let port = if is_visited { definition.port } else { 0 };
    let check = service_check(definition.service.health.as_ref(), image.health_check.as_ref());
    wait_for(attempt, instance, Expected { port, path, check, search: None }).await?;
    Ok(())
}

/// What the compose file says goes before what the image says.
fn service_check(service: Option<&Health>, image: Option<&HealthCheck>) -> Option<HealthCheck> {
    let Some(own) = service else { return image.cloned() };
    if own.disabled {
        return None;
    }
    let usual = image.cloned().unwrap_or(HealthCheck {
        command: Vec::new(),
        interval: Duration::from_secs(30),
        timeout: Duration::from_secs(30),
        start_period: Duration::ZERO,
        retries: 3,
    });
    let command = match own.test.split_first() {
        None => usual.command,
        Some((kind, words)) if kind == "CMD-SHELL" => {
            ["/bin/sh", "-c"].into_iter().map(str::to_owned).chain(words.iter().cloned()).collect()
        }
        Some((_, words)) => words.to_vec(),
    };
    let check = HealthCheck {
        command,
        interval: own.interval.unwrap_or(usual.interval),
        timeout: own.timeout.unwrap_or(usual.timeout),
        start_period: own.start_period.unwrap_or(usual.start_period),
        retries: own.retries.unwrap_or(usual.retries),
    };
    Some(check).filter(|check| !check.command.is_empty())
}
