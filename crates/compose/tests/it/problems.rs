use crate::{assert_snapshot, problems};

/// One service with these lines.
fn service(lines: &str) -> String {
    let lines: String = lines.trim().lines().map(|line| format!("    {}\n", line.trim_start_matches("    "))).collect();
    problems(&format!("services:\n  web:\n    image: nginx:1\n{lines}"))
}

#[test]
fn of_the_document() {
    let text = "
servces: {}
include: [a.yaml]
x-anything: 1
volumes: { a: { external: true, driver: nfs, driver_opts: { device: /etc, o: bind } }, '/b': }
networks: { a: { external: true, driver: host, internal: true } }
configs: { a: { file: ./a }, b: }
secrets: { a: { external: true }, b: { environment: NONE } }
services: {}
";
    assert_snapshot("document", &problems(text));
    assert_snapshot("no_map", &problems("- a\n"));
    assert_snapshot("nothing", &problems(""));
    assert_snapshot("profiles_only", &problems("services: {a: {image: x, profiles: [y]}}"));
}

#[test]
fn of_keys() {
    let text = "
        build: .
        env_file: .env
        extends: { file: a.yaml }
        volumes_from: [db]
        gpus: all
        enviroment: { A: b }
        frobnicate: 1
        oom_score_adj: -1000
        uts: host
    ";
    assert_snapshot("keys", &service(text));
}

#[test]
fn of_values() {
    let text = "
        command: [a, {b: c}]
        entrypoint: echo 'a
        user: [a]
        working_dir: srv
        hostname: a b
        init: perhaps
        restart: sometimes
        stop_grace_period: 90
        stop_signal: SIG TERM
        mem_limit: much
        cpus: many
        pids_limit: -2
        shm_size: 1q
        pull_policy: daily
        platform: a b
        dns: example.org
        group_add: ['']
        expose: [0, 70000]
        extra_hosts: [a, 'b:c']
        tmpfs: [run, '/run:suid']
        ulimits: { nofile: { soft: 2, hard: 1 }, other: 1, nproc: { soft: 1 } }
        labels: ['windlass.app=x']
        scale: 3
        cap_add: [NET_ADMINN]
        security_opt: ['seccomp:profile.json']
        devices: [kvm]
        ipc: public
        userns_mode: private
    ";
    assert_snapshot("values", &service(text));
}

#[test]
fn of_ports_and_volumes() {
    let text = "
        ports: [http, '80:81:82:83', '1-3:80', { published: 80 }, { target: 80, host_ip: here }, '80/icmp', '1-60000']
        volumes: ['./data:/data', '~/x:/x', 'data', 'data:/data:rshared', { type: bind, source: data, target: /x }, { type: npipe, target: /y }, { source: a }, { type: volume, source: /srv, target: /z, subpath: x }, 'a:/same', 'b:/same']
    ";
    assert_snapshot("ports_and_volumes", &service(text));
}

#[test]
fn of_health_and_limits() {
    let text = "
        healthcheck: { test: [curl], interval: 10, retries: often, disable: maybe, intervall: 5s }
        mem_limit: 1g
        deploy: { replicas: 2, mode: replicated-job, resources: { limits: { memory: 2g }, reservations: { devices: [] } }, restart_policy: { condition: sometimes } }
    ";
    assert_snapshot("health_and_limits", &service(text));
}

#[test]
fn of_names() {
    let text = "
volumes: { data: }
networks: { front: }
configs: { settings: { content: x } }
services:
  web:
    image: nginx:1
    depends_on: [dv, { a: b }]
    volumes: ['date:/data']
    networks: [fornt, { x: y }]
    configs: [setings, other]
    secrets: [password]
    links: ['db:a b']
    network_mode: 'service:elsewhere'
  db:
    image: nginx:1
    depends_on: { later: { condition: running } }
    networks: { front: { ipv4_address: 10.0.0.1 } }
    ports: ['80:80']
  other:
    image: nginx:1
    ports: ['80:81']
  later: { image: x, profiles: [a] }
  none: {}
  'a b': { image: Nginx }
";
    assert_snapshot("names", &problems(text));
}

#[test]
fn of_circles() {
    let text = "services:\n  z: {image: x}\n  a: {image: x, depends_on: [b]}\n  b: {image: x, depends_on: [c]}\n  c: {image: x, links: [b]}\n  d: {image: x, depends_on: [d]}\n";
    assert_snapshot("circle", &problems(text));
    assert_snapshot("itself", &problems("services:\n  d: {image: x, depends_on: [d]}\n"));
}

/// What is wrong with a text whose variable has no value is not said twice.
#[test]
fn of_variables() {
    let text = "
services:
  web: &web
    image: ${IMAGE}
    mem_limit: ${MEMORY:?say how much}${NONE:?say how much}
    command: echo $1
    ports: ['${A']
  copy: *web
";
    assert_snapshot("variables", &problems(text));
}

/// No message shows the value of a variable of a container.
#[test]
fn show_no_secrets() {
    let text = "
        environment: ['=${PASSWORD}', 'a b=${PASSWORD}', { a: '${PASSWORD}' }]
        labels: ['=${PASSWORD}']
        command: \"'${PASSWORD}\"
    ";
    let shown = service(text);
    assert!(!shown.contains("s3cr3t"), "{shown}");
    assert_snapshot("no_secrets", &shown);
}
