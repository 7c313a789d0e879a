//! Domains that lead to services. They are switched with everything else when the execution is completed.

use windlass_store::installations::{self, Route};

use super::{Engine, named};
use crate::executions::failure::{StepFailure, StepResult};
use crate::service::domain_choice;

/// A domain that leads to a service once the execution is completed.
pub async fn route(engine: &Engine<'_>, domain: &str, service: Option<&str>, port: u16) -> StepResult<()> {
    let service = match service {
        Some(name) => named(engine, name).await?.service.name,
        None => only_service(engine).await?,
    };
    let (app, id) = (&engine.host.app, engine.installation.id);
    let mut work = engine.held.begin().await?;
    domain_choice::check_for_installation(&mut work, app, domain, engine.installation).await?;
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

/// A domain of the version before goes by itself, because only what this execution has added becomes live.
pub async fn unroute(engine: &Engine<'_>, domain: &str) -> StepResult<()> {
    let mut work = engine.held.begin().await?;
    installations::delete_waiting_route(&mut work, engine.execution.id, domain).await?;
    work.commit().await?;
    engine.log.note(format!("{domain} leads nowhere any more once the execution is completed.")).await;
    Ok(())
}
