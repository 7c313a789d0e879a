use std::time::Duration;

use windlass_yaml::Key;

use super::document::Declared;
use super::{Draft, depends, images, isolation, networks, variables, volumes};
use crate::at::At;
use crate::bounds::MOST_ITEMS;
use crate::problems::{Problems, shown};
use crate::service::{PullPolicy, Restart, Service, Sharing};
use crate::{build, health, keys, limits, mounts, pairs, ports, units, words};

const LONGEST_STOP: Duration = Duration::from_secs(3600);

/// A policy for services that are built.
const BUILD_POLICY: &str = "build";

/// Keys that [`Service::dangers`] or a later check speaks of.
const PLACED: &[&str] = &[
    "cap_add",
    "cgroup_parent",
    "devices",
    "ipc",
    "network_mode",
    "pid",
    "ports",
    "privileged",
    "security_opt",
    "sysctls",
    "userns_mode",
];

pub fn read(key: &Key, at: &At<'_>, declared: &Declared<'_>, problems: &mut Problems) -> Draft {
    let mut draft = Draft {
        service: Service::new(key.text.clone(), ""),
        place: key.place,
        path: at.path.clone(),
        needs: Vec::new(),
        links: Vec::new(),
        has_profiles: false,
    };
    let mut fields = at.entries(MOST_ITEMS, problems);
    // It changes what other keys say, wherever it stands.
    fields.sort_by_key(|(key, _)| key.text == "deploy");
    for (key, field) in &fields {
        set(key, field, &mut draft, declared, problems);
    }
    check_whole(&fields, &draft, declared.beside.is_some(), problems);
    draft
}

fn set(key: &Key, at: &At<'_>, draft: &mut Draft, declared: &Declared<'_>, problems: &mut Problems) {
    let name = key.text.as_str();
    let in_repository = declared.beside.is_some();
    if let Some(reason) = keys::refused(name, in_repository) {
        return problems.add(key.place, &at.path, reason);
    }
    let more = if in_repository { keys::REPOSITORY } else { &[] };
    if !keys::SERVICE.contains(&name) && !more.contains(&name) {
        if !keys::ignored(name) {
            problems.add(key.place, &at.path, keys::unknown(name, &[keys::SERVICE, more].concat()));
        }
        return;
    }
    // An empty command means something: not the image's.
    if at.node.is_null() || at.is_blank() && !matches!(name, "command" | "entrypoint") {
        return;
    }
    if PLACED.contains(&name) {
        place(name, at, &mut draft.service);
    }
    read_key(name, at, draft, declared, problems);
}

/// Whether the key is known; a test holds that against the list of keys.
fn read_key(name: &str, at: &At<'_>, draft: &mut Draft, declared: &Declared<'_>, problems: &mut Problems) -> bool {
    process(name, at, &mut draft.service, declared, problems)
        || storage(name, at, &mut draft.service, declared, problems)
        || network(name, at, draft, declared, problems)
        || limits::read(name, at, &mut draft.service, problems)
        || isolation::read(name, at, draft, problems)
        || repository(name, at, &mut draft.service, declared, problems)
}

/// Remembers where a value and its items are.
fn place(name: &str, at: &At<'_>, service: &mut Service) {
    service.places.set(name.into(), at.path.clone(), at.node.place);
    for (index, item) in at.node.as_list().unwrap_or_default().iter().enumerate() {
        let path = windlass_yaml::at_index(&at.path, index);
        service.places.set(format!("{name}[{index}]"), path, item.place);
    }
    for (index, (key, _)) in at.node.as_map().unwrap_or_default().iter().enumerate() {
        let path = windlass_yaml::at_key(&at.path, &key.text);
        service.places.set(format!("{name}[{index}]"), path, key.place);
    }
}

/// What runs, and when.
fn process(key: &str, at: &At<'_>, service: &mut Service, declared: &Declared<'_>, problems: &mut Problems) -> bool {
    match key {
        "image" => service.image = at.parse(problems, images::reference).unwrap_or_default(),
        "command" => service.command = command(at, problems),
        "entrypoint" => service.entrypoint = command(at, problems),
        "environment" => {
            let of_files = std::mem::take(&mut service.environment);
            service.environment = variables::merged(of_files, pairs::environment(at, declared.lookup, problems));
        }
        "labels" => service.labels = pairs::labels(at, problems),
        "healthcheck" => service.health = Some(health::read(at, problems)),
        "restart" => restart(at, service, problems),
        "user" => service.user = at.parse(problems, units::word),
        "group_add" => service.group_add = at.parse_each(problems, units::word),
        "working_dir" => service.working_dir = at.parse(problems, folder),
        "init" => service.init = at.boolean(problems).unwrap_or_default(),
        "tty" => service.tty = at.boolean(problems).unwrap_or_default(),
        "stdin_open" => service.stdin_open = at.boolean(problems).unwrap_or_default(),
        "stop_grace_period" => service.stop_grace = at.parse(problems, stop_grace),
        "stop_signal" => service.stop_signal = at.parse(problems, signal),
        "platform" => service.platform = at.parse(problems, units::word),
        // It is built anyway.
        "pull_policy" if declared.beside.is_some() && at.node.as_text() == Some(BUILD_POLICY) => {}
        "pull_policy" => service.pull_policy = at.parse(problems, pull_policy).unwrap_or_default(),
        _ => return false,
    }
    true
}

