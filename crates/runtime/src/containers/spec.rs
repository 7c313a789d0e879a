//! What a container is to be, and how the engine is told.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde_json::{Value, json};

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
        },
        "NetworkingConfig": { "EndpointsConfig": { spec.network.as_str(): address } },
    });
    if let Some(command) = &spec.command {
        // The image's own entry point must not be given it as an argument.
        body["Entrypoint"] = json!(command);
        body["Cmd"] = json!([]);
    }
    body
}
