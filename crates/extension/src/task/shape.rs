//! Which properties each kind of step has. The check and the JSON Schema are both made from this table.

use crate::extension::StepType;

pub(crate) struct Shape {
    pub kind: StepType,
    /// The value of `action`, for the kinds that have one.
    pub action: Option<&'static str>,
    pub required: &'static [&'static str],
    pub optional: &'static [&'static str],
}

const fn shape(
    kind: StepType,
    action: Option<&'static str>,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> Shape {
    Shape { kind, action, required, optional }
}

pub(crate) const SHAPES: &[Shape] = &[
    shape(StepType::Command, None, &["cmd"], &["revert_cmd", "user"]),
    shape(StepType::File, Some("mkdir"), &["dest"], &["mode", "owner"]),
    shape(StepType::File, Some("write"), &["dest", "content"], &["mode", "owner"]),
    shape(StepType::File, Some("copy"), &["src", "dest"], &["mode", "owner"]),
    shape(StepType::File, Some("move"), &["src", "dest"], &[]),
    shape(StepType::File, Some("delete"), &["dest"], &[]),
    shape(StepType::Service, Some("start"), &["name"], &[]),
    shape(StepType::Service, Some("stop"), &["name"], &[]),
    shape(StepType::Service, Some("restart"), &["name"], &[]),
    shape(StepType::Service, Some("reload"), &["name"], &[]),
    shape(StepType::Service, Some("enable"), &["name"], &[]),
    shape(StepType::Service, Some("disable"), &["name"], &[]),
    shape(StepType::User, Some("ensure"), &["username"], &["shell", "home", "groups"]),
    shape(StepType::User, Some("delete"), &["username"], &[]),
    shape(StepType::User, Some("add_groups"), &["username", "groups"], &[]),
    shape(StepType::User, Some("remove_groups"), &["username", "groups"], &[]),
    shape(StepType::Package, None, &["name", "state"], &[]),
    shape(StepType::Docker, Some("run"), &["name", "image"], RUN),
    shape(StepType::Docker, Some("pull"), &["image"], &["tag"]),
    shape(StepType::Docker, Some("start"), &["name"], &[]),
    shape(StepType::Docker, Some("stop"), &["name"], &[]),
    shape(StepType::Docker, Some("rm"), &["name"], &[]),
    shape(StepType::DockerCompose, Some("up"), &[], &["compose", "file"]),
    shape(StepType::DockerCompose, Some("down"), &[], &[]),
    shape(StepType::Proxy, Some("add"), &["domain", "port"], &["service"]),
    shape(StepType::Proxy, Some("update"), &["domain", "port"], &["service"]),
    shape(StepType::Proxy, Some("remove"), &["domain"], &[]),
    shape(StepType::Wait, None, &[], &["seconds", "service", "port"]),
];

/// What a container that is described by properties may have besides its name and its image.
const RUN: &[&str] = &[
    "tag",
    "cap_add",
    "cap_drop",
    "cmd",
    "cpus",
    "devices",
    "entrypoint",
    "env",
    "expose",
    "extra_hosts",
    "health",
    "hostname",
    "init",
    "labels",
    "memory",
    "network_mode",
    "networks",
    "pids_limit",
    "platform",
    "ports",
    "privileged",
    "read_only",
    "restart",
    "security_opt",
    "shm_size",
    "stop_grace_period",
    "stop_signal",
    "tmpfs",
    "user",
    "volumes",
    "working_dir",
];

/// Properties that other platforms know, why they are not here, and what to do.
pub(crate) const REFUSED: &[(StepType, &str, &str)] = &[
    (StepType::Service, "revert_action", "what undoes a change of a service is known"),
    (StepType::Service, "user", "services belong to the host, not to a user"),
    (StepType::User, "revert_action", "what undoes a change of a user is known"),
    (StepType::DockerCompose, "project", "the project has the name of the installation"),
    (StepType::DockerCompose, "args", "Compose documents are read without the Compose program"),
    (StepType::DockerCompose, "user", "containers are started by the engine, not by a user"),
    (StepType::DockerCompose, "revert_cmd", "what undoes up is known"),
];

/// Actions that other platforms know, and what to use instead.
pub(crate) const REFUSED_ACTIONS: &[(StepType, &str, &str)] = &[
    (StepType::File, "upload", "use write, with the text of the file as content"),
    (StepType::User, "modify", "use ensure, which gives an existing user its shell, home and groups"),
    (StepType::User, "check", "use ensure, or a step of type command with: id -u {{ username }}"),
    (StepType::DockerCompose, "build", "images are not built here; name an image that a registry has"),
];

/// The shapes of one kind.
pub(crate) fn shapes(kind: StepType) -> impl Iterator<Item = &'static Shape> {
    SHAPES.iter().filter(move |shape| shape.kind == kind)
}

/// The property that says what is done. Kinds that do one thing only have none.
pub(crate) fn has_action(kind: StepType) -> bool {
    shapes(kind).any(|shape| shape.action.is_some())
}

impl Shape {
    pub fn knows(&self, key: &str) -> bool {
        self.required.contains(&key) || self.optional.contains(&key) || (key == "action" && self.action.is_some())
    }

    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        let action = self.action.map(|_| "action");
        action.into_iter().chain(self.required.iter().copied()).chain(self.optional.iter().copied())
    }
}
