//! start: the new container beside the old one. A row with its name and address comes first, so that whoever goes on after a
//! crash finds what was made.

use std::net::Ipv4Addr;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::{ContainerStatus, DeploymentState, Failure, LogStep};
use windlass_durable::kill_point;
use windlass_runtime::{ContainerSpec, Creation, LogLimits};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::deployments::{self, Deployment};
use windlass_store::networks::Network;
use windlass_store::releases;

use super::attempt::Attempt;
use super::failure::{Interruption, Result, failed};
use super::{command, network};
use crate::host::Host;
use crate::jobs::Held;
use crate::labels::{DEPLOYMENT_LABEL, PURPOSE_LABEL, short};
use crate::subject::Subject;

/// How often an image that vanishes is made again.
const MOST_BUILDS: i64 = 5;

pub async fn start(attempt: &mut Attempt<'_>) -> Result<Container> {
    attempt.log.enter(LogStep::Start);
    attempt.advance(DeploymentState::Deploying).await?;
    kill_point::reached("deploy-before-container");
    if attempt.host.docker.image(&attempt.release.image_id).await?.is_none() {
        return Err(image_missing(attempt).await?);
    }
    let network = network::ensure(attempt.host, attempt.application.organization_id).await?;
    if !attempt.configuration.pre_run_command.is_empty() {
        pre_run(attempt).await?;
    }
    let container = row(attempt.host, attempt.held, &attempt.deployment, &network, Purpose::App).await?;
    kill_point::reached("deploy-container-stored");
    let specification = specification(attempt.host, &network, &container, attempt)?;
    let engine_id = create(attempt, &specification).await?;
    kill_point::reached("deploy-container-created");
    note_engine_id(attempt, &container, &engine_id).await?;
    attempt.log.note(format!("Starting container {} at {}", container.name, container.address)).await;
    match attempt.host.docker.start(&container.name).await {
        Ok(()) => {}
        Err(windlass_runtime::Error::StartFailed { message }) => return failed(start_failure(&message), message),
        Err(error) => return Err(error.into()),
    }
    attempt.host.collector.begin(&container.name).await?;
    kill_point::reached("deploy-container-started");
    Ok(Container { engine_id, ..container })
}

/// Somebody else has removed it. A release that is being made is made again; any other cannot be gone back to.
async fn image_missing(attempt: &Attempt<'_>) -> Result<Interruption> {
    let mut tx = attempt.held.begin().await?;
    let outcome = if attempt.release.id == attempt.deployment.id && attempt.held.job.fence < MOST_BUILDS {
        releases::set_image(&mut tx, attempt.release.id, "", "", 0).await?;
        Interruption::Later("the image has vanished, and is made again".into())
    } else {
        releases::set_removed(&mut tx, attempt.release.id, attempt.host.app.now()).await?;
        let words = "the engine no longer has the image of this release. Deploy it anew.";
        Interruption::Failed(Failure::ImageMissing, words.into())
    };
    tx.commit().await?;
    Ok(outcome)
}

fn start_failure(message: &str) -> Failure {
    match message.contains("exec format error") {
        true => Failure::ImageArchitecture,
        false => Failure::CrashedAtStart,
    }
}

/// The row of a deployment's container for this purpose, made now unless somebody before has.
pub async fn row(
    host: &Host,
    held: &Held,
    deployment: &Deployment,
    network: &Network,
    purpose: Purpose,
) -> Result<Container> {
    let mut tx = held.begin().await?;
    let ending = match purpose {
        Purpose::App => "1",
        Purpose::PreRun => "pre",
        Purpose::PostRun => "post",
    };
    let name = format!("wl-{}-{}-{ending}", short(deployment.application_id), short(deployment.id));
    if let Some(stored) = containers::by_name(&mut tx, &name).await? {
        // Nobody else may end what is made use of again.
        containers::set_stage(&mut tx, stored.id, Stage::Starting).await?;
        tx.commit().await?;
        return Ok(Container { stage: Stage::Starting, ..stored });
    }
    let mut container = Container {
        id: host.app.new_id(),
        application_id: deployment.application_id,
        deployment_id: deployment.id,
        purpose,
        stage: Stage::Starting,
        name,
        engine_id: String::new(),
        address: String::new(),
        created_at: host.app.now(),
    };
    // The address's row names the container's: that one comes first.
    containers::insert(&mut tx, &container).await?;
    container.address = network::take_address(&mut tx, network, container.id).await?.to_string();
    containers::set_address(&mut tx, container.id, &container.address).await?;
    tx.commit().await?;
    Ok(container)
}

/// Everything about the container of a release, the same whenever it is asked for.
pub fn specification(
    host: &Host,
    network: &Network,
    container: &Container,
    subject: &Subject,
) -> Result<ContainerSpec> {
    let Subject { release, variables, .. } = subject;
    let (settings, config) = (&subject.configuration.settings, &host.app.config);
    let mut labels = host.labels(container.application_id, container.deployment_id);
    labels.insert(PURPOSE_LABEL.into(), container.purpose.as_str().into());
    let mut environment = variables.environment.clone();
    environment.insert("PORT".into(), release.port.to_string());
    let address: Ipv4Addr = container.address.parse().map_err(|_| unreadable(container.id))?;
    Ok(ContainerSpec {
        name: container.name.clone(),
        image: release.image_id.clone(),
        command: None,
        environment: environment.into_iter().collect(),
        labels,
        network: network.name.clone(),
        address,
        memory_bytes: u64::from(settings.memory_mb) * 1024 * 1024,
        nano_cpus: u64::from(settings.cpu_millis) * 1_000_000,
        pids: u64::from(settings.pids),
        stop_grace: Duration::from_secs(settings.stop_seconds.into()),
        logs: LogLimits { file_bytes: config.engine_log_bytes, files: config.engine_log_files },
    })
}

fn unreadable(container_id: Uuid) -> Interruption {
    Interruption::Failed(Failure::Internal, format!("the container {container_id} has no address"))
}

/// The engine's id of it, whoever made it: this attempt, or one before it.
async fn create(attempt: &Attempt<'_>, specification: &ContainerSpec) -> Result<String> {
    match attempt.host.docker.create(specification).await? {
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

async fn note_engine_id(attempt: &mut Attempt<'_>, container: &Container, engine_id: &str) -> Result<()> {
    let mut tx = attempt.held.begin().await?;
    containers::set_engine_id(&mut tx, container.id, engine_id).await?;
    let status = ContainerStatus::Starting;
    let now = attempt.host.app.now();
    deployments::set_container(&mut tx, attempt.deployment.id, &container.name, engine_id, status, now).await?;
    tx.commit().await?;
    attempt.deployment.container_status = status;
    Ok(())
}

async fn pre_run(attempt: &Attempt<'_>) -> Result<()> {
    attempt.log.enter(LogStep::PreRun);
    match command::run(attempt.host, attempt.held, attempt, Purpose::PreRun, &attempt.log).await? {
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
    let last = attempt.host.docker.tail(name, 1).await.unwrap_or_default();
    last.into_iter().next_back().unwrap_or_default()
}
