//! What decides how far a container is kept apart from the host. All of it is read as it stands; `Service::dangers` judges it.

use super::Draft;
use crate::at::At;
use crate::problems::{Problems, shown};
use crate::service::{Condition, Device, Sharing};
use crate::{pairs, units};

#[rustfmt::skip]
const CAPABILITIES: &[&str] = &[
    "ALL", "AUDIT_CONTROL", "AUDIT_READ", "AUDIT_WRITE", "BLOCK_SUSPEND", "BPF", "CHECKPOINT_RESTORE", "CHOWN", "DAC_OVERRIDE",
    "DAC_READ_SEARCH", "FOWNER", "FSETID", "IPC_LOCK", "IPC_OWNER", "KILL", "LEASE", "LINUX_IMMUTABLE", "MAC_ADMIN", "MAC_OVERRIDE", "MKNOD",
    "NET_ADMIN", "NET_BIND_SERVICE", "NET_BROADCAST", "NET_RAW", "PERFMON", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYSLOG", "SYS_ADMIN",
    "SYS_BOOT", "SYS_CHROOT", "SYS_MODULE", "SYS_NICE", "SYS_PACCT", "SYS_PTRACE", "SYS_RAWIO", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG",
    "WAKE_ALARM",
];

/// Reads a key if it is one of these.
pub fn read(key: &str, at: &At<'_>, draft: &mut Draft, problems: &mut Problems) -> bool {
    let service = &mut draft.service;
    match key {
        "privileged" => service.privileged = at.boolean(problems).unwrap_or_default(),
        "read_only" => service.read_only = at.boolean(problems).unwrap_or_default(),
        "cap_add" => service.cap_add = at.parse_each(problems, capability),
        "cap_drop" => service.cap_drop = at.parse_each(problems, capability),
        "security_opt" => service.security_opt = at.parse_each(problems, security_option),
        "devices" => {
            service.devices = at.one_or_more(problems).iter().filter_map(|item| device(item, problems)).collect();
        }
        "sysctls" => service.sysctls = pairs::sysctls(at, problems),
        "cgroup_parent" => service.cgroup_parent = at.parse(problems, units::word),
        "userns_mode" => service.userns_host = at.parse(problems, userns).is_some(),
        "network_mode" => {
            draft.service.network_mode = shared(at, draft, &["bridge", "default", "none", "host"], problems);
        }
        "pid" => draft.service.pid = shared(at, draft, &["private", "host"], problems),
        "ipc" => draft.service.ipc = shared(at, draft, &["private", "shareable", "none", "host"], problems),
        _ => return false,
    }
    true
}

fn capability(text: &str) -> Result<String, String> {
    let upper = text.to_ascii_uppercase();
    let name = upper.strip_prefix("CAP_").unwrap_or(&upper);
    if CAPABILITIES.contains(&name) {
        return Ok(name.into());
    }
    Err(match windlass_yaml::nearest(name, CAPABILITIES) {
        Some(meant) => format!("there is no capability {}; did you mean {meant:?}?", shown(text)),
        None => format!("there is no capability {}", shown(text)),
    })
}

