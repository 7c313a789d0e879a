use serde::{Deserialize, Serialize};
use windlass_yaml::{Place, at_key};

use crate::service::{Service, Sharing};
use crate::{Device, Mount, Source};

const ENGINE_SOCKETS: [&str; 5] = ["docker.sock", "containerd.sock", "podman.sock", "crio.sock", "buildkitd.sock"];
/// A mount that cannot be written to does not keep a process from connecting to a socket in it.
const SOCKET_FOLDERS: [&str; 7] = ["/", "/run", "/var", "/var/run", "/run/containerd", "/run/docker", "/run/podman"];

/// Limits that let a process take processors whatever its container may have of them.
const URGENT: [&str; 3] = ["nice", "rtprio", "rttime"];

/// Something that lets a container reach more than the containers and volumes of its organization.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Danger {
    pub path: String,
    /// The beginning of the document for a service that was not read from one, or was stored since.
    pub place: Place,
    /// What it lets the service do, as the end of a sentence that begins with its name.
    pub what: String,
}

impl Service {
    /// Everything that needs access to the host, in the order of the document. It is found in the fields as they are, however they were filled.
    pub fn dangers(&self) -> Vec<Danger> {
        let mut dangers = Vec::new();
        let mut add = |field: String, what: String| dangers.push(self.danger(&field, what));
        if self.privileged {
            add("privileged".into(), "runs privileged: it can do on the host whatever root can".into());
        }
        for (index, mount) in self.volumes.iter().enumerate() {
            if let Some(what) = mount_danger(mount) {
                add(format!("volumes[{index}]"), what);
            }
        }
        for (field, sharing, whose) in self.shared() {
            if let Some(what) = sharing_danger(sharing, whose) {
                add(field.into(), what);
            }
        }
        if self.userns_host {
            add("userns_mode".into(), "has the users of the host: root inside is root there".into());
        }
        for (index, device) in self.devices.iter().enumerate() {
            add(format!("devices[{index}]"), device_danger(device));
        }
        for (index, capability) in self.cap_add.iter().enumerate() {
            add(
                format!("cap_add[{index}]"),
                format!("gets the capability {capability}, which containers do not have by default"),
            );
        }
        for (index, option) in self.security_opt.iter().enumerate().filter(|(_, option)| !is_harmless(option)) {
            add(
                format!("security_opt[{index}]"),
                format!("turns a protection of the host off or replaces it: {option}"),
            );
        }
        for (index, limit) in self.ulimits.iter().enumerate().filter(|(_, limit)| URGENT.contains(&limit.name.as_str()))
        {
            let what = format!("lets its processes go before all others of the host (ulimit {})", limit.name);
            add(format!("ulimits[{index}]"), what);
        }
        for (index, (name, _)) in self.sysctls.iter().enumerate() {
            add(format!("sysctls[{index}]"), format!("changes the kernel's setting {name}"));
        }
        if let Some(parent) = &self.cgroup_parent {
            add("cgroup_parent".into(), format!("leaves the control group that limits it, for {parent:?}"));
        }
        dangers.sort_by_key(|danger| danger.place);
        dangers
    }

    fn shared(&self) -> [(&'static str, Option<&Sharing>, &'static str); 3] {
        [
            ("network_mode", self.network_mode.as_ref(), "network"),
            ("pid", self.pid.as_ref(), "processes"),
            ("ipc", self.ipc.as_ref(), "shared memory"),
        ]
    }

    fn danger(&self, field: &str, what: String) -> Danger {
        let (path, place) = self
            .places
            .get(field)
            .cloned()
            .unwrap_or_else(|| (at_key(&at_key("services", &self.name), field), Place::START));
        Danger { path, place, what }
    }
}

fn mount_danger(mount: &Mount) -> Option<String> {
    let Source::Bind(path) = &mount.source else { return None };
    let name = path.rsplit('/').next().unwrap_or_default();
    if ENGINE_SOCKETS.contains(&name) {
        return Some(format!("mounts the container engine's socket ({path}), and with it controls the whole host"));
    }
    let how = if mount.read_only { "reads" } else { "reads and writes" };
    let with_socket = if SOCKET_FOLDERS.contains(&path.as_str()) {
        ", where the container engine's socket is, and with it controls the whole host"
    } else {
        ""
    };
    Some(format!("{how} {path:?} of the host{with_socket}"))
}

fn sharing_danger(sharing: Option<&Sharing>, whose: &str) -> Option<String> {
    match sharing? {
        Sharing::Host => Some(format!("uses the {whose} of the host instead of its own")),
        Sharing::Container(name) => {
            Some(format!("uses the {whose} of the container {name:?}, which may be another organization's"))
        }
        Sharing::None | Sharing::Shareable | Sharing::Service(_) => None,
    }
}

fn device_danger(device: &Device) -> String {
    format!("uses the device {:?} of the host", device.host)
}

/// Only what takes rights away. Everything else is a danger, also what is not known here yet.
pub fn is_harmless(option: &str) -> bool {
    matches!(option, "no-new-privileges" | "no-new-privileges=true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Restart;

    fn whats(service: &Service) -> Vec<String> {
        service.dangers().into_iter().map(|danger| format!("{}: {}", danger.path, danger.what)).collect()
    }

    #[test]
    fn a_plain_service_has_none() {
        let mut service = Service::new("web", "nginx:1");
        service.security_opt = vec!["no-new-privileges=true".into(), "no-new-privileges".into()];
        service.cap_drop = vec!["ALL".into()];
        service.restart = Restart::Always;
        service.network_mode = Some(Sharing::Service("db".into()));
        service.ipc = Some(Sharing::Shareable);
        service.volumes =
            vec![Mount { source: Source::Volume("a".into()), target: "/run".into(), read_only: false, no_copy: false }];
        assert_eq!(whats(&service), Vec::<String>::new());
    }

    /// What was stored and read again has no places, and all its dangers.
    #[test]
    fn a_stored_service_has_them_all() {
        let bind = |path: &str| Mount {
            source: Source::Bind(path.into()),
            target: "/x".into(),
            read_only: true,
            no_copy: false,
        };
        let mut service = Service::new("web", "nginx:1");
        service.privileged = true;
        service.volumes = vec![bind("/srv"), bind("/var/run/docker.sock")];
        service.security_opt =
            vec!["systempaths=unconfined".into(), "no-new-privileges=false".into(), "new=thing".into()];
        service.places.set("privileged".into(), "services.web.privileged".into(), Place { line: 3, column: 4 });
        let stored: Service = serde_json::from_str(&serde_json::to_string(&service).unwrap()).unwrap();
        assert!(stored == service);
        assert_eq!(service.dangers().last().unwrap().place, Place { line: 3, column: 4 });
        assert!(stored.dangers().iter().all(|danger| danger.place == Place::START));
        assert_eq!(
            whats(&stored),
            [
                "services.web.privileged: runs privileged: it can do on the host whatever root can",
                "services.web.volumes[0]: reads \"/srv\" of the host",
                "services.web.volumes[1]: mounts the container engine's socket (/var/run/docker.sock), and with it controls the whole host",
                "services.web.security_opt[0]: turns a protection of the host off or replaces it: systempaths=unconfined",
                "services.web.security_opt[1]: turns a protection of the host off or replaces it: no-new-privileges=false",
                "services.web.security_opt[2]: turns a protection of the host off or replaces it: new=thing",
            ]
        );
    }
}
