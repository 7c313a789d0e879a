//! A container before the engine knows it: its row, and everything that the engine is to be told about it.

use std::net::Ipv4Addr;
use std::time::Duration;

use uuid::Uuid;
use windlass_api::{ContainerStatus, Failure};
use windlass_runtime::{ContainerSpec, LogLimits, Options};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::deployments::Deployment;
use windlass_store::networks::Network;
use windlass_store::{applications, jobs};

use super::failure::{Interruption, Result, failed};
use super::{network, services};
use crate::host::Host;
use crate::jobs::Held;
use crate::labels::{PURPOSE_LABEL, SERVICE_LABEL, short};
use crate::mounts::{self, Mounted};
use crate::service::queue;
use crate::service::work::Work;
use crate::subject::Subject;

/// Which container of a deployment.
pub struct NewContainer<'a> {
    pub purpose: Purpose,
    pub ordinal: u32,
    pub mounts: &'a [Mounted],
    /// Of a service of a compose file: its name, where visitors reach it, and a hash of all that it is made of.
    pub service: &'a str,
    pub port: u16,
    pub specification_hash: &'a str,
}

impl<'a> NewContainer<'a> {
    /// One of those that serve visitors.
    pub const fn instance(ordinal: u32, mounts: &'a [Mounted]) -> Self {
        Self { purpose: Purpose::App, ordinal, mounts, service: "", port: 0, specification_hash: "" }
    }

    pub const fn command(purpose: Purpose, mounts: &'a [Mounted]) -> Self {
        Self { purpose, ..Self::instance(1, mounts) }
    }
}

/// The row of a deployment's container for this purpose, made now unless an attempt before this one has made it.
pub async fn row(
    host: &Host,
    held: &Held,
    deployment: &Deployment,
    network: &Network,
    part: &NewContainer<'_>,
) -> Result<Container> {
    let mut tx = held.begin().await?;
    let NewContainer { purpose, ordinal, mounts, .. } = *part;
    let ending = match purpose {
        Purpose::PreRun if part.service.is_empty() => "pre".to_owned(),
        Purpose::PostRun => "post".to_owned(),
        Purpose::App | Purpose::Service | Purpose::PreRun | Purpose::Run => ordinal.to_string(),
    };
    let name = format!("wl-{}-{}-{ending}", short(deployment.application_id), short(deployment.id));
    if let Some(stored) = containers::by_name(&mut tx, &name).await? {
        // The reconciler must not end what is made use of again.
        containers::set_stage(&mut tx, stored.id, Stage::Starting).await?;
        tx.commit().await?;
        return Ok(Container { stage: Stage::Starting, ..stored });
    }
    if purpose == Purpose::PostRun && mounts.iter().any(|mounted| !mounted.shared) {
        refuse_unless_live(&mut tx, deployment).await?;
    }
    if purpose == Purpose::PostRun && !mounts.is_empty() {
        refuse_beside_snapshot(&mut tx, deployment.application_id).await?;
    }
    let mut container = Container {
        id: host.app.new_id(),
        application_id: deployment.application_id,
        deployment_id: deployment.id,
        purpose,
        ordinal: ordinal.into(),
        service: part.service.to_owned(),
        port: part.port.into(),
        specification_hash: part.specification_hash.to_owned(),
        hosts: "[]".to_owned(),
        stage: Stage::Starting,
        name,
        engine_id: String::new(),
        status: ContainerStatus::None,
        address: String::new(),
        mounts: mounts::to_json(mounts)?,
        steady_restarts: 0,
        crash_loop: String::new(),
        created_at: host.app.now(),
    };
    // The address's row names the container's: that one comes first.
    containers::insert(&mut tx, &container).await?;
    container.address = network::take_address(&mut tx, network, container.id).await?.to_string();
    containers::set_address(&mut tx, container.id, &container.address).await?;
    tx.commit().await?;
    Ok(container)
}

/// A command after the run writes what the containers of its own release write, and never what those of another one do.
async fn refuse_unless_live(work: &mut Work<'_>, deployment: &Deployment) -> Result<()> {
    let application = applications::get(work, deployment.application_id).await?.ok_or(Interruption::Lost)?;
    if application.live_deployment_id != Some(deployment.id) {
        return failed(Failure::VolumeUnusable, "another deployment writes the volumes by now");
    }
    match application.held_until {
        Some(_) => Err(Interruption::Later("another deployment is about to write the volumes".into())),
        None => Ok(()),
    }
}

/// A container that has a row when the snapshot begins is paused for it, and one that has none yet waits: else what is read would change
/// meanwhile.
pub async fn refuse_beside_snapshot(work: &mut Work<'_>, application_id: Uuid) -> Result<()> {
    match jobs::of_application(work, application_id).await?.iter().any(|job| job.kind == queue::SNAPSHOT) {
        true => Err(Interruption::Later("a snapshot of a volume is being written".into())),
        false => Ok(()),
    }
}

/// Everything about the container of a release, the same whenever it is asked for.
pub fn specification(
    host: &Host,
    network: &Network,
    container: &Container,
    subject: &Subject,
) -> Result<ContainerSpec> {
    if !container.service.is_empty() {
        return services::specification(host, network, container, subject);
    }
    let (image, variables) = (subject.image()?, &subject.variables);
    let (settings, config) = (&subject.configuration.settings, &host.app.config);
    let mut labels = host.labels(container.application_id, container.deployment_id);
    labels.insert(PURPOSE_LABEL.into(), container.purpose.as_str().into());
    // Else the image's own label would count.
    labels.insert(SERVICE_LABEL.into(), String::new());
    let mut environment = variables.environment.clone();
    environment.insert("PORT".into(), image.port.to_string());
    let address: Ipv4Addr = container.address.parse().map_err(|_| unreadable(container.id))?;
    Ok(ContainerSpec {
        name: container.name.clone(),
        image: image.id.clone(),
        command: None,
        environment: environment.into_iter().collect(),
        labels,
        network: network.name.clone(),
        address,
        memory_bytes: config.ceilings.memory_bytes(u64::from(settings.memory_mb) * 1024 * 1024),
        nano_cpus: config.ceilings.nano_cpus(u64::from(settings.cpu_millis) * 1_000_000),
        pids: config.ceilings.pids(settings.pids.into()),
        stop_grace: Duration::from_secs(settings.stop_seconds.into()),
        mounts: mounts::of_container(container)?.iter().map(Mounted::mount).collect(),
        logs: LogLimits { file_bytes: config.engine_log_bytes, files: config.engine_log_files },
        options: Options::default(),
    })
}

fn unreadable(container_id: Uuid) -> Interruption {
    Interruption::Failed(Failure::Internal, format!("the container {container_id} has no address"))
}
