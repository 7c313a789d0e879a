//! Images by their name: there already, or brought from their registry.

use tokio::sync::mpsc;
use uuid::Uuid;
use windlass_api::{Failure, LogStep, Timestamp};
use windlass_compose::PullPolicy;
use windlass_runtime::{Image, RegistryLogin};
use windlass_store::applications;
use windlass_store::pulled_images::{self as rows, PulledImage};

use crate::deploy::{Interruption, Result, is_release_name};
use crate::host::Host;
use crate::labels::{APPLICATION_LABEL, INSTANCE_LABEL};
use crate::logs::work_log::Log;
use crate::registries;

/// Lines about a pull that wait to be logged.
const QUEUE: usize = 100;
/// What one sweep removes, because other work waits for it.
const MOST_AT_ONCE: usize = 20;

/// Who needs an image.
pub struct PullFor<'a> {
    pub organization_id: Uuid,
    pub has_host_access: bool,
    /// Whether images that were built for the organization's applications are there for it.
    pub may_use_built: bool,
    /// Whether the registry is shown what the organization has for it. Not for the code of a stranger.
    pub shows_credentials: bool,
    /// Whether a refusal of the registry is told as a failure of its own class, also when it was shown no credentials.
    pub explains: bool,
    /// Whether an image that was not there before goes again when no release needs it.
    pub is_temporary: bool,
    pub log: &'a Log,
    /// Whose lines those of the registry are.
    pub step: LogStep,
}

pub async fn ensure(host: &Host, pull_for: &PullFor<'_>, reference: &str, policy: PullPolicy) -> Result<Image> {
    let found = host.image(reference).await?;
    let is_own = match &found {
        Some(image) => is_named(image, reference) && is_built_for(host, pull_for, image).await?,
        None => false,
    };
    // What is on the engine may be there for others, so that an organization without host access gets it from the registry, as it could on any other machine.
    let must_pull = !pull_for.has_host_access && !is_own;
    let is_brought = pull_for.is_temporary && (found.is_none() || is_brought(host, reference).await?);
    if must_pull || policy == PullPolicy::Always || (found.is_none() && policy == PullPolicy::Missing) {
        if is_brought {
            note(host, pull_for, reference, "", 0).await?;
        }
        // One that cannot be renewed is used as it is.
        match (pull_as(host, pull_for, reference).await, &found) {
            (Err(Interruption::Failed(_, words)), Some(_)) if !must_pull => {
                pull_for.log.note(format!("The image that is here is used: {words}")).await;
            }
            (pulled, _) => pulled?,
        }
    }
    let image = host.image(reference).await?;
    let image = image.ok_or_else(|| missing(reference))?;
    if is_brought {
        note(host, pull_for, reference, &image.id, image.size).await?;
    }
    // In the same words as for one that is not there: it does not exist for this organization.
    match image.labels.contains_key(INSTANCE_LABEL) && !is_built_for(host, pull_for, &image).await? {
        true => Err(missing(reference)),
        false => Ok(image),
    }
}

async fn is_brought(host: &Host, reference: &str) -> Result<bool> {
    Ok(rows::is_known(&mut host.app.db.read().await?, reference).await?)
}

/// The row comes before the image, so that a crash leaves none that would stay for ever.
async fn note(host: &Host, pull_for: &PullFor<'_>, reference: &str, image_id: &str, size: u64) -> Result<()> {
    let app = &host.app;
    let image = PulledImage {
        id: app.new_id(),
        organization_id: pull_for.organization_id,
        reference: reference.to_owned(),
        image_id: image_id.to_owned(),
        bytes: i64::try_from(size).unwrap_or(i64::MAX),
        used_at: app.now(),
    };
    let mut tx = app.db.begin().await?;
    if !image_id.is_empty() {
        rows::end_pull(&mut tx, image.organization_id, reference).await?;
    }
    rows::note(&mut tx, &image).await?;
    tx.commit().await?;
    Ok(())
}

/// Removes what deployments brought and no release needs any more. What a container has stays for as long.
pub async fn sweep(host: &Host) -> Result<()> {
    let app = &host.app;
    // A deployment that has just pulled one has no release yet that names it.
    let kept = app.config.build_limit * 2;
    let since = Timestamp::from_micros(app.now().micros() - i64::try_from(kept.as_micros()).unwrap_or(i64::MAX));
    let mut unwanted = rows::unwanted(&mut app.db.read().await?, since).await?;
    // A release's own name goes before the one by which the image came, whose row is then the last that needs it.
    unwanted.sort_by_key(|image| !is_release_name(&image.reference));
    for image in unwanted.iter().take(MOST_AT_ONCE) {
        if let Err(error) = remove(host, image).await {
            tracing::debug!(?error, reference = image.reference, "an image that was pulled could not be removed yet");
        }
    }
    Ok(())
}

