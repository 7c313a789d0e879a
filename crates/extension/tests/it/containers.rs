//! Steps that start containers, and those that speak of them.

use serde_json::json;
use windlass_compose::{Project, Restart};
use windlass_extension::{Action, ResolvedStep};

use crate::documents::{document, extension, filled, problems, resolved, shown};

fn up(steps: &[ResolvedStep]) -> &Project {
    match &steps[0].action {
        Action::Up { project } => project,
        other => panic!("{other:?}"),
    }
}

const COMPOSE: &str = r#"
- name: Start
  type: docker_compose
  properties:
    action: up
    compose:
      services:
        web:
          image: "nginx:{{ tag }}"
          command: serve --name {{ title }} --secret "x {{ password }}"
          environment:
            TITLE: "{{ title }}"
            BOTH: "${title}-{{ title }}"
            PASSWORD: "{{ password }}"
          ports: ["{{ port }}:80"]
          volumes: ["data:/data"]
          depends_on: {db: {condition: service_started}}
        db:
          image: postgres:17.5
      volumes: {data: }
- {name: Route, type: proxy, properties: {action: add, domain: "{{ domain }}", service: web, port: 80}}
- {name: Wait, type: wait, properties: {service: db, port: 5432}}
"#;
const VARIABLES: &str = r#"
tag: {type: string, default: "1.27"}
title: {type: string, is_required: true}
password: {type: secret}
port: {type: integer, default: 8080}
domain: {type: string}
"#;

#[test]
fn values_come_into_compose_as_they_are() {
    let title = "a \"b\" ${port} $(id) $$ 'c' {{ port }}\nprivileged: true";
    let pairs = [("title", json!(title)), ("password", json!("pass w$1")), ("domain", json!("Wiki.example.org"))];
    let steps = resolved(&document("install", VARIABLES, COMPOSE), &pairs).unwrap();
    let project = up(&steps);
    let names: Vec<_> = project.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["db", "web"]);
    let web = &project.services[1];
    assert_eq!(web.image, "nginx:1.27");
    assert_eq!(web.command.as_ref().unwrap(), &["serve", "--name", title, "--secret", "x pass w$1"]);
    let variable = |name: &str| web.environment.iter().find(|(known, _)| known == name).unwrap().1.as_str();
    assert_eq!(variable("TITLE"), title);
    assert_eq!(variable("BOTH"), format!("{title}-{title}"));
    assert_eq!(variable("PASSWORD"), "pass w$1");
    assert_eq!(web.ports[0].published, Some(8080));
    assert!(!web.privileged && steps[0].needs_host_access().is_empty());
    let route = Action::Route { domain: "wiki.example.org".into(), service: Some("web".into()), port: 80 };
    assert_eq!(steps[1].action, route);
    assert_eq!(steps[2].action, Action::WaitFor { service: "db".into(), port: Some(5432) });
}

#[test]
fn what_leaves_the_organization_needs_host_access() {
    let step = r#"
- name: Start
  type: docker_compose
  properties:
    action: up
    compose:
      services:
        web: {image: nginx, volumes: ["{{ data }}:/data"], privileged: "{{ flag }}"}
"#;
    let text = document("install", "data: {type: string, default: data}\nflag: {type: boolean}", step);
    assert!(resolved(&text, &[]).unwrap()[0].needs_host_access().is_empty());
    let reasons = resolved(&text, &[("data", json!("/etc"))]).unwrap()[0].needs_host_access();
    assert_eq!(reasons, ["the container web reads and writes \"/etc\" of the host"]);
    let reasons = resolved(&text, &[("flag", json!(true))]).unwrap()[0].needs_host_access();
    assert!(reasons[0].starts_with("the container web runs privileged"), "{reasons:?}");
    let file = "- {name: Start, type: docker_compose, properties: {action: up, file: /opt/x/compose.yaml}}";
    let reasons = resolved(&document("install", "", file), &[]).unwrap()[0].needs_host_access();
    assert_eq!(reasons, ["reads /opt/x/compose.yaml of the host and starts what is written there"]);
}

