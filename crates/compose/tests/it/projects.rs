use windlass_compose::{Project, Restart};

use crate::{assert_snapshot, names, project};

const WHOLE: &str = r#"
version: "3.8"
name: wiki
x-common: &common
  restart: unless-stopped
  logging: { driver: json-file, options: { max-size: 10m } }
  environment: &environment
    TZ: Europe/Berlin
services:
  web:
    <<: *common
    image: nginx:${TAG}
    container_name: wiki-web
    hostname: web
    command: sh -c 'echo "hello  world" && exec nginx'
    entrypoint: ["/entry", 1]
    environment:
      <<: *environment
      PASSWORD: ${PASSWORD}
      LITERAL: "a$$b"
      NUMBER: 1.10
      YES:
      NONE:
    labels: [a=b, c]
    ports:
      - "127.0.0.1:${PORT}:80"
      - 443
      - { target: 53, published: "53", protocol: udp, mode: host }
    expose: [9000, "9001-9002/tcp"]
    volumes:
      - data:/data:ro
      - /cache
      - { type: volume, source: other, target: /other, volume: { nocopy: true } }
      - { type: tmpfs, target: /scratch, tmpfs: { size: 64m, mode: 1777 } }
      - { type: bind, source: ./nginx.conf, target: /etc/nginx/nginx.conf, content: "worker_processes 1;" }
    tmpfs: /run:size=1m,noexec
    configs:
      - settings
      - { source: settings, target: /etc/settings.json, mode: 0440, uid: "1000" }
    secrets: [password]
    depends_on:
      db: { condition: service_healthy }
      init: { condition: service_completed_successfully }
      missing: { condition: service_started, required: false }
    healthcheck:
      test: curl -f http://localhost
      interval: 30s
      timeout: 1m30s
      retries: ${EMPTY}
      start_period: 500ms
    user: 1000:1000
    working_dir: /srv
    init: ${YES}
    read_only: "true"
    tty: yes
    stdin_open: false
    stop_grace_period: 1m
    stop_signal: SIGINT
    mem_limit: ${MEMORY}
    cpus: 0.50
    pids_limit: 100
    shm_size: 64mb
    ulimits: { nofile: { soft: 1024, hard: 2048 }, memlock: -1 }
    cap_drop: [all]
    security_opt: ["no-new-privileges:true"]
    extra_hosts: ["host.docker.internal:host-gateway", "v6=[::1]"]
    dns: 1.1.1.1
    group_add: [988, audio]
    platform: linux/amd64
    pull_policy: always
    networks:
      front: { aliases: [wiki, web] }
      default:
  db:
    image: postgres:16@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    healthcheck: { test: ["CMD", "pg_isready"] }
    links: ["init:first"]
    deploy:
      mode: replicated
      replicas: 1
      resources: { limits: { cpus: "2", memory: 1g, pids: 50 }, reservations: { memory: 256m } }
      restart_policy: { condition: on-failure, max_attempts: 3 }
    networks: [front]
  init:
    image: busybox
    healthcheck: { disable: true }
    network_mode: none
  later:
    image: busybox
    profiles: [debug]
networks:
  front: { driver: bridge, ipam: { config: [] } }
volumes:
  data:
  other: { driver: local, name: elsewhere }
configs:
  settings: { content: '{"port": ${PORT}}' }
secrets:
  password: { environment: PASSWORD }
"#;

#[test]
fn a_whole_document() {
    let project = project(WHOLE).unwrap();
    assert_snapshot("whole_project", &serde_json::to_string_pretty(&project).unwrap());
}

#[test]
fn a_project_is_read_as_it_was_stored() {
    let project = project(WHOLE).unwrap();
    let stored = serde_json::to_string(&project).unwrap();
    let read: Project = serde_json::from_str(&stored).unwrap();
    assert!(read == project);
    // One that an older version stored has fewer fields.
    let older: Project =
        serde_json::from_str(r#"{"name":null,"services":[{"name":"a","image":"b"}],"volumes":[],"left_out":[]}"#)
            .unwrap();
    assert_eq!(older.services[0].restart, Restart::No);
}

#[test]
fn printing_shows_no_secrets() {
    let project = project(WHOLE).unwrap();
    for text in [format!("{project:?}"), format!("{project:#?}"), format!("{:?}", project.services[2].files)] {
        assert!(!text.contains("s3cr3t") && !text.contains("port"), "{text}");
    }
}

#[test]
fn services_come_after_those_they_depend_on() {
    let text = "services:\n  a: {image: x, depends_on: [c]}\n  b: {image: x}\n  c: {image: x, network_mode: 'service:d'}\n  d: {image: x}\n";
    let first = project(text).unwrap();
    assert_eq!(names(&first), ["b", "d", "c", "a"]);
    assert_eq!(names(&project(text).unwrap()), names(&first));
}

#[test]
fn places_do_not_make_a_service_different() {
    let text = "services:\n  a: {image: x, privileged: true}\n";
    assert!(project(text).unwrap() == project(&format!("# comment\n\n{text}")).unwrap());
}

#[test]
fn a_volume_needs_no_declaration_where_there_is_none() {
    let volumes = project("services:\n  a: {image: x, volumes: ['b:/b', 'c:/c', 'b:/d']}\n").unwrap().volumes;
    assert_eq!(volumes.iter().map(|volume| volume.name.as_str()).collect::<Vec<_>>(), ["b", "c"]);
}
