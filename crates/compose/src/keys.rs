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

/// Keys of a service that are read where there are files beside the document.
pub const REPOSITORY: &[&str] = &["build", "env_file"];

/// What to do there instead of those whose reason is that there are none.
pub const REFUSED_IN_REPOSITORY: &[(&str, &str)] = &[
    ("extends", "write the settings into the service, or use an anchor and \"<<\""),
    ("label_file", "write the labels into \"labels\""),
];

/// Keys of `build` that are read.
pub const BUILD: &[&str] = &["args", "context", "dockerfile", "dockerfile_inline", "target"];

/// Keys of `build` that change nothing here, each with the reason.
pub const BUILD_IGNORED: &[(&str, &str)] = &[
    ("cache_from", "the platform keeps what builds can use again"),
    ("cache_to", "the platform keeps what builds can use again"),
    ("extra_hosts", "a build reaches what the platform lets it reach"),
    ("labels", "only other tools read the labels of an image"),
    ("network", "a build reaches what the platform lets it reach"),
    ("no_cache", "whether a build begins anew is said when it is started"),
    ("platforms", "an image is built for the host that runs it"),
    ("provenance", "images are put into no registry"),
    ("pull", "the platform decides when it asks for a newer base image"),
    ("sbom", "images are put into no registry"),
    ("shm_size", "how much a build may use is for the platform to say"),
    ("tags", "the platform names what it builds"),
    ("ulimits", "how much a build may use is for the platform to say"),
];

/// Keys of `build` that are refused, each with what to do instead.
pub const BUILD_REFUSED: &[(&str, &str)] = &[
    (
        "additional_contexts",
        "put all that the build needs below \"context\", or copy it from an image with COPY --from",
    ),
    ("entitlements", "a build gets no more rights; leave it out"),
    ("isolation", "it is for another system; leave it out"),
    ("privileged", "a build gets no more rights; leave it out"),
    ("secrets", "a build gets no files of secrets; use \"args\", or read the secret when the container starts"),
    ("ssh", "a build gets no keys; add what it would fetch as a submodule of the repository"),
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

pub fn ignored_in_build(key: &str) -> bool {
    BUILD_IGNORED.iter().any(|(known, _)| *known == key)
}

/// Why a key of a service is refused, and what to do instead.
pub fn refused(key: &str, in_repository: bool) -> Option<String> {
    if in_repository && REPOSITORY.contains(&key) {
        return None;
    }
    if UNSUPPORTED.contains(&key) {
        return Some("is not supported; leave it out".into());
    }
    let there = if in_repository { reason(key, REFUSED_IN_REPOSITORY) } else { None };
    there.or_else(|| reason(key, REFUSED))
}

pub fn refused_in_build(key: &str) -> Option<String> {
    reason(key, BUILD_REFUSED)
}

fn reason(key: &str, table: &[(&str, &str)]) -> Option<String> {
    table.iter().find(|(known, _)| *known == key).map(|(_, reason)| format!("is not supported: {reason}"))
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