#[test]
fn one_container_in_the_words_of_docker_run() {
    let step = r#"
- name: Start
  type: docker
  properties:
    action: run
    name: cache
    image: redis
    tag: "{{ tag }}"
    cmd: redis-server --requirepass {{ password }}
    env: "A=1,B={{ title }}"
    ports: "6379:6379, 127.0.0.1:8080:80"
    volumes: "data:/data,other:/other:ro"
    networks: [backend]
    restart: unless-stopped
    memory: 128m
    health: {test: ["CMD", "redis-cli", "ping"], interval: 10s}
"#;
    let variables = "tag: {type: string, default: 7.4.2}\ntitle: {type: string}\npassword: {type: secret}";
    let text = document("install", variables, step);
    let steps = resolved(&text, &[("title", json!("x,C=3")), ("password", json!("a b c d e"))]).unwrap();
    let cache = &up(&steps).services[0];
    assert_eq!((cache.name.as_str(), cache.image.as_str()), ("cache", "redis:7.4.2"));
    assert_eq!(cache.command.as_ref().unwrap(), &["redis-server", "--requirepass", "a b c d e"]);
    assert_eq!(cache.environment, [("A".into(), "1".into()), ("B".into(), "x,C=3".into())]);
    assert_eq!((cache.ports.len(), cache.volumes.len()), (2, 2));
    assert_eq!((cache.restart, cache.memory_bytes), (Restart::UnlessStopped, Some(128 * 1024 * 1024)));
    assert_eq!(cache.health.as_ref().unwrap().test, ["CMD", "redis-cli", "ping"]);
}

#[test]
fn problems_of_containers_have_the_authors_places_and_paths() {
    let step = r#"
- name: Start
  type: docker
  properties:
    action: run
    name: cache
    image: redis
    memory: lots
    env: [A=1, "=2"]
    colour: blue
- name: Start more
  type: docker_compose
  properties:
    action: up
    compose:
      services:
        web: {image: nginx, memory: 5}
"#;
    let told = problems(&document("install", "", step));
    let lines: Vec<_> = told.lines().collect();
    assert!(lines[0].starts_with("line 16, column 17: execution.run[0].properties.memory: must be"), "{told}");
    assert!(lines[1].starts_with("line 17, column 20: execution.run[0].properties.env[1]: "), "{told}");
    assert!(lines[2].starts_with("line 18, column 9: execution.run[0].properties.colour: unknown key"), "{told}");
    let unknown = "execution.run[1].properties.compose.services.web.memory: unknown key";
    assert!(lines[3].contains(unknown), "{told}");
    assert_eq!(lines.len(), 4, "{told}");
}

/// The problems of a service that is written as the inside of a map.
fn service_problems(service: &str) -> String {
    let step = format!(
        "- name: Start\n  type: docker_compose\n  properties: {{action: up, compose: {{services: {{web: {{image: nginx, {service}}}}}}}}}"
    );
    problems(&document("install", "v: {type: string}\nport: {type: integer, default: 80}", &step))
}

#[test]
fn a_value_is_not_given_to_a_shell_in_the_container() {
    for service in [
        "command: [sh, -c, 'echo {{ v }}']",
        "command: 'sh -c \"echo {{ v }}\"'",
        "entrypoint: [/bin/sh, -c], command: ['ls {{ v }}']",
        "entrypoint: \"bash -c '{{ v }}'\"",
        "command: [python3, -c, '{{ v }}']",
        "healthcheck: {test: 'curl {{ v }}'}",
        "healthcheck: {test: [CMD-SHELL, 'curl {{ v }}']}",
        "healthcheck: {test: [CMD, sh, -c, 'curl {{ v }}']}",
    ] {
        let told = service_problems(service);
        assert!(told.contains("would be read as commands inside the container"), "{service}: {told}");
    }
    for service in [
        "command: [sh, -c, 'echo $$V', sh, '{{ v }}']",
        "command: [serve, -c, '{{ v }}']",
        "healthcheck: {test: [CMD, curl, '{{ v }}']}",
        "command: sh -c 'echo $$V'",
    ] {
        assert_eq!(service_problems(service), "", "{service}");
    }
    assert!(service_problems("command: 'serve {{ v }} ${v}'").contains("write it as a list"));
}

#[test]
fn what_is_not_known_yet_is_checked_with_the_values() {
    assert_eq!(service_problems("mem_limit: '{{ v }}'"), "");
    assert_eq!(service_problems("mem_limit: '${v}'"), "");
    assert!(service_problems("mem_limit: '{{ port }}x'").contains("mem_limit: must be"));
    assert!(service_problems("mem_limit: '${port}x'").contains("mem_limit: must be"));
    assert!(service_problems("environment: {A: '${missing}'}").contains("has no value"));
    assert!(service_problems("environment: {'{{ v }}': x}").contains("values are not put into keys"));
    let step = "- {name: S, type: docker, properties: {action: run, name: web, image: nginx, memory: '{{ v }}'}}";
    let told = resolved(&document("install", "v: {type: string}", step), &[("v", json!("lots"))]).unwrap_err();
    assert!(told.contains("execution.run[0].properties.memory: must be"), "{told}");
}