/// With `=` between name and value, however it was written.
fn security_option(text: &str) -> Result<String, String> {
    let (name, value) = match text.split_once(['=', ':']) {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    match (name, value) {
        ("no-new-privileges", None | Some("true" | "false")) => {}
        ("seccomp", Some("unconfined" | "builtin")) => {}
        ("seccomp", _) => {
            return Err("a profile would be a file, and there are none; seccomp can be unconfined only".into());
        }
        ("apparmor" | "label" | "systempaths" | "writable-cgroups", Some(value)) if !value.is_empty() => {}
        _ => return Err(format!("the option {} is not supported", shown(text))),
    }
    units::word(&value.map_or_else(|| name.to_string(), |value| format!("{name}={value}")))
}

fn userns(text: &str) -> Result<(), String> {
    if text == "host" { Ok(()) } else { Err("must be host, or be left out".into()) }
}

/// `HOST`, `HOST:CONTAINER` or `HOST:CONTAINER:RIGHTS`, or the same as a map.
fn device(at: &At<'_>, problems: &mut Problems) -> Option<Device> {
    if at.node.as_map().is_none() {
        return at.parse(problems, short_device);
    }
    let (mut source, mut target, mut permissions) = (None, None, None);
    for (key, field) in at.fields(&["permissions", "source", "target"], problems) {
        let text = field.text(problems)?;
        match key {
            "source" => source = Some(text),
            "target" => target = Some(text),
            _ => permissions = Some(text),
        }
    }
    let Some(source) = source else {
        at.problem(problems, "needs \"source\", a device of the host");
        return None;
    };
    let device = checked_device(&source, target.as_deref(), permissions.as_deref());
    device.map_err(|message| at.problem(problems, message)).ok()
}

fn short_device(text: &str) -> Result<Device, String> {
    match text.split(':').collect::<Vec<_>>()[..] {
        [host] => checked_device(host, None, None),
        [host, container] => checked_device(host, Some(container), None),
        [host, container, permissions] => checked_device(host, Some(container), Some(permissions)),
        _ => Err(format!("must be like \"/dev/kvm\" or \"/dev/a:/dev/b:rw\", and is {}", shown(text))),
    }
}

fn checked_device(host: &str, container: Option<&str>, permissions: Option<&str>) -> Result<Device, String> {
    let host = units::absolute_path(host)?;
    let container = container.map(units::absolute_path).transpose()?.unwrap_or_else(|| host.clone());
    let permissions = permissions.unwrap_or("rwm");
    if permissions.is_empty() || permissions.len() > 3 || !permissions.bytes().all(|byte| b"rwm".contains(&byte)) {
        return Err(format!("must have rights of the letters r, w and m, and has {}", shown(permissions)));
    }
    Ok(Device { host, container, permissions: permissions.into() })
}

/// Whose network, processes or shared memory a service uses. Nothing for its own.
fn shared(at: &At<'_>, draft: &mut Draft, words: &[&str], problems: &mut Problems) -> Option<Sharing> {
    let text = at.parse(problems, units::word)?;
    match text.split_once(':') {
        Some(("service", name)) => {
            draft.need(at, name.into(), Condition::Started);
            return Some(Sharing::Service(name.into()));
        }
        Some(("container", name)) if !name.is_empty() => return Some(Sharing::Container(name.into())),
        _ => {}
    }
    if !words.contains(&text.as_str()) {
        let words = words.join(", ");
        at.problem(problems, format!("must be one of {words} or service:NAME, and is {}", shown(&text)));
    }
    match text.as_str() {
        "host" => Some(Sharing::Host),
        "none" => Some(Sharing::None),
        "shareable" => Some(Sharing::Shareable),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_have_one_form() {
        for text in ["NET_ADMIN", "net_admin", "CAP_NET_ADMIN", "cap_net_admin"] {
            assert_eq!(capability(text), Ok("NET_ADMIN".into()), "{text}");
        }
        assert_eq!(
            capability("NET_ADMINS").unwrap_err(),
            "there is no capability \"NET_ADMINS\"; did you mean \"NET_ADMIN\"?"
        );
        assert!(capability("").is_err());
    }

    #[test]
    fn security_options_have_one_form() {
        let cases = [
            ("no-new-privileges:true", "no-new-privileges=true"),
            ("no-new-privileges=true", "no-new-privileges=true"),
            ("no-new-privileges", "no-new-privileges"),
            ("seccomp:unconfined", "seccomp=unconfined"),
            ("label:type:x", "label=type:x"),
            ("label=disable", "label=disable"),
        ];
        for (text, option) in cases {
            assert_eq!(security_option(text), Ok(option.into()), "{text}");
        }
        for text in
            ["", "seccomp:./profile.json", "seccomp", "apparmor", "other=1", "no-new-privileges:maybe", "label=a b"]
        {
            assert!(security_option(text).is_err(), "{text}");
        }
    }

    #[test]
    fn devices_have_rights() {
        let device = |text: &str| {
            short_device(text).map(|device| format!("{} {} {}", device.host, device.container, device.permissions))
        };
        assert_eq!(device("/dev/kvm"), Ok("/dev/kvm /dev/kvm rwm".into()));
        assert_eq!(device("/dev/a:/dev/b:r"), Ok("/dev/a /dev/b r".into()));
        for text in ["", "kvm", "/dev/a:b", "/dev/a:/dev/b:x", "/dev/a:/dev/b:rwmr", "a:b:c:d", "nvidia.com/gpu=all"] {
            assert!(device(text).is_err(), "{text}");
        }
    }
}
