//! start: new containers beside the old ones. A row with a container's name and address comes first, so that the worker
//! that goes on after a crash finds what was made.

use std::ops::RangeInclusive;

use windlass_api::{ContainerStatus, DeploymentState, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::{ContainerSpec, Creation};
use windlass_store::containers::{self, Container, Purpose};
use windlass_store::networks::Network;
use windlass_store::releases;
use windlass_store::{deployments, jobs};

use super::attempt::Attempt;
use super::container::{NewContainer, row, specification};
use super::failure::{Interruption, Result, failed};
use super::{command, network, restore, volumes};
use crate::labels::DEPLOYMENT_LABEL;
use crate::service::queue;

/// How often an artifact that vanishes is made again.
const MOST_BUILDS: i64 = 5;

/// Instances that start at the same time: each may need a whole processor until it is well.
const AT_ONCE: u32 = 4;

/// What is the same for all instances: the network, and the volumes.
pub async fn prepare(attempt: &mut Attempt<'_>) -> Result<Network> {
    attempt.log.enter(LogStep::Start);
    attempt.advance(DeploymentState::Deploying).await?;
    kill_point::reached("deploy-before-container");
    let Some(image) = attempt.host.image(&attempt.image()?.id).await? else {
        return Err(image_missing(attempt).await?);
    };
    let mut mounts = volumes::ensure(attempt, &image, &restore::restored_volumes(&attempt.deployment)?).await?;
    restore::prepare(attempt, &mut mounts.iter_mut().collect::<Vec<_>>()).await?;
    (attempt.mounts, attempt.image_user) = (mounts, image.user);
    attempt.log.enter(LogStep::Start);
    network::of_application(attempt.host, &attempt.application).await
}

/// The ordinals of the instances, in the groups that are started one after another. The first instance is alone in its
/// group: it shows where the release listens, and a release that does not work fails with one container.
pub fn groups(replicas: u32) -> Vec<RangeInclusive<u32>> {
    let mut groups = vec![1..=1];
    let mut first = 2;
    while first <= replicas {
        let last = (first + AT_ONCE - 1).min(replicas);
        groups.push(first..=last);
        first = last + 1;
    }
    groups
}

pub async fn start(
    attempt: &mut Attempt<'_>,
    network: &Network,
    ordinals: RangeInclusive<u32>,
) -> Result<Vec<Container>> {
    attempt.log.enter(LogStep::Start);
    let mut instances = Vec::new();
    for ordinal in ordinals {
        instances.push(start_one(attempt, network, ordinal).await?);
    }
    Ok(instances)
}

async fn start_one(attempt: &mut Attempt<'_>, network: &Network, ordinal: u32) -> Result<Container> {
    // The points of the first instance are reached by every deployment.
    let reached = |first, other| kill_point::reached(if ordinal == 1 { first } else { other });
    let (host, held) = (attempt.host, attempt.held);
    let container =
        row(host, held, &attempt.deployment, network, &NewContainer::instance(ordinal, &attempt.mounts)).await?;
    reached("deploy-container-stored", "replica-stored");
    let specification = specification(attempt.host, network, &container, attempt)?;
    let engine_id = create(attempt, &specification).await?;
    reached("deploy-container-created", "replica-created");
    note_engine_id(attempt, &container, &engine_id, ordinal == 1).await?;
    volumes::give_to_user(attempt, &container, &attempt.image_user, &attempt.mounts).await?;
    attempt.log.note(format!("Starting container {} at {}", container.name, container.address)).await;
    match attempt.host.start_container(&container.name).await {
        Ok(()) => {}
        Err(windlass_runtime::Error::StartFailed { message }) => return failed(start_failure(&message), message),
        Err(error) => return Err(error.into()),
    }
    volumes::note_use(attempt, &attempt.mounts).await?;
    attempt.host.collector.begin(&container.name).await?;
    reached("deploy-container-started", "replica-started");
    Ok(Container { engine_id, ..container })
}

/// Another program has removed it. A release that is being made is made again; any other cannot be gone back to.
pub async fn image_missing(attempt: &Attempt<'_>) -> Result<Interruption> {
    if let Some(again) = make_again(attempt, "the image of the release").await? {
        return Ok(again);
    }
    let mut tx = attempt.held.begin().await?;
    releases::set_removed(&mut tx, attempt.release.id, attempt.host.app.now()).await?;
    tx.commit().await?;
    let words = "the engine no longer has the image of this release. Deploy it anew.";
    Ok(Interruption::Failed(Failure::ImageMissing, words.into()))
}

/// None for a release that an earlier deployment made.
pub async fn make_again(attempt: &Attempt<'_>, what: &str) -> Result<Option<Interruption>> {
    if attempt.release.id != attempt.deployment.id || attempt.held.job.fence >= MOST_BUILDS {
        return Ok(None);
    }
    let mut tx = attempt.held.begin().await?;
    releases::set_artifact(&mut tx, attempt.release.id, None).await?;
    jobs::set_kind(&mut tx, attempt.held.job.id, queue::DEPLOY).await?;
    tx.commit().await?;
    Ok(Some(Interruption::Later(format!("{what} cannot be found, and is made again"))))
}

pub fn start_failure(message: &str) -> Failure {
    match windlass_runtime::Error::tells_wrong_architecture(message) {
        true => Failure::ImageArchitecture,
        false => Failure::CrashedAtStart,
    }
}

/// The engine's id of it, made by this attempt or by one before it.
pub async fn create(attempt: &Attempt<'_>, specification: &ContainerSpec) -> Result<String> {
    match attempt.host.create_container(specification).await? {
        Creation::Created(id) => Ok(id),
        Creation::Exists(found) => {
            let id = attempt.deployment.id.to_string();
            if found.labels.get(DEPLOYMENT_LABEL) != Some(&id) {
                let words = format!("a container called {} exists and is not this deployment's", specification.name);
                return failed(Failure::EngineRefused, words);
            }
            Ok(found.id)
        }
    }
}

/// `is_first` for the one that stands for all of them where only one is shown.
pub async fn note_engine_id(
    attempt: &mut Attempt<'_>,
    container: &Container,
    engine_id: &str,
    is_first: bool,
) -> Result<()> {
    let mut tx = attempt.held.begin().await?;
    let (status, now) = (ContainerStatus::Starting, attempt.host.app.now());
    containers::observe(&mut tx, container.id, engine_id, status).await?;
    if is_first {
        deployments::set_container(&mut tx, attempt.deployment.id, &container.name, engine_id, status, now).await?;
    }
    tx.commit().await?;
    attempt.deployment.container_status = status;
    Ok(())
}

/// The command before the run, if there is one.
pub async fn pre_run(attempt: &Attempt<'_>) -> Result<()> {
    if attempt.configuration.pre_run_command.is_empty() {
        return Ok(());
    }
    attempt.log.enter(LogStep::PreRun);
    let running =
        Box::pin(command::run(attempt.host, attempt.held, attempt, Purpose::PreRun, &attempt.mounts, &attempt.log));
    match attempt.in_time("the pre-run command", running).await? {
        0 => {
            attempt.log.enter(LogStep::Start);
            Ok(())
        }
        code => failed(Failure::PreRunFailed, format!("the pre-run command ended with exit code {code}")),
    }
}

/// The last line of a container, when all of them are in the log.
pub async fn evidence(attempt: &Attempt<'_>, name: &str) -> String {
    if let Err(problem) = attempt.host.read_to_end(name).await {
        tracing::warn!(container = name, ?problem, "the last lines of a container are not stored yet");
    }
    let last = attempt.host.last_lines(name, 1).await.unwrap_or_default();
    last.into_iter().next_back().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_instance_starts_alone_and_the_others_in_groups() {
        assert_eq!(groups(1), [1..=1]);
        assert_eq!(groups(2), [1..=1, 2..=2]);
        assert_eq!(groups(5), [1..=1, 2..=5]);
        assert_eq!(groups(20), [1..=1, 2..=5, 6..=9, 10..=13, 14..=17, 18..=20]);
    }
}
