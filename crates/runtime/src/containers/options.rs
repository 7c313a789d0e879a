//! What only some containers ask for, beside what all of them have.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use serde_json::{Value, json};

/// The default asks for nothing. Who may ask for what is for the caller to decide: some of it reaches beyond the
/// container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Instead of the image's own.
    pub entrypoint: Option<Vec<String>>,
    /// Instead of the image's own.
    pub arguments: Option<Vec<String>>,
    pub user: String,
    pub working_dir: String,
    pub hostname: String,
    /// Names by which others in its network find it.
    pub aliases: Vec<String>,
    /// Names that it finds at fixed addresses.
    pub hosts: Vec<(String, String)>,
    pub dns: Vec<String>,
    pub published: Vec<Published>,
    pub health: Option<HealthTest>,
    pub read_only: bool,
    /// Folders in memory: path and options.
    pub tmpfs: BTreeMap<String, String>,
    /// The engine's own size if 0.
    pub shm_bytes: u64,
    pub ulimits: Vec<Ulimit>,
    pub sysctls: BTreeMap<String, String>,
    pub groups: Vec<String>,
    pub stop_signal: String,
    pub tty: bool,
    pub open_stdin: bool,
    pub added_capabilities: Vec<String>,
    pub dropped_capabilities: Vec<String>,
    /// Instead of no new privileges.
    pub security: Vec<String>,
    pub privileged: bool,
    pub devices: Vec<Device>,
    /// The machine's network instead of the organization's.
    pub host_network: bool,
    /// Such as `host`.
    pub pid_mode: String,
    pub ipc_mode: String,
}

/// A port of the machine that leads into a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    pub container: u16,
    /// `tcp`, `udp` or `sctp`.
    pub protocol: String,
    /// All of the machine's if none.
    pub address: Option<IpAddr>,
    /// One that is free if none.
    pub port: Option<u16>,
}

/// Figures that are none are the engine's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthTest {
    /// `NONE`, or `CMD` and a command, or `CMD-SHELL` and a text for the shell.
    pub test: Vec<String>,
    pub interval: Option<Duration>,
    pub timeout: Option<Duration>,
    pub start_period: Option<Duration>,
    pub retries: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ulimit {
    pub name: String,
    pub soft: i64,
    pub hard: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub host: String,
    pub container: String,
    pub permissions: String,
}

/// Puts them into the description that the engine gets.
pub(super) fn add_to(body: &mut Value, options: &Options) {
    for (key, text) in [
        ("User", &options.user),
        ("WorkingDir", &options.working_dir),
        ("Hostname", &options.hostname),
        ("StopSignal", &options.stop_signal),
    ] {
        if !text.is_empty() {
            body[key] = json!(text);
        }
    }
    if let Some(entrypoint) = &options.entrypoint {
        body["Entrypoint"] = json!(entrypoint);
    }
    if let Some(arguments) = &options.arguments {
        body["Cmd"] = json!(arguments);
    }
    body["Tty"] = json!(options.tty);
    body["OpenStdin"] = json!(options.open_stdin);
    if let Some(health) = &options.health {
        body["Healthcheck"] = health_check(health);
    }
    if !options.published.is_empty() {
        let exposed: BTreeMap<_, _> = options.published.iter().map(|port| (key(port), json!({}))).collect();
        body["ExposedPorts"] = json!(exposed);
        body["HostConfig"]["PortBindings"] = bindings(&options.published);
    }
    add_network(body, options);
    add_host_config(&mut body["HostConfig"], options);
}

fn add_network(body: &mut Value, options: &Options) {
    if options.host_network {
        body["HostConfig"]["NetworkMode"] = json!("host");
        body["NetworkingConfig"] = json!({});
        return;
    }
    if let Some(networks) = body["NetworkingConfig"]["EndpointsConfig"].as_object_mut() {
        networks.values_mut().for_each(|network| network["Aliases"] = json!(options.aliases));
    }
}

fn add_host_config(host: &mut Value, options: &Options) {
    let hosts: Vec<String> = options.hosts.iter().map(|(name, address)| format!("{name}:{address}")).collect();
    let ulimits = options.ulimits.iter();
    let ulimits: Vec<_> =
        ulimits.map(|limit| json!({ "Name": limit.name, "Soft": limit.soft, "Hard": limit.hard })).collect();
    let devices = options.devices.iter();
    let devices: Vec<_> = devices
        .map(|device| {
            json!({
                "PathOnHost": device.host,
                "PathInContainer": device.container,
                "CgroupPermissions": device.permissions,
            })
        })
        .collect();
    host["ExtraHosts"] = json!(hosts);
    host["Dns"] = json!(options.dns);
    host["ReadonlyRootfs"] = json!(options.read_only);
    host["Tmpfs"] = json!(options.tmpfs);
    host["ShmSize"] = json!(options.shm_bytes);
    host["Ulimits"] = json!(ulimits);
    host["Sysctls"] = json!(options.sysctls);
    host["GroupAdd"] = json!(options.groups);
    host["CapAdd"] = json!(options.added_capabilities);
    if let Some(dropped) = host["CapDrop"].as_array_mut() {
        // What is asked for by name is not dropped.
        dropped.retain(|name| !options.added_capabilities.iter().any(|added| name.as_str() == Some(added)));
        dropped.extend(options.dropped_capabilities.iter().map(|name| json!(name)));
    }
    if !options.security.is_empty() {
        host["SecurityOpt"] = json!(options.security);
    }
    host["Privileged"] = json!(options.privileged);
    host["Devices"] = json!(devices);
    host["PidMode"] = json!(options.pid_mode);
    if !options.ipc_mode.is_empty() {
        host["IpcMode"] = json!(options.ipc_mode);
    }
}

fn key(port: &Published) -> String {
    format!("{}/{}", port.container, port.protocol)
}

fn bindings(published: &[Published]) -> Value {
    let mut bindings: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for port in published {
        let address = port.address.map(|address| address.to_string()).unwrap_or_default();
        let number = port.port.map(|number| number.to_string()).unwrap_or_default();
        bindings.entry(key(port)).or_default().push(json!({ "HostIp": address, "HostPort": number }));
    }
    json!(bindings)
}

fn health_check(health: &HealthTest) -> Value {
    let nanoseconds = |duration: Option<Duration>| {
        duration.map_or(0, |duration| u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    };
    json!({
        "Test": health.test,
        "Interval": nanoseconds(health.interval),
        "Timeout": nanoseconds(health.timeout),
        "StartPeriod": nanoseconds(health.start_period),
        "Retries": health.retries.unwrap_or_default(),
    })
}
