//! The engine: where it is, which version of its API it speaks.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hyper::Method;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;

use crate::call::{self, USUAL_LIMIT, within};
use crate::connection::RequestBody;
use crate::output::watch::FileWatch;
use crate::{Error, Result};

/// The newest version of the API that this crate was written for. An older engine is spoken to in its own version.
const NEWEST_VERSION: (u32, u32) = (1, 47);

pub type Labels = BTreeMap<String, String>;

/// A label that things must have to be listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    pub name: String,
    pub value: String,
}

impl Label {
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    pub(crate) fn filter(&self) -> String {
        format!("{}={}", self.name, self.value)
    }
}

/// A container engine. Copies share what is known about it.
#[derive(Clone)]
pub struct Docker {
    shared: Arc<Shared>,
}

struct Shared {
    socket: PathBuf,
    /// Known from the first call on, until the engine may have been replaced.
    version: Mutex<Option<String>>,
    /// Held by the call that creates a network.
    creating_network: tokio::sync::Mutex<()>,
    /// Made when it is first needed; none where the kernel has no more of them.
    file_watch: OnceLock<Option<Arc<FileWatch>>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    /// What the engine calls itself; kept with its data.
    pub id: String,
    pub version: String,
    pub api_version: String,
    /// As images name it: "amd64", "arm64".
    pub architecture: String,
    pub cgroup_version: Option<u8>,
    /// What makes its control groups: "cgroupfs" itself, or "systemd".
    pub cgroup_driver: String,
    /// Its folder, on its machine.
    pub data_root: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version {
    version: String,
    api_version: String,
    arch: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Info {
    #[serde(rename = "ID", default)]
    id: String,
    cgroup_version: Option<String>,
    #[serde(default)]
    cgroup_driver: String,
    #[serde(default)]
    docker_root_dir: PathBuf,
    pub(crate) system_time: String,
}

impl Docker {
    /// Does not connect yet.
    pub fn new(socket: &Path) -> Self {
        let shared = Shared {
            socket: socket.to_owned(),
            version: Mutex::default(),
            creating_network: Default::default(),
            file_watch: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Whether the engine answers, and what it is.
    pub async fn ping(&self) -> Result<Engine> {
        let version = self.ask_version().await?;
        *self.known_version() = Some(spoken_version(&version.api_version)?);
        let info = self.info().await?;
        Ok(Engine {
            id: info.id,
            version: version.version,
            api_version: version.api_version,
            architecture: version.arch,
            cgroup_version: info.cgroup_version.and_then(|version| version.parse().ok()),
            cgroup_driver: info.cgroup_driver,
            data_root: info.docker_root_dir,
        })
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.shared.socket
    }

    pub(crate) fn file_watch(&self) -> Option<&Arc<FileWatch>> {
        self.shared.file_watch.get_or_init(|| FileWatch::new().ok().map(Arc::new)).as_ref()
    }

    pub(crate) async fn turn_to_create_network(&self) -> impl Drop {
        self.shared.creating_network.lock().await
    }

    pub(crate) async fn info(&self) -> Result<Info> {
        self.get("describe itself", "/info".to_owned()).read().await
    }

    pub(crate) async fn version(&self) -> Result<String> {
        if let Some(version) = self.known_version().clone() {
            return Ok(version);
        }
        let version = spoken_version(&self.ask_version().await?.api_version)?;
        *self.known_version() = Some(version.clone());
        Ok(version)
    }

    /// An engine that cannot be reached may be another one the next time, with another version.
    pub(crate) fn learn_from(&self, error: &Error) {
        let may_be_another = match error {
            Error::Unreachable { .. } => true,
            Error::Refused { status: 400, message } => message.contains("client version"),
            _ => false,
        };
        if may_be_another {
            *self.known_version() = None;
        }
    }

    async fn ask_version(&self) -> Result<Version> {
        within("tell its version", USUAL_LIMIT, async {
            let nothing = RequestBody::Whole(None);
            let head = call::Head { method: Method::GET, uri: "/version", registry_login: None };
            let answer = call::send(self, head, "application/json", nothing).await?;
            serde_json::from_slice(&answer.whole().await?).map_err(Error::unreadable)
        })
        .await
    }

    fn known_version(&self) -> MutexGuard<'_, Option<String>> {
        self.shared.version.lock()
    }
}

fn spoken_version(engines: &str) -> Result<String> {
    let parsed = engines.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    let (major, minor) = parsed.ok_or_else(|| Error::unreadable(format!("\"{engines}\" is no version")))?;
    let (major, minor) = NEWEST_VERSION.min((major, minor));
    Ok(format!("{major}.{minor}"))
}
