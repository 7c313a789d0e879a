//! Images of services: there already, or brought from their registry.

use tokio::sync::mpsc;
use windlass_api::LogStep;
use windlass_compose::PullPolicy;
use windlass_runtime::Image;
use windlass_store::applications;

use super::Engine;
use crate::executions::failure::{StepFailure, StepResult};
use crate::host::Host;
use crate::labels::{APPLICATION_LABEL, INSTANCE_LABEL};
use crate::logs::work_log::Log;

/// Lines about a pull that wait to be logged.
const QUEUE: usize = 100;

pub async fn ensure(engine: &Engine<'_>, reference: &str, policy: PullPolicy) -> StepResult<Image> {
    let found = engine.host.image(reference).await?;
    let is_own = match &found {
        Some(image) => is_built_for(engine, image).await?,
        None => false,
    };
    // What is on the engine may be there for others, so that an organization without host access gets it from the registry, as anyone can.
    let must_pull = !engine.has_host_access && !is_own;
    if must_pull || policy == PullPolicy::Always || (found.is_none() && policy == PullPolicy::Missing) {
        // One that cannot be renewed is used as it is.
        match (pull(engine.host, &engine.log, reference).await, &found) {
            (Err(failure), Some(_)) if !must_pull => {
                engine.log.note(format!("{reference} could not be renewed: {}", failure.words)).await;
            }
            (pulled, _) => pulled?,
        }
    }
    let image = engine.host.image(reference).await?;
    let image = image.ok_or_else(|| missing(reference))?;
    // In the same words as for one that is not there: it does not exist for this organization.
    match image.labels.contains_key(INSTANCE_LABEL) && !is_built_for(engine, &image).await? {
        true => Err(missing(reference)),
        false => Ok(image),
    }
}

fn missing(reference: &str) -> StepFailure {
    StepFailure::new(format!("the engine does not have the image {reference}"))
}

pub async fn pull(host: &Host, log: &Log, reference: &str) -> StepResult<()> {
    log.note(format!("Pulling {reference}")).await;
    let (sender, lines) = mpsc::channel(QUEUE);
    let pulling = async {
        let pulled = host.pull_image(reference, &sender).await;
        drop(sender);
        pulled
    };
    let (pulled, ()) = tokio::join!(pulling, log.take_all(LogStep::Run, lines));
    pulled.map_err(|error| {
        let failure = StepFailure::from(error);
        StepFailure { words: format!("{reference} could not be pulled: {}", failure.words), ..failure }
    })
}

/// Whether it was built for an application of the organization.
async fn is_built_for(engine: &Engine<'_>, image: &Image) -> StepResult<bool> {
    let application = image.labels.get(APPLICATION_LABEL).and_then(|id| id.parse().ok());
    let (true, Some(id)) = (image.labels.contains_key(INSTANCE_LABEL), application) else { return Ok(false) };
    let mut conn = engine.host.app.db.read().await?;
    let own = applications::of_organization(&mut conn, engine.installation.organization_id, id).await?;
    Ok(own.is_some())
}