fn storage(key: &str, at: &At<'_>, service: &mut Service, declared: &Declared<'_>, problems: &mut Problems) -> bool {
    match key {
        "volumes" => volumes::read(at, service, declared, problems),
        "tmpfs" => service.tmpfs.extend(at.parse_each(problems, mounts::tmpfs)),
        "configs" => service.files.extend(declared.configs.used(at, problems)),
        "secrets" => service.files.extend(declared.secrets.used(at, problems)),
        _ => return false,
    }
    true
}

/// What needs the files beside the document.
fn repository(key: &str, at: &At<'_>, service: &mut Service, declared: &Declared<'_>, problems: &mut Problems) -> bool {
    let Some(look) = declared.beside else { return false };
    match key {
        "build" => service.build = Some(build::read(at, declared.lookup, problems)),
        // What "environment" says wins, wherever it stands.
        "env_file" => {
            let of_files = variables::read(at, look, &declared.env_files, problems);
            service.environment = variables::merged(of_files, std::mem::take(&mut service.environment));
        }
        _ => return false,
    }
    true
}

fn network(key: &str, at: &At<'_>, draft: &mut Draft, declared: &Declared<'_>, problems: &mut Problems) -> bool {
    let service = &mut draft.service;
    match key {
        "ports" => service.ports = ports::read(at, problems),
        "expose" => service.expose = ports::exposed(at, problems),
        "networks" => networks::read(at, &declared.networks, service, problems),
        // Others may know it by this name. The platform names containers itself.
        "container_name" => service.aliases.extend(at.parse(problems, pairs::alias)),
        "hostname" => service.hostname = at.parse(problems, pairs::alias),
        "extra_hosts" => service.extra_hosts = pairs::hosts(at, problems),
        "dns" => service.dns = at.parse_each(problems, address),
        "depends_on" => depends::read(at, draft, problems),
        "links" => depends::links(at, draft, problems),
        "profiles" => draft.has_profiles = !at.items(problems).is_empty(),
        _ => return false,
    }
    true
}

