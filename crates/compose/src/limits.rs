//! How much of the host a service may use.

use serde::{Deserialize, Serialize};

use crate::at::At;
use crate::bounds::MOST_ITEMS;
use crate::problems::{Problems, shown};
use crate::service::{Restart, Service};
use crate::{keys, units};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ulimit {
    pub name: String,
    /// -1 for none.
    pub soft: i64,
    pub hard: i64,
}

const ULIMITS: &[&str] = &[
    "as",
    "core",
    "cpu",
    "data",
    "fsize",
    "locks",
    "memlock",
    "msgqueue",
    "nice",
    "nofile",
    "nproc",
    "rss",
    "rtprio",
    "rttime",
    "sigpending",
    "stack",
];
/// The engine refuses less.
const LEAST_MEMORY: u64 = 6 << 20;

/// Reads a key if it is one of these.
pub fn read(key: &str, at: &At<'_>, service: &mut Service, problems: &mut Problems) -> bool {
    match key {
        "mem_limit" => set(at, memory(at, problems), &mut service.memory_bytes, problems),
        "cpus" => set(at, cpus(at, problems), &mut service.nano_cpus, problems),
        "pids_limit" => set(at, pids(at, problems), &mut service.pids, problems),
        "shm_size" => service.shm_bytes = at.parse(problems, units::bytes).filter(|size| *size > 0),
        "ulimits" => service.ulimits = ulimits(at, problems),
        "scale" => replicas(at, problems),
        "deploy" => deploy(at, service, problems),
        _ => return false,
    }
    true
}

/// The same limit can be written in two places, which must not differ.
fn set(at: &At<'_>, value: Option<u64>, limit: &mut Option<u64>, problems: &mut Problems) {
    if value.is_some() && limit.is_some() && value != *limit {
        at.problem(
            problems,
            "is given twice with different values, under \"deploy\" and beside it; remove one of them",
        );
    }
    *limit = value.or(*limit);
}

fn memory(at: &At<'_>, problems: &mut Problems) -> Option<u64> {
    let size = at.parse(problems, units::bytes).filter(|size| *size > 0)?;
    if size < LEAST_MEMORY {
        at.problem(problems, "must be at least 6m");
    }
    Some(size)
}

fn cpus(at: &At<'_>, problems: &mut Problems) -> Option<u64> {
    at.parse(problems, units::nano_cpus).filter(|cpus| *cpus > 0)
}

/// 0 and -1 mean: no limit.
fn pids(at: &At<'_>, problems: &mut Problems) -> Option<u64> {
    at.number(-1..=4_194_304, problems).and_then(|pids| u64::try_from(pids).ok()).filter(|pids| *pids > 0)
}

fn replicas(at: &At<'_>, problems: &mut Problems) {
    if at.number(0..=1_000_000, problems).is_some_and(|number| number != 1) {
        at.problem(problems, "each service is one container here; write 1 or leave it out");
    }
}

fn ulimits(at: &At<'_>, problems: &mut Problems) -> Vec<Ulimit> {
    let mut all = Vec::new();
    for (key, entry) in at.entries(MOST_ITEMS, problems) {
        if !ULIMITS.contains(&key.text.as_str()) {
            problems.add(key.place, &entry.path, keys::unknown(&key.text, ULIMITS));
        } else if let Some((soft, hard)) = ulimit(&entry, problems) {
            all.push(Ulimit { name: key.text.clone(), soft, hard });
        }
    }
    all
}

/// One number for both, or each of them.
fn ulimit(at: &At<'_>, problems: &mut Problems) -> Option<(i64, i64)> {
    if at.node.as_map().is_none() {
        return at.number(-1..=i64::MAX, problems).map(|limit| (limit, limit));
    }
    let (mut soft, mut hard) = (None, None);
    for (key, field) in at.fields(&["hard", "soft"], problems) {
        let limit = field.number(-1..=i64::MAX, problems);
        if key == "soft" { soft = limit } else { hard = limit }
    }
    let (Some(soft), Some(hard)) = (soft, hard) else {
        at.problem(problems, "needs both \"soft\" and \"hard\"");
        return None;
    };
    if hard != -1 && (soft == -1 || soft > hard) {
        at.problem(problems, "\"soft\" must not be more than \"hard\"");
    }
    Some((soft, hard))
}

const DEPLOY: &[&str] = &[
    "endpoint_mode",
    "labels",
    "mode",
    "placement",
    "replicas",
    "resources",
    "restart_policy",
    "rollback_config",
    "update_config",
];

fn deploy(at: &At<'_>, service: &mut Service, problems: &mut Problems) {
    for (key, field) in at.fields(DEPLOY, problems) {
        match key {
            "replicas" => replicas(&field, problems),
            "resources" => resources(&field, service, problems),
            "restart_policy" => restart_policy(&field, service, problems),
            "mode" if !matches!(field.text(problems).as_deref(), Some("replicated" | "global")) => {
                field.problem(problems, "must be replicated or global, which both mean one container here");
            }
            // How a cluster spreads and replaces containers: there is one host.
            _ => {}
        }
    }
}

fn resources(at: &At<'_>, service: &mut Service, problems: &mut Problems) {
    for (key, part) in at.fields(&["limits", "reservations"], problems) {
        let known: &[&str] = if key == "limits" { &["cpus", "memory", "pids"] } else { &["cpus", "memory"] };
        for (limit, field) in part.fields(known, problems) {
            match limit {
                // They ask a scheduler for room, and there is one host.
                _ if key == "reservations" => {}
                "memory" => set(&field, memory(&field, problems), &mut service.memory_bytes, problems),
                "cpus" => set(&field, cpus(&field, problems), &mut service.nano_cpus, problems),
                _ => set(&field, pids(&field, problems), &mut service.pids, problems),
            }
        }
    }
}

/// It wins over the service's "restart", as in Compose.
fn restart_policy(at: &At<'_>, service: &mut Service, problems: &mut Problems) {
    let mut policy = Restart::UnlessStopped;
    let mut retries = None;
    for (key, field) in at.fields(&["condition", "delay", "max_attempts", "window"], problems) {
        match key {
            "condition" => policy = field.parse(problems, condition).unwrap_or_default(),
            "max_attempts" => {
                retries = field.number(0..=10_000, problems).and_then(|number| u32::try_from(number).ok());
            }
            _ => {}
        }
    }
    service.restart = policy;
    service.restart_retries = retries.filter(|_| policy == Restart::OnFailure);
}

fn condition(text: &str) -> Result<Restart, String> {
    match text {
        "none" => Ok(Restart::No),
        "on-failure" => Ok(Restart::OnFailure),
        "any" | "unless-stopped" => Ok(Restart::UnlessStopped),
        "always" => Ok(Restart::Always),
        _ => Err(format!("must be none, on-failure or any, and is {}", shown(text))),
    }
}
