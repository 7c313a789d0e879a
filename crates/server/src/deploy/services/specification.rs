//! Everything that the engine is told about the container of a service, the same whenever it is made.

use std::net::Ipv4Addr;
use std::time::Duration;

use windlass_api::{Failure, Settings};
use windlass_compose::{File, Service};
use windlass_runtime::{ContainerSpec, LogLimits, NewFile};
use windlass_store::containers::Container;
use windlass_store::networks::Network;
use windlass_store::releases::Release;

use crate::compose_options;
use crate::deploy::failure::{Interruption, Result};
use crate::host::Host;
use crate::labels::{PURPOSE_LABEL, SERVICE_LABEL};
use crate::mounts::{self, Mounted};
use crate::subject::Subject;

/// A service that asks for more time to end has this much.
const LONGEST_GRACE: Duration = Duration::from_secs(120);

pub fn specification(
    host: &Host,
    network: &Network,
    container: &Container,
    subject: &Subject,
) -> Result<ContainerSpec> {
    let services = subject.services.as_ref().ok_or_else(|| unreadable(container))?;
    let one = services.get(&container.service).ok_or_else(|| unreadable(container))?;
    let (service, settings, config) = (&one.service, &subject.configuration.settings, &host.app.config);
    let hosts: Vec<(String, String)> = serde_json::from_str(&container.hosts).map_err(|_| unreadable(container))?;
    let address: Ipv4Addr = container.address.parse().map_err(|_| unreadable(container))?;
    let mut labels = host.labels(container.application_id, container.deployment_id);
    labels.insert(PURPOSE_LABEL.into(), container.purpose.as_str().into());
    labels.insert(SERVICE_LABEL.into(), container.service.clone());
    let mut options = compose_options::options(service, &hosts, Vec::new());
    if services.reaches_host {
        compose_options::add_host_access(&mut options, service);
    }
    let (memory_bytes, nano_cpus, pids) = limits(host, service, settings, services.shares);
    Ok(ContainerSpec {
        name: container.name.clone(),
        image: one.image_id.clone(),
        command: None,
        environment: service.environment.clone(),
        labels,
        network: network.name.clone(),
        address,
        memory_bytes,
        nano_cpus,
        pids,
        stop_grace: grace_of(service, Duration::from_secs(settings.stop_seconds.into())),
        mounts: mounts::of_container(container)?.iter().map(Mounted::mount).collect(),
        logs: LogLimits { file_bytes: config.engine_log_bytes, files: config.engine_log_files },
        options,
    })
}

/// Memory, processors and processes: what the service asks for, and no more than its share of what the settings of the application allow, and
/// than the operator does.
pub fn limits(host: &Host, service: &Service, settings: &Settings, shares: u64) -> (u64, u64, u64) {
    let ceilings = &host.app.config.ceilings;
    // 0 is no limit of its own.
    let least = |asked: Option<u64>, set: u64| match asked.filter(|asked| *asked > 0) {
        Some(asked) if set == 0 => asked,
        Some(asked) => asked.min(set.div_ceil(shares.max(1))),
        None => set.div_ceil(shares.max(1)),
    };
    (
        ceilings.memory_bytes(least(service.memory_bytes, u64::from(settings.memory_mb) * 1024 * 1024)),
        ceilings.nano_cpus(least(service.nano_cpus, u64::from(settings.cpu_millis) * 1_000_000)),
        ceilings.pids(least(service.pids, settings.pids.into())),
    )
}

fn unreadable(container: &Container) -> Interruption {
    let words = format!("the release does not say what the service {} of {} is", container.service, container.name);
    Interruption::Failed(Failure::Internal, words)
}

fn grace_of(service: &Service, usual: Duration) -> Duration {
    service.stop_grace.unwrap_or(usual).min(LONGEST_GRACE)
}

/// How long the container of a service has to end by itself.
pub async fn grace(host: &Host, release: &Release, container: &Container, usual: Duration) -> Result<Duration> {
    let services = host.app.vault.release_services(&mut host.app.db.read().await?, release.id).await?;
    let definition = services.as_ref().and_then(|services| services.get(&container.service));
    Ok(definition.map_or(usual, |definition| grace_of(&definition.service, usual)))
}

/// Files whose content is in the compose file or lies beside it, before the container is started.
pub async fn write_files(host: &Host, row: &Container, service: &Service) -> Result<()> {
    if service.files.is_empty() {
        return Ok(());
    }
    let files: Vec<NewFile<'_>> = service.files.iter().map(new_file).collect();
    host.write_container_files(&row.name, &files).await?;
    Ok(())
}

fn new_file(file: &File) -> NewFile<'_> {
    NewFile {
        path: &file.path,
        content: file.content.as_bytes(),
        mode: file.mode,
        uid: file.uid.unwrap_or_default().into(),
        gid: file.gid.unwrap_or_default().into(),
    }
}
