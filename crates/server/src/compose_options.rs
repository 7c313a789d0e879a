//! What a container engine is told of a service of a compose file.

use windlass_compose::{Health, Protocol, Service, Sharing, is_harmless};
use windlass_runtime::{Device, HealthTest, Options, Published, Ulimit};

/// What every organization may ask for; [`add_host_access`] and [`published`] add the rest.
pub fn options(service: &Service, hosts: &[(String, String)], aliases: Vec<String>) -> Options {
    let hosts = hosts.iter().chain(&service.extra_hosts).cloned().collect();
    Options {
        entrypoint: service.entrypoint.clone(),
        arguments: service.command.clone(),
        user: service.user.clone().unwrap_or_default(),
        working_dir: service.working_dir.clone().unwrap_or_default(),
        hostname: service.hostname.clone().unwrap_or_default(),
        aliases,
        hosts,
        dns: service.dns.iter().map(ToString::to_string).collect(),
        health: service.health.as_ref().map(health),
        read_only: service.read_only,
        tmpfs: service.tmpfs.iter().map(|tmpfs| (tmpfs.target.clone(), tmpfs.options.join(","))).collect(),
        shm_bytes: service.shm_bytes.unwrap_or(0),
        ulimits: service.ulimits.iter().map(ulimit).collect(),
        groups: service.group_add.clone(),
        stop_signal: service.stop_signal.clone().unwrap_or_default(),
        dropped_capabilities: service.cap_drop.clone(),
        security: service.security_opt.iter().filter(|option| is_harmless(option)).cloned().collect(),
        ..Options::default()
    }
}

/// What only organizations with host access may have.
pub fn add_host_access(options: &mut Options, service: &Service) {
    options.sysctls = service.sysctls.iter().cloned().collect();
    options.added_capabilities.clone_from(&service.cap_add);
    options.security.clone_from(&service.security_opt);
    options.privileged = service.privileged;
    options.devices = service.devices.iter().map(device).collect();
    options.host_network = service.network_mode == Some(Sharing::Host);
    let of_host =
        |sharing: &Option<Sharing>| if *sharing == Some(Sharing::Host) { "host".to_owned() } else { String::new() };
    (options.pid_mode, options.ipc_mode) = (of_host(&service.pid), of_host(&service.ipc));
}

/// The ports of the machine that lead to it.
pub fn published(service: &Service) -> Vec<Published> {
    service.ports.iter().map(published_port).collect()
}

fn published_port(port: &windlass_compose::Port) -> Published {
    let protocol = match port.protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::Sctp => "sctp",
    };
    Published { container: port.container, protocol: protocol.to_owned(), address: port.address, port: port.published }
}

fn device(device: &windlass_compose::Device) -> Device {
    Device { host: device.host.clone(), container: device.container.clone(), permissions: device.permissions.clone() }
}

fn ulimit(limit: &windlass_compose::Ulimit) -> Ulimit {
    Ulimit { name: limit.name.clone(), soft: limit.soft, hard: limit.hard }
}

fn health(health: &Health) -> HealthTest {
    HealthTest {
        test: if health.disabled { vec!["NONE".to_owned()] } else { health.test.clone() },
        interval: health.interval,
        timeout: health.timeout,
        start_period: health.start_period,
        retries: health.retries,
    }
}
