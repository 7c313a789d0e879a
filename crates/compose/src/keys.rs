//! What is decided about each key.

use windlass_yaml::nearest;

use crate::problems::shown;

/// Keys of a service that are read.
pub const SERVICE: &[&str] = &[
    "cap_add",
    "cap_drop",
    "cgroup_parent",
    "command",
    "configs",
    "container_name",
    "cpus",
    "depends_on",
    "deploy",
    "devices",
    "dns",
    "entrypoint",
    "environment",
    "expose",
    "extra_hosts",
    "group_add",
    "healthcheck",
    "hostname",
    "image",
    "init",
    "ipc",
    "labels",
    "links",
    "mem_limit",
    "network_mode",
    "networks",
    "pid",
    "pids_limit",
    "platform",
    "ports",
    "privileged",
    "profiles",
    "pull_policy",
    "read_only",
    "restart",
    "scale",
    "secrets",
    "security_opt",
    "shm_size",
    "stdin_open",
    "stop_grace_period",
    "stop_signal",
    "sysctls",
    "tmpfs",
    "tty",
    "ulimits",
    "user",
    "userns_mode",
    "volumes",
    "working_dir",
];

/// Keys of a service that change nothing here, each with the reason.
pub const IGNORED: &[(&str, &str)] = &[
    ("annotations", "only other tools read them"),
    ("attach", "it says whose output a terminal shows, and there is none"),
    ("cpu_shares", "how containers share a busy processor is for the platform to say"),
    ("develop", "it is for a developer's machine"),
    ("exclude_from_hc", "it is another platform's, for what it shows as its status"),
    ("logging", "the platform reads the output of every container, and says how much of it is kept"),
    ("mem_reservation", "it asks a scheduler for room, and there is one host"),
];

/// Keys of a service that are refused, each with what to do instead.
pub const REFUSED: &[(&str, &str)] = &[
    ("build", "nothing is built here; put the image into a registry and name it in \"image\""),
    ("device_cgroup_rules", "name the devices in \"devices\""),
    ("env_file", "there are no files beside the document; write the variables into \"environment\""),
    ("extends", "there are no files beside the document; use an anchor and \"<<\""),
    ("external_links", "a service reaches those of its own project only"),
    ("label_file", "there are no files beside the document; write the labels into \"labels\""),
    ("mac_address", "the platform gives addresses; leave it out"),
    ("runtime", "the engine's own runtime is used; leave it out"),
    ("use_api_socket", "mount the engine's socket by its path, if the organization may do that"),
    ("volumes_from", "name the volumes in each service that uses them"),
];

/// Keys of a service that the specification has and nothing here replaces.
#[rustfmt::skip]
pub const UNSUPPORTED: &[&str] = &[
    "blkio_config", "cgroup", "cpu_count", "cpu_percent", "cpu_period", "cpu_quota", "cpu_rt_period", "cpu_rt_runtime", "cpuset",
    "credential_spec", "dns_opt", "dns_search", "domainname", "gpus", "isolation", "mem_swappiness", "memswap_limit", "models",
    "oom_kill_disable", "oom_score_adj", "post_start", "pre_stop", "provider", "storage_opt", "uts",
];

/// Keys of the document.
pub const DOCUMENT: &[&str] = &["configs", "name", "networks", "secrets", "services", "version", "volumes"];

pub fn ignored(key: &str) -> bool {
    IGNORED.iter().any(|(known, _)| *known == key)
}

/// Why a key of a service is refused, and what to do instead.
pub fn refused(key: &str) -> Option<String> {
    if UNSUPPORTED.contains(&key) {
        return Some("is not supported; leave it out".into());
    }
    REFUSED.iter().find(|(known, _)| *known == key).map(|(_, reason)| format!("is not supported: {reason}"))
}

/// What to say about a key that is in no list.
pub fn unknown(key: &str, known: &[&str]) -> String {
    const MOST_LISTED: usize = 12;
    let word = shown(key);
    if let Some(meant) = nearest(key, known) {
        return format!("unknown key {word}; did you mean {meant:?}?");
    }
    if known.len() > MOST_LISTED {
        return format!("unknown key {word}; leave it out");
    }
    let known: Vec<String> = known.iter().map(|known| format!("{known:?}")).collect();
    format!("unknown key {word}; known here are {}", known.join(", "))
}
