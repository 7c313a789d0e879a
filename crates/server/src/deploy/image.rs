//! An image of a registry, for a release that nothing is built for: which one its tag leads to, and that one, kept under a name of the
//! release's own.

use windlass_api::{DeploymentState, Failure, ImageReference, LogStep};
use windlass_compose::PullPolicy;
use windlass_durable::kill_point;
use windlass_runtime::Image;
use windlass_store::releases::{self, Artifact};
use windlass_store::{image_checks, organizations};

use super::attempt::Attempt;
use super::build::{check_architecture, store};
use super::failure::{Result, failed};
use super::{ceiling, isolation, port};
use crate::pulled_images::{self, PullFor};
use crate::registries;

/// Takes the image. There is no repository to be fetched, and nothing to be built.
pub async fn take(attempt: &mut Attempt<'_>) -> Result<()> {
    attempt.advance(DeploymentState::Cloning).await?;
    attempt.log.enter(LogStep::Fetch);
    // Others wait for the slot, as for that of a build.
    let limit = attempt.host.app.config.build_limit;
    let Ok(brought) = tokio::time::timeout(limit, bring(attempt)).await else {
        return failed(
            Failure::TimedOut,
            format!("the image took more than {} s, the limit that build-seconds sets", limit.as_secs()),
        );
    };
    let (name, image) = brought?;
    check_architecture(attempt, &image).await?;
    ceiling::refuse_beyond(attempt, 0).await?;
    let port = port::to_begin_with(attempt, &image);
    // Its bytes are counted with what was pulled: it may be many releases', and is there once.
    store(attempt, Artifact::Image(releases::Image { name, id: image.id, port, bytes: 0 })).await
}

/// Its name of the release's own, and what the engine says of it.
async fn bring(attempt: &mut Attempt<'_>) -> Result<(String, Image)> {
    let reference = registries::image_of(&attempt.configuration)?;
    let digest = resolve(attempt, &reference).await?;
    let name = isolation::image_tag(&attempt.host.app, attempt.application.id, attempt.deployment.id);
    // An attempt before this one may have ended just after it had the image.
    if let Some(image) = attempt.host.image(&name).await? {
        return Ok((name, image));
    }
    ceiling::refuse_beyond(attempt, 0).await?;
    let organization_id = attempt.application.organization_id;
    let pull_for = PullFor {
        organization_id,
        has_host_access: organizations::has_host_access(&mut attempt.host.app.db.read().await?, organization_id)
            .await?,
        may_use_built: false,
        shows_credentials: true,
        explains: true,
        is_temporary: true,
        log: &attempt.log,
        step: LogStep::Fetch,
    };
    let image = pulled_images::ensure(attempt.host, &pull_for, &reference.at(&digest), PullPolicy::Missing).await?;
    kill_point::reached("image-pulled");
    pulled_images::name(attempt.host, &pull_for, &image, &name).await?;
    kill_point::reached("image-named");
    Ok((name, image))
}

/// The digest that the tag leads to, asked once: what an attempt before this one was told stays the same.
async fn resolve(attempt: &mut Attempt<'_>, reference: &ImageReference) -> Result<String> {
    if !attempt.release.commit_hash.is_empty() {
        return Ok(attempt.release.commit_hash.clone());
    }
    attempt.log.note(format!("Asking {} for {}", reference.registry(), &**reference)).await;
    let organization_id = attempt.application.organization_id;
    let limit = attempt.host.app.config.fetch_limit;
    let digest = registries::newest_digest(&attempt.host.app, organization_id, reference, limit).await?;
    let mut tx = attempt.held.begin().await?;
    releases::set_commit(&mut tx, attempt.release.id, &digest, "", &reference.with_tag()).await?;
    // What a person has deployed is not deployed again by itself, when it has failed or was gone back from.
    image_checks::set_digest(&mut tx, attempt.application.id, &digest).await?;
    tx.commit().await?;
    attempt.log.note(format!("{} is {digest}", &**reference)).await;
    attempt.release.commit_hash.clone_from(&digest);
    kill_point::reached("image-resolved");
    Ok(digest)
}