#[test]
fn a_secret_is_not_shown_in_a_problem() {
    let step = "- {name: S, type: docker, properties: {action: run, name: web, image: nginx, memory: '{{ v }}', user: '${v}'}}";
    let told = resolved(&document("install", "v: {type: secret}", step), &[("v", json!("my s3cret"))]).unwrap_err();
    assert!(!told.contains("s3cret") && told.contains("it comes from a secret"), "{told}");
}

#[test]
fn steps_speak_of_containers_that_are_there() {
    let start = "- {name: S, type: docker, properties: {action: run, name: web, image: nginx}}";
    let more = "- {name: T, type: docker, properties: {action: run, name: db, image: nginx}}";
    let with = |steps: &[&str]| problems(&document("install", "v: {type: string}", &steps.join("\n")));
    let wait = "- {name: W, type: wait, properties: {service: wbe}}";
    assert!(with(&[start, wait]).contains("properties.service: no step starts a container wbe; did you mean web?"));
    let route = "- {name: R, type: proxy, properties: {action: add, domain: a.example, port: 80}}";
    assert_eq!(with(&[start, route]), "");
    assert!(with(&[start, more, route]).contains("must say which container is meant, as service: web, db"));
    assert!(
        with(&["- {name: X, type: docker, properties: {action: stop, name: web}}"])
            .contains("add a step that starts it")
    );
    let named = "- {name: S, type: docker, properties: {action: run, name: '{{ v }}', image: nginx}}";
    assert_eq!(with(&[named, wait]), "");
    let text = document("install", "v: {type: string}", &[named, wait].join("\n"));
    assert!(resolved(&text, &[("v", json!("web"))]).unwrap_err().contains("no step starts a container wbe"));
    assert!(resolved(&text, &[("v", json!("wbe"))]).is_ok());
    let twice = "- {name: S, type: docker, condition: v, properties: {action: run, name: web, image: nginx}}";
    let text = document("install", "v: {type: string}", &[start, twice].join("\n"));
    assert!(resolved(&text, &[("v", json!("x"))]).unwrap_err().contains("another step starts a container web too"));
    assert!(resolved(&text, &[]).is_ok());
}

#[test]
fn images_and_tags() {
    let pull = |properties: &str| {
        let step = format!("- {{name: P, type: docker, properties: {{action: pull, {properties}}}}}");
        resolved(&document("run", "", &step), &[]).map(|steps| format!("{:?}", steps[0].action))
    };
    assert_eq!(pull("image: nginx").unwrap(), "Pull(nginx:latest)");
    assert_eq!(pull("image: nginx, tag: '1.27'").unwrap(), "Pull(nginx:1.27)");
    assert_eq!(pull("image: 'r.example:5000/nginx:1'").unwrap(), "Pull(r.example:5000/nginx:1)");
    assert!(pull("image: 'nginx:1', tag: '2'").unwrap_err().contains("has a tag already"));
}

#[test]
fn a_document_on_the_host_is_read_with_the_values() {
    let step = "- {name: Start, type: docker_compose, properties: {action: up, file: /opt/x/compose.yaml}}";
    let extension = extension(&document("install", "title: {type: string}", step));
    let values = filled(&extension, &[("title", json!("A $title"))]);
    let read = |text: &str| extension.project_of_file(text, &values, "mine").map_err(|problems| shown(&problems));
    let text = "services:\n  web:\n    image: nginx\n    environment: {A: '{{ title }}', B: '${title}', C: '{{ installation_name }}'}\n";
    let project = read(text).unwrap();
    let environment: Vec<_> = project.services[0].environment.iter().map(|(_, value)| value.as_str()).collect();
    assert_eq!(environment, ["A $title", "A $title", "mine"]);
    assert!(read("services:\n  web: {image: '{{ titel }}'}").unwrap_err().contains("did you mean title?"));
    assert!(read("services: [").unwrap_err().starts_with("line "));
    assert!(read("services:\n  web: {image: Nginx}").unwrap_err().starts_with("line 2, column 16: services.web.image"));
}