/// What can only be said once all keys are read.
fn check_whole(fields: &[(&Key, At<'_>)], draft: &Draft, in_repository: bool, problems: &mut Problems) {
    let service = &draft.service;
    let has = |name: &str| fields.iter().any(|(key, at)| key.text == name && !at.is_blank());
    if !has("image") && !has("build") {
        let or_build = if in_repository { ", or \"build\", the folder of a Dockerfile" } else { "" };
        problems.add(draft.place, &draft.path, format!("needs \"image\", the name of an image{or_build}"));
    }
    if in_repository {
        check_repository(fields, service, problems);
    }
    if matches!(service.network_mode, Some(Sharing::Service(_) | Sharing::Container(_))) {
        let of_the_other = ["ports", "expose", "hostname", "dns", "extra_hosts"];
        for (key, at) in fields.iter().filter(|(key, _)| of_the_other.contains(&key.text.as_str())) {
            problems.add(key.place, &at.path, "belongs to the service whose network is used; move it there");
        }
    }
    if service.network_mode.is_some() && has("networks") {
        problems.add(draft.place, &draft.path, "has both \"network_mode\" and \"networks\"; remove one of them");
    }
    check_targets(service, draft, problems);
}

fn check_repository(fields: &[(&Key, At<'_>)], service: &Service, problems: &mut Problems) {
    for (key, at) in fields {
        match key.text.as_str() {
            "env_file" => variables::check(&service.environment, at, problems),
            "pull_policy" if service.build.is_none() && at.node.as_text() == Some(BUILD_POLICY) => {
                at.problem(problems, "is build, and the service has no \"build\"; add it, or leave the policy out");
            }
            _ => {}
        }
    }
}

/// A path of the container can be only one thing.
fn check_targets(service: &Service, draft: &Draft, problems: &mut Problems) {
    let targets = service.volumes.iter().map(|mount| &mount.target);
    let targets = targets.chain(service.tmpfs.iter().map(|tmpfs| &tmpfs.target));
    let targets = targets.chain(service.files.iter().map(|file| &file.path));
    let mut seen = std::collections::HashSet::new();
    for target in targets.filter(|target| !seen.insert(target.as_str())) {
        problems.add(draft.place, &draft.path, format!("mounts two things at {}; remove one of them", shown(target)));
    }
}

/// A list of words, or one text that is split as a shell would do it.
fn command(at: &At<'_>, problems: &mut Problems) -> Option<Vec<String>> {
    if at.node.as_list().is_none() {
        return at.parse(problems, words::split);
    }
    Some(at.items(problems).iter().filter_map(|item| item.text(problems)).collect())
}

fn restart(at: &At<'_>, service: &mut Service, problems: &mut Problems) {
    let Some(text) = at.text(problems) else { return };
    let (policy, retries) =
        text.split_once(':').map_or((text.as_str(), None), |(policy, retries)| (policy, Some(retries)));
    service.restart = match policy {
        "no" | "false" => Restart::No,
        "always" => Restart::Always,
        "on-failure" => Restart::OnFailure,
        "unless-stopped" => Restart::UnlessStopped,
        _ => {
            return at.problem(
                problems,
                format!("must be no, always, on-failure or unless-stopped, and is {}", shown(&text)),
            );
        }
    };
    service.restart_retries = retries.and_then(|retries| retries.parse().ok());
    if retries.is_some() && (service.restart_retries.is_none() || service.restart != Restart::OnFailure) {
        at.problem(problems, "only on-failure can have a number behind it, such as on-failure:5");
    }
}

fn pull_policy(text: &str) -> Result<PullPolicy, String> {
    match text {
        "always" => Ok(PullPolicy::Always),
        "missing" | "if_not_present" => Ok(PullPolicy::Missing),
        "never" => Ok(PullPolicy::Never),
        _ => Err(format!("must be always, missing or never, and is {}", shown(text))),
    }
}

/// The engine waits that long when it stops a container.
fn stop_grace(text: &str) -> Result<Duration, String> {
    let grace = units::duration(text)?;
    if grace > LONGEST_STOP { Err("must be at most 1h".into()) } else { Ok(grace) }
}

fn signal(text: &str) -> Result<String, String> {
    if text.len() <= 20 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-')) {
        return Ok(text.into());
    }
    Err(format!("must be a signal such as SIGTERM, and is {}", shown(text)))
}

/// Unlike a place for a mount, it may be the root.
fn folder(text: &str) -> Result<String, String> {
    if text == "/" { Ok(text.into()) } else { units::absolute_path(text) }
}

fn address(text: &str) -> Result<std::net::IpAddr, String> {
    text.parse().map_err(|_| format!("must be an IP address, and is {}", shown(text)))
}

#[cfg(test)]
mod tests {
    use windlass_yaml::{Limits, Place, parse};

    use super::*;
    use crate::Beside;

    #[test]
    fn each_key_of_the_list_is_read_and_no_other() {
        let declared = Declared::new(&|_| None, None);
        let in_repository = Declared::new(&|_| None, Some(&|_| Beside::Missing));
        let node = parse("x", &Limits::default()).unwrap();
        let key = Key { text: "web".into(), place: Place::START };
        let is_read_in = |declared: &Declared<'_>, name: &str| {
            let mut problems = Problems::default();
            let mut draft = read(&key, &At::new(&parse("", &Limits::default()).unwrap(), ""), declared, &mut problems);
            read_key(name, &At::new(&node, name), &mut draft, declared, &mut problems)
        };
        let is_read = |name: &str| is_read_in(&declared, name);
        for name in keys::SERVICE {
            assert!(is_read(name), "{name}");
        }
        let others = keys::IGNORED.iter().chain(keys::REFUSED).map(|(name, _)| name).chain(keys::UNSUPPORTED);
        for name in others.clone() {
            assert!(!is_read(name) && !keys::SERVICE.contains(name), "{name}");
        }
        assert_eq!(others.clone().collect::<std::collections::HashSet<_>>().len(), others.count());
        for name in keys::REPOSITORY {
            assert!(is_read_in(&in_repository, name) && keys::refused(name, true).is_none(), "{name}");
            assert!(!is_read(name) && keys::refused(name, false).is_some(), "{name}");
        }
        assert!(keys::REFUSED_IN_REPOSITORY.iter().all(|(name, _)| keys::refused(name, false).is_some()));
        assert!(PLACED.iter().all(|name| keys::SERVICE.contains(name)));
        assert!(keys::SERVICE.is_sorted() && keys::IGNORED.is_sorted());
    }
}
