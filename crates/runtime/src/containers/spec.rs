//! What a container is to be, and how the engine is told.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::options::{self, Options};
use crate::Labels;

/// Everything about a container that is to be made. What is not here is the same for all: an init process, no new
/// privileges, the usual capabilities but raw packets, no published ports, no restarts.
#[derive(Clone)]
pub struct ContainerSpec {
    pub name: String,
    /// The image's id, so that a tag that is moved in between does not matter.
    pub image: String,
    /// Instead of the image's own entry point and command.
    pub command: Option<Vec<String>>,
    /// Byte for byte: values may hold anything but a zero byte.
    pub environment: Vec<(String, String)>,
    pub labels: Labels,
    pub network: String,
    pub address: Ipv4Addr,
    /// None if 0. There is no swap beyond it.
    pub memory_bytes: u64,
    /// Billionths of a CPU; no limit if 0.
    pub nano_cpus: u64,
    /// How many processes and threads; no limit if 0.
    pub pids: u64,
    /// How long the engine itself waits between SIGTERM and SIGKILL, as when the machine shuts down.
    pub stop_grace: Duration,
    pub logs: LogLimits,
    pub mounts: Vec<Mount>,
    pub options: Options,
}

/// What a container sees at a path instead of what its image has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub source: MountSource,
    /// In the container, from its root.
    pub path: String,
    pub read_only: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountSource {
    /// By name. The engine makes one that is missing, without labels. Into one that is empty it copies what the image
    /// has at the path, with owners and modes.
    Volume(String),
    /// On the engine's machine, and there already.
    Folder(PathBuf),
}

/// A container without any program, which is made and never started: through it the engine reaches into volumes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HelperSpec {
    pub name: String,
    pub image: String,
    pub labels: Labels,
    pub mounts: Vec<Mount>,
}

/// How much of a container's output the engine keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    pub file_bytes: u64,
    pub files: u32,
}

pub(super) fn body(spec: &ContainerSpec) -> Value {
    let environment: Vec<String> = spec.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let address = json!({ "IPAMConfig": { "IPv4Address": spec.address } });
    let mut body = json!({
        "Image": spec.image,
        "Env": environment,
        "Labels": spec.labels,
        "StopTimeout": spec.stop_grace.as_secs(),
        "HostConfig": {
            "NetworkMode": spec.network,
            "Memory": spec.memory_bytes,
            "MemorySwap": spec.memory_bytes,
            "NanoCpus": spec.nano_cpus,
            "PidsLimit": spec.pids,
            "Init": true,
            "SecurityOpt": ["no-new-privileges:true"],
            "CapDrop": ["NET_RAW"],
            "RestartPolicy": { "Name": "no" },
            "LogConfig": {
                "Type": "json-file",
                "Config": {
                    "max-size": spec.logs.file_bytes.to_string(),
                    "max-file": spec.logs.files.to_string(),
                },
            },
            "Mounts": mounts(&spec.mounts),
        },
        "NetworkingConfig": { "EndpointsConfig": { spec.network.as_str(): address } },
    });
    if let Some(command) = &spec.command {
        // The image's own entry point must not be given it as an argument.
        body["Entrypoint"] = json!(command);
        body["Cmd"] = json!([]);
    }
    options::add_to(&mut body, &spec.options);
    body
}

pub(super) fn helper_body(helper: &HelperSpec) -> Value {
    json!({
        "Image": helper.image,
        // The engine wants a command, although this one is never run.
        "Cmd": ["-"],
        "Labels": helper.labels,
        "HostConfig": { "NetworkMode": "none", "Mounts": mounts(&helper.mounts) },
    })
}

fn mounts(mounts: &[Mount]) -> Vec<Value> {
    let mount = |mount: &Mount| {
        let (kind, source) = match &mount.source {
            MountSource::Volume(name) => ("volume", name.as_str().into()),
            // One that is not UTF-8 cannot be told in JSON; the engine then says that it does not exist.
            MountSource::Folder(folder) => ("bind", folder.to_string_lossy()),
        };
        json!({ "Type": kind, "Source": source, "Target": mount.path, "ReadOnly": mount.read_only })
    };
    mounts.iter().map(mount).collect()
}
