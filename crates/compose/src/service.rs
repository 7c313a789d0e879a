use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use windlass_yaml::Place;

use crate::{Build, File, Health, Mount, Port, Tmpfs, Ulimit};

/// One container of a project.
///
/// Its variables, its command and its files may have secrets in them, so it shows only its name and its image when it is printed.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Service {
    pub name: String,
    /// Nothing for one that is built and has no name of its own.
    pub image: String,
    /// Wins over `image`, which then only names what is built.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<Build>,
    /// `Some` of nothing means: not the image's.
    pub command: Option<Vec<String>>,
    pub entrypoint: Option<Vec<String>>,
    pub environment: Vec<(String, String)>,
    pub labels: Vec<(String, String)>,
    pub ports: Vec<Port>,
    pub expose: Vec<u16>,
    pub volumes: Vec<Mount>,
    pub tmpfs: Vec<Tmpfs>,
    /// Files whose content is in the document or beside it.
    pub files: Vec<File>,
    pub depends_on: Vec<Dependency>,
    pub health: Option<Health>,
    pub restart: Restart,
    /// How often [`Restart::OnFailure`] tries; without it, always again.
    pub restart_retries: Option<u32>,
    pub user: Option<String>,
    pub working_dir: Option<String>,
    pub hostname: Option<String>,
    pub stop_grace: Option<Duration>,
    pub stop_signal: Option<String>,
    pub memory_bytes: Option<u64>,
    pub nano_cpus: Option<u64>,
    pub pids: Option<u64>,
    pub shm_bytes: Option<u64>,
    pub ulimits: Vec<Ulimit>,
    pub sysctls: Vec<(String, String)>,
    pub init: bool,
    pub read_only: bool,
    pub tty: bool,
    pub stdin_open: bool,
    pub privileged: bool,
    /// In capital letters and without `CAP_`.
    pub cap_add: Vec<String>,
    pub cap_drop: Vec<String>,
    /// Each as `name` or `name=value`.
    pub security_opt: Vec<String>,
    pub devices: Vec<Device>,
    pub network_mode: Option<Sharing>,
    pub pid: Option<Sharing>,
    pub ipc: Option<Sharing>,
    /// Whether users inside are the same users on the host, where the engine would keep them apart.
    pub userns_host: bool,
    pub cgroup_parent: Option<String>,
    /// Names and their addresses; an address may be `host-gateway`.
    pub extra_hosts: Vec<(String, String)>,
    pub dns: Vec<IpAddr>,
    /// Names by which other services reach it, besides its own.
    ///
    /// All services share one network, whatever networks the document names: those only carry aliases, and keep no service of a
    /// project apart from another.
    pub aliases: Vec<String>,
    pub pull_policy: PullPolicy,
    /// Names or numbers.
    pub group_add: Vec<String>,
    pub platform: Option<String>,
    #[serde(skip)]
    pub(crate) places: Places,
}

impl Service {
    pub fn new(name: impl Into<String>, image: impl Into<String>) -> Self {
        Self { name: name.into(), image: image.into(), ..Self::default() }
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("name", &self.name).field("image", &self.image).finish_non_exhaustive()
    }
}

/// Where in the document something was written, by the field that it became: `volumes[0]`.
#[derive(Clone, Default)]
pub struct Places(BTreeMap<String, (String, Place)>);

impl Places {
    pub fn set(&mut self, field: String, path: String, place: Place) {
        self.0.insert(field, (path, place));
    }

    pub fn get(&self, field: &str) -> Option<&(String, Place)> {
        self.0.get(field)
    }
}

/// Where a service was written is no part of what it is: a document with one more comment describes the same service.
impl PartialEq for Places {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dependency {
    pub service: String,
    pub condition: Condition,
}

/// What must hold of a service before one that depends on it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    Started,
    Healthy,
    Completed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Restart {
    #[default]
    No,
    Always,
    OnFailure,
    UnlessStopped,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PullPolicy {
    Always,
    #[default]
    Missing,
    Never,
}

/// A device of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub host: String,
    pub container: String,
    /// Of the letters `r`, `w` and `m`.
    pub permissions: String,
}

/// Whose network, processes or shared memory a container uses instead of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    Host,
    None,
    /// Its own, which others of its project may use.
    Shareable,
    /// Those of a service of the same project.
    Service(String),
    /// Those of a container that may belong to another organization.
    Container(String),
}
