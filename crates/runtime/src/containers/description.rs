//! What the engine says about a container.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::Deserialize;
use time::OffsetDateTime;

use crate::{Error, Labels, Result, moment};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    pub id: String,
    pub name: String,
    /// The image's id.
    pub image: String,
    pub labels: Labels,
    pub state: State,
    pub exit_code: i64,
    pub oom_killed: bool,
    /// Why it could not be started, in the words of the engine or of its init process; mostly empty.
    pub error: String,
    /// None if its image has no health check.
    pub health: Option<ContainerHealth>,
    /// On the machine, while it runs.
    pub pid: Option<u32>,
    pub started_at: Option<OffsetDateTime>,
    pub finished_at: Option<OffsetDateTime>,
    /// Those it has in its networks, or is going to have.
    pub addresses: Vec<Ipv4Addr>,
    pub restart_count: u64,
    /// The file on the engine's machine to which its output is written, entry by entry in JSON.
    pub log_path: Option<PathBuf>,
}

impl Container {
    /// What the engine's init ends with when it cannot execute the command: not found, not allowed, anything else.
    pub(super) fn may_have_failed_to_execute(&self) -> bool {
        self.state == State::Exited && self.error.is_empty() && matches!(self.exit_code, 127 | 126 | 1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContainerSummary {
    pub id: String,
    pub name: String,
    /// The image's id.
    pub image: String,
    pub labels: Labels,
    pub state: State,
    /// Those it has in its networks, or is going to have.
    pub addresses: Vec<Ipv4Addr>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Created,
    Running,
    Restarting,
    Paused,
    Exited,
    Dead,
    Removing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContainerHealth {
    Starting,
    Healthy,
    /// With what the last probe said.
    Unhealthy(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct InspectAnswer {
    id: String,
    name: String,
    image: String,
    restart_count: u64,
    state: StateAnswer,
    config: ConfigAnswer,
    network_settings: NetworksAnswer,
    log_path: Option<PathBuf>,
    host_config: HostAnswer,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HostAnswer {
    log_config: Option<LogAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct LogAnswer {
    r#type: String,
    config: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct StateAnswer {
    status: String,
    #[serde(rename = "OOMKilled")]
    oom_killed: bool,
    pid: u32,
    exit_code: i64,
    error: String,
    started_at: String,
    finished_at: String,
    health: Option<HealthAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HealthAnswer {
    status: String,
    log: Option<Vec<ProbeAnswer>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProbeAnswer {
    output: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ConfigAnswer {
    labels: Option<Labels>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct NetworksAnswer {
    networks: Option<BTreeMap<String, NetworkAnswer>>,
}

#[derive(Deserialize)]
struct NetworkAnswer {
    #[serde(rename = "IPAddress")]
    has: Option<String>,
    #[serde(rename = "IPAMConfig")]
    wants: Option<WantedAddress>,
}

#[derive(Deserialize)]
struct WantedAddress {
    #[serde(rename = "IPv4Address")]
    address: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct ListAnswer {
    id: String,
    names: Option<Vec<String>>,
    #[serde(rename = "ImageID")]
    image: String,
    labels: Option<Labels>,
    state: String,
    network_settings: Option<NetworksAnswer>,
}

pub(super) fn container(answer: InspectAnswer) -> Result<Container> {
    Ok(Container {
        id: answer.id,
        name: bare_name(&answer.name),
        image: answer.image,
        labels: answer.config.labels.unwrap_or_default(),
        state: state(&answer.state.status)?,
        exit_code: answer.state.exit_code,
        oom_killed: answer.state.oom_killed,
        error: answer.state.error,
        health: answer.state.health.and_then(health),
        pid: (answer.state.pid > 0).then_some(answer.state.pid),
        started_at: moment::parse(&answer.state.started_at),
        finished_at: moment::parse(&answer.state.finished_at),
        addresses: addresses(&answer.network_settings),
        restart_count: answer.restart_count,
        log_path: log_path(answer.log_path, answer.host_config.log_config.as_ref()),
    })
}

pub(super) fn summary(answer: ListAnswer) -> Result<ContainerSummary> {
    Ok(ContainerSummary {
        id: answer.id,
        name: answer.names.iter().flatten().next().map(|name| bare_name(name)).unwrap_or_default(),
        image: answer.image,
        labels: answer.labels.unwrap_or_default(),
        state: state(&answer.state)?,
        addresses: answer.network_settings.iter().flat_map(addresses).collect(),
    })
}

fn bare_name(name: &str) -> String {
    name.trim_start_matches('/').to_owned()
}

fn state(word: &str) -> Result<State> {
    Ok(match word {
        "created" => State::Created,
        // It runs until it has stopped.
        "running" | "stopping" => State::Running,
        "restarting" => State::Restarting,
        "paused" => State::Paused,
        "exited" => State::Exited,
        "dead" => State::Dead,
        "removing" => State::Removing,
        other => return Err(Error::unreadable(format!("\"{other}\" is no state of a container"))),
    })
}

fn health(answer: HealthAnswer) -> Option<ContainerHealth> {
    match answer.status.as_str() {
        "starting" => Some(ContainerHealth::Starting),
        "healthy" => Some(ContainerHealth::Healthy),
        "unhealthy" => {
            let last = answer.log.and_then(|mut log| log.pop());
            Some(ContainerHealth::Unhealthy(last.map(|probe| probe.output.trim().to_owned()).unwrap_or_default()))
        }
        _ => None,
    }
}

/// None before the first start, and of files that are written in another way.
fn log_path(path: Option<PathBuf>, kept: Option<&LogAnswer>) -> Option<PathBuf> {
    let is_plain = |kept: &LogAnswer| {
        let compress = kept.config.as_ref().and_then(|config| config.get("compress"));
        kept.r#type == "json-file" && compress.is_none_or(|compress| compress == "false")
    };
    path.filter(|path| path.is_absolute() && kept.is_some_and(is_plain))
}

fn addresses(answer: &NetworksAnswer) -> Vec<Ipv4Addr> {
    answer.networks.iter().flatten().filter_map(|(_, network)| address(network)).collect()
}

fn address(network: &NetworkAnswer) -> Option<Ipv4Addr> {
    let wanted = network.wants.as_ref().and_then(|wants| wants.address.as_deref());
    [network.has.as_deref(), wanted].into_iter().flatten().find_map(|text| text.parse().ok())
}
