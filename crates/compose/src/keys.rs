//! What is decided about each key.

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
    ("env_file", "there are no files beside the document; write the variables into \"environment\""),
    ("extends", "there are no files beside the document; use an anchor and \"<<\""),
    ("external_links", "a service reaches those of its own project only"),
    ("label_file", "there are no files beside the document; write the labels into \"labels\""),
    ("gpus", "graphics processors are not supported"),
    ("runtime", "the engine's own runtime is used; leave it out"),
    ("volumes_from", "name the volumes in each service that uses them"),
    ("device_cgroup_rules", "name the devices in \"devices\""),
    ("mac_address", "the platform gives addresses; leave it out"),
    ("use_api_socket", "mount the engine's socket by its path, if the organization may do that"),
];

/// Keys of the document.
pub const DOCUMENT: &[&str] = &["configs", "name", "networks", "secrets", "services", "version", "volumes"];

pub fn ignored(key: &str) -> bool {
    IGNORED.iter().any(|(known, _)| *known == key)
}

pub fn refused(key: &str) -> Option<&'static str> {
    REFUSED.iter().find(|(known, _)| *known == key).map(|(_, reason)| *reason)
}

/// A short list of words for a message, or its beginning.
pub fn listed(words: &[&str]) -> String {
    const MOST: usize = 12;
    let shown = words.iter().take(MOST).map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    if words.len() > MOST { format!("{shown} and {} more", words.len() - MOST) } else { shown }
}
