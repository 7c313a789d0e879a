//! Everything that the engine is told about a service's container, the same whenever it is made.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_api::Failure;
use windlass_compose::{Mount as WantedMount, Restart, Service, Source};
use windlass_runtime::{ContainerSpec, LogLimits, Mount, MountSource, Options};
use windlass_store::containers::Container;
use windlass_store::installations;
use windlass_store::networks::Network;
use windlass_store::sealed::SERVICE_SPECIFICATION;

use super::volumes::Mounts;
use crate::compose_options;
use crate::deploy::{self, Interruption};
use crate::host::Host;
use crate::labels::{PURPOSE_LABEL, SERVICE_LABEL};
use crate::service::work::Work;
use crate::vault::SealedCell;

/// How long a service has to end by itself, unless it asks for more or less.
pub const USUAL_GRACE: Duration = Duration::from_secs(10);

/// What is stored of a service, sealed: its variables may be secret.
#[derive(Clone, Serialize, Deserialize)]
pub struct Specification {
    pub service: Service,
    pub image_id: String,
    /// The engine's name of the volume at each path.
    pub volumes: BTreeMap<String, String>,
    /// The names of the other services, and where they are.
    pub hosts: Vec<(String, String)>,
    /// By which others of the organization find it.
    pub alias: String,
    /// Whether what reaches beyond the organization's containers is done.
    pub has_host_access: bool,
}

impl Specification {
    pub fn new(service: &Service, image_id: &str, mounts: &Mounts, installation: &str, has_host_access: bool) -> Self {
        Self {
            service: service.clone(),
            image_id: image_id.to_owned(),
            volumes: mounts.iter().map(|(path, volume)| (path.clone(), volume.engine_name.clone())).collect(),
            hosts: Vec::new(),
            alias: format!("{}.{installation}", service.name),
            has_host_access,
        }
    }

    /// Whether both ask for the same, wherever the others are.
    pub fn asks_for_the_same(&self, other: &Self) -> serde_json::Result<bool> {
        let wishes = |one: &Self| serde_json::to_vec(&Self { hosts: Vec::new(), ..one.clone() });
        Ok(wishes(self)? == wishes(other)?)
    }

    /// Whether one of these is no longer where it was told. One that it was never told of makes no difference: it asks for nothing new.
    pub fn has_moved(&self, hosts: &[(String, String)]) -> bool {
        let moved =
            |(name, address): &(String, String)| hosts.iter().any(|(other, now)| other == name && now != address);
        self.hosts.iter().any(moved)
    }

    pub async fn seal(&self, work: &mut Work<'_>, id: Uuid) -> crate::error::Result<Vec<u8>> {
        let json = serde_json::to_vec(self).map_err(crate::error::Error::internal)?;
        let vault = &work.app.vault;
        vault.seal(work, SealedCell { column: SERVICE_SPECIFICATION, row: id }, &json).await
    }
}

/// As it was stored.
pub async fn load(host: &Host, id: Uuid) -> deploy::Result<Specification> {
    let sealed = installations::sealed_specification(&mut host.app.db.read().await?, id).await?;
    let sealed = sealed.ok_or(Interruption::Lost)?;
    let cell = SealedCell { column: SERVICE_SPECIFICATION, row: id };
    let json = host.app.vault.open(cell, &sealed).await?;
    serde_json::from_slice(&json).map_err(|error| unreadable(&error.to_string()))
}

fn unreadable(problem: &str) -> Interruption {
    Interruption::Failed(Failure::Internal, format!("the service cannot be read: {problem}"))
}