async fn remove(host: &Host, image: &PulledImage) -> Result<()> {
    // The name is one release's alone, so it goes even when another release needs the image.
    let is_own_name = is_release_name(&image.reference);
    let is_needed = rows::is_needed_elsewhere(&mut host.app.db.read().await?, image).await?;
    if is_own_name || !is_needed || image.image_id.is_empty() {
        let named = host.image(&image.reference).await?.map(|named| named.id);
        match named {
            Some(id) if id == image.image_id || image.image_id.is_empty() => {
                host.remove_image(&image.reference).await?;
            }
            // The name is another image's by now.
            _ if !is_own_name && !image.image_id.is_empty() => host.remove_image(&image.image_id).await?,
            _ => {}
        }
        tracing::info!(reference = image.reference, "removed an image that no release needs any more");
    }
    let mut tx = host.app.db.begin().await?;
    rows::delete(&mut tx, image.id).await?;
    tx.commit().await?;
    Ok(())
}

fn missing(reference: &str) -> Interruption {
    Interruption::Failed(Failure::ImageMissing, format!("the engine does not have the image {reference}"))
}

/// Gives an image a name that is one release's alone.
pub async fn name(host: &Host, pull_for: &PullFor<'_>, image: &Image, name: &str) -> Result<()> {
    note(host, pull_for, name, "", 0).await?;
    host.tag_image(&image.id, name).await?;
    note(host, pull_for, name, &image.id, image.size).await
}

async fn pull_as(host: &Host, pull_for: &PullFor<'_>, reference: &str) -> Result<()> {
    if !pull_for.has_host_access {
        registries::refuse_private(&host.app, reference).await?;
    }
    let login = match pull_for.shows_credentials {
        true => registries::login(&host.app, pull_for.organization_id, reference).await?,
        false => None,
    };
    let pulled = match asks_before(pull_for, reference) {
        true => registries::digest(&host.app, reference, login.as_ref(), host.app.config.fetch_limit).await.map(drop),
        false => Ok(()),
    };
    let pulled = match pulled {
        Ok(()) => run_pull(host, pull_for.log, pull_for.step, reference, login.as_ref()).await,
        refused => refused,
    };
    // Or else the organization would not be told that it is the credentials that are wrong.
    pulled.map_err(|error| match pull_for.explains || login.is_some() {
        true => registries::explained(reference, login.is_some(), pull_for.has_host_access, error),
        false => not_pulled(reference, pull_for.has_host_access, error),
    })
}

/// An engine that has the digest already, because another organization brought it, pulls it without a question to the registry.
fn asks_before(pull_for: &PullFor<'_>, reference: &str) -> bool {
    reference.contains('@') && !pull_for.has_host_access
}

/// Without credentials, for a step of an extension that only brings an image to the engine.
pub async fn pull(host: &Host, has_host_access: bool, log: &Log, step: LogStep, reference: &str) -> Result<()> {
    if !has_host_access {
        registries::refuse_private(&host.app, reference).await?;
    }
    let pulled = run_pull(host, log, step, reference, None).await;
    pulled.map_err(|error| not_pulled(reference, has_host_access, error))
}

async fn run_pull(
    host: &Host,
    log: &Log,
    step: LogStep,
    reference: &str,
    login: Option<&RegistryLogin>,
) -> windlass_runtime::Result<()> {
    log.note(format!("Pulling {reference}")).await;
    let (sender, lines) = mpsc::channel(QUEUE);
    let pulling = async {
        let pulled = host.pull_image(reference, login, &sender).await;
        drop(sender);
        pulled
    };
    let (pulled, ()) = tokio::join!(pulling, log.take_all(step, lines));
    pulled
}

fn not_pulled(reference: &str, has_host_access: bool, error: windlass_runtime::Error) -> Interruption {
    let told = match has_host_access {
        true => Interruption::from(error),
        false => registries::explained(reference, false, false, error),
    };
    match told {
        Interruption::Failed(_, words) => {
            Interruption::Failed(Failure::ImageMissing, format!("{reference} could not be pulled: {words}"))
        }
        other => other,
    }
}

/// Whether it was asked for by its whole name or id. The engine also takes the beginning of an id, which can be guessed.
fn is_named(image: &Image, reference: &str) -> bool {
    let latest = format!("{reference}:latest");
    image.id == reference || image.tags.iter().any(|tag| *tag == reference || *tag == latest)
}

/// Whether it was built for an application of the organization.
async fn is_built_for(host: &Host, pull_for: &PullFor<'_>, image: &Image) -> Result<bool> {
    let application = image.labels.get(APPLICATION_LABEL).and_then(|id| id.parse().ok());
    let is_built = pull_for.may_use_built && image.labels.contains_key(INSTANCE_LABEL);
    let (true, Some(id)) = (is_built, application) else { return Ok(false) };
    let mut conn = host.app.db.read().await?;
    Ok(applications::of_organization(&mut conn, pull_for.organization_id, id).await?.is_some())
}
