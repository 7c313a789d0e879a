use crate::{assert_snapshot, project};

/// All dangers of a document, a line each.
fn dangers(text: &str) -> String {
    let project = project(text).unwrap();
    let dangers = project.services.iter().flat_map(windlass_compose::Service::dangers);
    dangers
        .map(|danger| {
            format!("line {}, column {}: {}: {}\n", danger.place.line, danger.place.column, danger.path, danger.what)
        })
        .collect()
}

#[test]
fn each_has_its_place() {
    let text = "
services:
  web:
    image: nginx:1
    privileged: ${YES}
    volumes:
      - data:/data
      - { type: tmpfs, target: /t }
      - /srv:/srv:ro
      - { type: bind, source: /var/run/docker.sock, target: /var/run/docker.sock }
      - /:/host
    network_mode: host
    pid: container:other
    ipc: host
    userns_mode: host
    cgroup_parent: /system.slice
    devices: [/dev/kvm, { source: /dev/fuse }]
    cap_add: [SYS_ADMIN, cap_net_admin]
    security_opt: ['no-new-privileges:true', 'seccomp=unconfined', 'apparmor:unconfined', 'label:disable', 'no-new-privileges:false']
    sysctls: { net.core.somaxconn: 1024 }
  other:
    image: nginx:1
    sysctls: [net.ipv4.ip_forward=1]
    network_mode: container:edge
";
    assert_snapshot("dangers", &dangers(text));
}

#[test]
fn what_stays_inside_is_none() {
    let text = "
services:
  web:
    image: nginx:1
    privileged: false
    ports: ['80:80']
    volumes: [data:/var/run, /anonymous]
    tmpfs: /run
    network_mode: service:db
    pid: service:db
    ipc: private
    cap_drop: [ALL]
    security_opt: [no-new-privileges]
    user: root
    group_add: [0]
  db:
    image: nginx:1
    ipc: shareable
    extra_hosts: ['host.docker.internal:host-gateway']
";
    // A service that uses another one's network publishes nothing itself.
    assert_eq!(dangers(&text.replace("    ports: ['80:80']\n", "")), "");
}