/// One that has vanished, with the data that it had.
pub async fn make_again(host: &Host, row: &Container) -> deploy::Result<()> {
    let specification = load(host, row.id).await?;
    for name in specification.volumes.values() {
        if !host.owns_volume(name).await? {
            let words = format!("the engine no longer has the volume {name} of {}", row.name);
            return Err(Interruption::Failed(Failure::VolumeUnusable, words));
        }
    }
    let installation = installations::get(&mut host.app.db.read().await?, row.application_id).await?;
    let organization_id = installation.ok_or(Interruption::Lost)?.organization_id;
    let network = deploy::ensure_network(host, organization_id).await?;
    host.create_container(&container_spec(host, &network, row, &specification)?).await?;
    deploy::write_service_files(host, row, &specification.service).await?;
    start(host, row, specification.service.restart).await
}

/// From now on the engine starts it again, as its document says.
pub async fn start(host: &Host, row: &Container, restart: Restart) -> deploy::Result<()> {
    match restart {
        Restart::OnFailure => host.restart_on_failure(&row.name).await?,
        Restart::No | Restart::Always | Restart::UnlessStopped => host.restart_always(&row.name).await?,
    }
    Ok(host.start_container(&row.name).await?)
}

pub fn container_spec(
    host: &Host,
    network: &Network,
    row: &Container,
    specification: &Specification,
) -> deploy::Result<ContainerSpec> {
    let (service, config) = (&specification.service, &host.app.config);
    let reaches_host = service.volumes.iter().any(|mount| matches!(mount.source, Source::Bind(_)));
    if reaches_host && !specification.has_host_access {
        return Err(unreadable("it mounts a folder of the machine, and the organization has no host access"));
    }
    // Its lines are told apart from those of other services by its own id.
    let mut labels = host.labels(row.application_id, row.id);
    labels.insert(PURPOSE_LABEL.into(), row.purpose.as_str().into());
    labels.insert(SERVICE_LABEL.into(), String::new());
    Ok(ContainerSpec {
        name: row.name.clone(),
        image: specification.image_id.clone(),
        command: None,
        environment: service.environment.clone(),
        labels,
        network: network.name.clone(),
        address: row.address.parse().map_err(|_| unreadable("it has no address"))?,
        memory_bytes: config.ceilings.memory_bytes(service.memory_bytes.unwrap_or(0)),
        nano_cpus: config.ceilings.nano_cpus(service.nano_cpus.unwrap_or(0)),
        pids: config.ceilings.pids(service.pids.unwrap_or(0)),
        stop_grace: service.stop_grace.unwrap_or(USUAL_GRACE),
        logs: LogLimits { file_bytes: config.engine_log_bytes, files: config.engine_log_files },
        mounts: service
            .volumes
            .iter()
            .map(|mount| mounted(specification, mount))
            .chain(declared(specification))
            .collect(),
        options: options(specification),
    })
}

fn mounted(specification: &Specification, mount: &WantedMount) -> Mount {
    let source = match (&mount.source, specification.volumes.get(&mount.target)) {
        (Source::Bind(path), _) => MountSource::Folder(PathBuf::from(path)),
        (_, Some(engine_name)) => MountSource::Volume(engine_name.clone()),
        // Every other mount has its volume.
        (_, None) => MountSource::Volume(String::new()),
    };
    Mount { source, path: mount.target.clone(), read_only: mount.read_only }
}

/// Volumes that the image asks for and the service does not name.
fn declared(specification: &Specification) -> impl Iterator<Item = Mount> + '_ {
    let is_named = |path: &str| specification.service.volumes.iter().any(|mount| mount.target == path);
    let unnamed = specification.volumes.iter().filter(move |(path, _)| !is_named(path));
    unnamed.map(|(path, name)| Mount {
        source: MountSource::Volume(name.clone()),
        path: path.clone(),
        read_only: false,
    })
}

fn options(specification: &Specification) -> Options {
    let (service, alias) = (&specification.service, specification.alias.clone());
    let mut options = compose_options::options(service, &specification.hosts, vec![alias]);
    if specification.has_host_access {
        compose_options::add_host_access(&mut options, service);
        options.published = compose_options::published(service);
    }
    options
}
