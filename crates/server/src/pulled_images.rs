//! Images by their name: there already, or brought from their registry.

use tokio::sync::mpsc;
use uuid::Uuid;
use windlass_api::{Failure, LogStep};
use windlass_compose::PullPolicy;
use windlass_runtime::Image;
use windlass_store::applications;

use crate::deploy::{Interruption, Result};
use crate::host::Host;
use crate::labels::{APPLICATION_LABEL, INSTANCE_LABEL};
use crate::logs::work_log::Log;

/// Lines about a pull that wait to be logged.
const QUEUE: usize = 100;

/// Who needs an image.
pub struct Asker<'a> {
    pub organization_id: Uuid,
    pub has_host_access: bool,
    /// Whether images that were built for the organization's applications are there for it.
    pub may_use_built: bool,
    pub log: &'a Log,
    /// Whose lines those of the registry are.
    pub step: LogStep,
}

pub async fn ensure(host: &Host, asker: &Asker<'_>, reference: &str, policy: PullPolicy) -> Result<Image> {
    let found = host.image(reference).await?;
    let is_own = match &found {
        Some(image) => is_named(image, reference) && is_built_for(host, asker, image).await?,
        None => false,
    };
    // What is on the engine may be there for others, so that an organization without host access gets it from the registry, as it could on any other machine.
    let must_pull = !asker.has_host_access && !is_own;
    if must_pull || policy == PullPolicy::Always || (found.is_none() && policy == PullPolicy::Missing) {
        // One that cannot be renewed is used as it is.
        match (pull(host, asker.log, asker.step, reference).await, &found) {
            (Err(Interruption::Failed(_, words)), Some(_)) if !must_pull => {
                asker.log.note(format!("The image that is here is used: {words}")).await;
            }
            (pulled, _) => pulled?,
        }
    }
    let image = host.image(reference).await?;
    let image = image.ok_or_else(|| missing(reference))?;
    // In the same words as for one that is not there: it does not exist for this organization.
    match image.labels.contains_key(INSTANCE_LABEL) && !is_built_for(host, asker, &image).await? {
        true => Err(missing(reference)),
        false => Ok(image),
    }
}

fn missing(reference: &str) -> Interruption {
    Interruption::Failed(Failure::ImageMissing, format!("the engine does not have the image {reference}"))
}

pub async fn pull(host: &Host, log: &Log, step: LogStep, reference: &str) -> Result<()> {
    log.note(format!("Pulling {reference}")).await;
    let (sender, lines) = mpsc::channel(QUEUE);
    let pulling = async {
        let pulled = host.pull_image(reference, &sender).await;
        drop(sender);
        pulled
    };
    let (pulled, ()) = tokio::join!(pulling, log.take_all(step, lines));
    pulled.map_err(|error| match Interruption::from(error) {
        Interruption::Failed(_, words) => {
            Interruption::Failed(Failure::ImageMissing, format!("{reference} could not be pulled: {words}"))
        }
        other => other,
    })
}

/// Whether it was asked for by its whole name or id. The engine also takes the beginning of an id, which can be guessed.
fn is_named(image: &Image, reference: &str) -> bool {
    let latest = format!("{reference}:latest");
    image.id == reference || image.tags.iter().any(|tag| *tag == reference || *tag == latest)
}

/// Whether it was built for an application of the organization.
async fn is_built_for(host: &Host, asker: &Asker<'_>, image: &Image) -> Result<bool> {
    let application = image.labels.get(APPLICATION_LABEL).and_then(|id| id.parse().ok());
    let is_built = asker.may_use_built && image.labels.contains_key(INSTANCE_LABEL);
    let (true, Some(id)) = (is_built, application) else { return Ok(false) };
    let mut conn = host.app.db.read().await?;
    Ok(applications::of_organization(&mut conn, asker.organization_id, id).await?.is_some())
}
