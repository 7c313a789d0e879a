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
    if policy == PullPolicy::Always || (found.is_none() && policy == PullPolicy::Missing) {
        // One that cannot be renewed is used as it is.
        match (pull(engine.host, &engine.log, reference).await, &found) {
            (Err(failure), Some(_)) => {
                engine.log.note(format!("{reference} could not be renewed: {}", failure.words)).await;
            }
            (pulled, _) => pulled?,
        }
    }
    let image = engine.host.image(reference).await?;
    let image = image.ok_or_else(|| StepFailure::new(format!("the engine does not have the image {reference}")))?;
    refuse_foreign(engine, reference, &image).await?;
    Ok(image)
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

/// What was built for an application is for its organization only, and what the operator has put on the engine for organizations with
/// host access.
async fn refuse_foreign(engine: &Engine<'_>, reference: &str, image: &Image) -> StepResult<()> {
    if !image.labels.contains_key(INSTANCE_LABEL) && (image.is_pulled || engine.has_host_access) {
        return Ok(());
    }
    let application = image.labels.get(APPLICATION_LABEL).and_then(|id| id.parse().ok());
    let organization_id = engine.installation.organization_id;
    let own = match application {
        Some(id) => applications::of_organization(&mut engine.host.app.db.read().await?, organization_id, id).await?,
        None => None,
    };
    // In the same words as for one that is not there: it does not exist for this organization.
    own.map(drop).ok_or_else(|| StepFailure::new(format!("the engine does not have the image {reference}")))
}
