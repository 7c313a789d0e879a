//! The services of a compose file are one application: built, started in order, switched at once, with their data.

use serde_json::{Value, json};
use windlass_testing::git::Repository;
use windlass_testing::{Kind, testapp};

use super::crowd::{Crowd, Visit, all_answered};
use super::support::*;
use super::tenants::{EVE, Tenants};
use super::volumes::Lines;
use crate::extensions::registry::Registry;

/// What visitors reach, what that one asks, and what has the data.
const COMPOSE: &str = r#"
services:
  web:
    build: .
    ports: ["3000:8080"]
    environment:
      RELAY_TO: api:8080
      GREETING: ${GREETING:-none}
    depends_on: [api]
  api:
    build: .
    environment:
      RELAY_TO: db:8080
    depends_on:
      db: { condition: service_healthy }
  db:
    build: ./db
    environment: { WRITE_TO: /data, WRITE_EVERY_MS: "200" }
    volumes: ["data:/data"]
    healthcheck: { test: [CMD, wget, -qO, "-", "http://127.0.0.1:8080/"], interval: 1s, timeout: 5s }
volumes:
  data:
"#;
const HOST: &str = "shop.localhost";
const DATA_HOST: &str = "data.localhost";
/// Three services are stopped and started one after the other while visitors wait, beside the containers of other tests.
const LONG_HOLD: [&str; 2] = ["--hold-seconds", "300"];

/// With these versions of what is built, and of what has the data.
fn write(repository: &Repository, compose: &str, version: &str, data_version: &str) {
    let dockerfile = testapp::dockerfile("");
    let files = [
        ("compose.yaml", compose),
        ("Dockerfile", dockerfile.as_str()),
        ("version", version),
        ("db/Dockerfile", dockerfile.as_str()),
        ("db/version", data_version),
    ];
    repository.commit(&files, version);
}

fn services(name: &str, repository: &Repository) -> Value {
    let mut body = body(name, repository);
    body["build_pack"] = json!("docker-compose");
    body
}

async fn deployed(platform: &Platform, body: &Value) -> Value {
    platform.deployed(&newest_deployment(&platform.deploy(body))).await
}

/// The name of the container that a service has.
fn container_of(deployment: &Value, service: &str) -> String {
    let instances = deployment["instances"].as_array().unwrap();
    let instance = instances.iter().find(|instance| instance["service"] == service);
    instance.unwrap_or_else(|| panic!("{deployment}"))["name"].as_str().unwrap().to_owned()
}

/// What visitors reach and what that one asks are always of one release.
fn all_of_one_release(visits: &[Visit]) {
    all_answered(visits);
    for visit in visits {
        let text = &visit.answer.as_ref().unwrap().1;
        let versions: Vec<&str> = text.split('>').collect();
        assert!(versions.len() == 3 && versions[0] == versions[1], "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_on_sqlite() {
    nothing_is_lost(Kind::Sqlite, 10, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_on_postgres() {
    nothing_is_lost(Kind::Postgres, 3, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn nothing_is_lost_for_long() {
    nothing_is_lost(Kind::Sqlite, 20, 5).await;
}

/// Under visitors of two services, with deploys, rollbacks, and an end of the server.
async fn nothing_is_lost(kind: Kind, deploys: usize, rollbacks: usize) {
    let mut platform = Platform::on(kind, &LONG_HOLD).await;
    let repository = platform.git.repository("shop");
    write(&repository, COMPOSE, "v0", "one");
    let mut body = services("shop", &repository);
    body["environment_variables"] = json!({ "GREETING": "hello" });
    body["kept_releases"] = json!(30);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    let first = platform.deployed(&newest_deployment(&application)).await;
    assert_eq!((&first["artifact"], first["instances"].as_array().unwrap().len()), (&json!("services"), 3));
    assert_eq!(first["container_name"], json!(container_of(&first, "web")), "the one that visitors reach");
    assert_eq!(platform.visit(HOST, "/").await, (200, "v0>v0>one".to_owned()));
    assert!(platform.visit(HOST, "/env").await.1.contains("hello"));
    let domain = json!({ "domain": DATA_HOST, "service": "db" });
    platform.call("POST", &format!("/deploy/application/{id}/domains"), &domain);
    let printed_by = |service: &str| {
        let logs = platform.call(
            "GET",
            &format!("/deploy/application/logs/{id}?relations=none&service={service}"),
            &Value::Null,
        );
        logs["logs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line["service"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(platform.visit(HOST, "/print?count=2").await.0, 200);
    until("what a service prints has its name", async || {
        let (web, other) = (printed_by("web"), printed_by("none"));
        (other.is_empty() && !web.is_empty() && web.iter().all(|service| service == "web")).then_some(())
    })
    .await;
    let mut lines = Lines::default();
    until("the domain leads to it", async || (platform.visit(DATA_HOST, "/").await.0 == 200).then_some(())).await;
    lines.grow(&platform, DATA_HOST).await;

    let edge = platform.edge().await;
    let (crowd, of_data) = (Crowd::come(edge, HOST), Crowd::come(edge, DATA_HOST));
    let data = container_of(&first, "db");
    let mut all = vec![first];
    for turn in 1..=deploys {
        let version = format!("v{turn}");
        write(&repository, COMPOSE, &version, "one");
        let deployment = deployed(&platform, &body).await;
        assert_eq!((container_of(&deployment, "db"), &deployment["held_ms"]), (data.clone(), &json!(0)));
        assert_eq!(platform.visit(HOST, "/").await, (200, format!("{version}>{version}>one")));
        lines.check(&platform, DATA_HOST).await;
        all.push(deployment);
    }
    // What has the data changes: visitors wait for it.
    write(&repository, COMPOSE, "changed", "two");
    let changed = deployed(&platform, &body).await;
    assert!(changed["held_ms"].as_i64().unwrap() > 0 && container_of(&changed, "db") != data, "{changed}");
    assert_eq!(platform.visit(HOST, "/").await, (200, "changed>changed>two".to_owned()));
    lines.grow(&platform, DATA_HOST).await;
    for (turn, earlier) in all.iter().enumerate().take(rollbacks) {
        let back = platform.call("POST", "/deploy/application/rollback", &json!({ "id": earlier["id"] }));
        platform.deployed(&id_of(&back)).await;
        assert_eq!(platform.visit(HOST, "/").await, (200, format!("v{turn}>v{turn}>one")));
        lines.check(&platform, DATA_HOST).await;
    }
    platform.settled().await;
    platform.kill_server();
    platform.start_server(None);
    let live = platform.application(&id)["deployments"][0].clone();
    lines.grow(&platform, DATA_HOST).await;
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
    let restarted = platform.deployed(&id_of(&restart)).await;
    assert_ne!(container_of(&restarted, "db"), container_of(&platform.deployment(&id_of(&live)), "db"));
    all_of_one_release(&crowd.go().await.0);
    all_answered(&of_data.go().await.0);
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 3);

    // What vanishes is made again, with its data, and finds the others.
    docker(&["rm", "-f", &container_of(&restarted, "api"), &container_of(&restarted, "db")]);
    until("all serve again", async || (platform.visit(HOST, "/").await.0 == 200).then_some(())).await;
    lines.grow(&platform, DATA_HOST).await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    platform.settled().await;
    assert_eq!(containers_of(&id), [""; 0]);
    let start = platform.call("POST", "/deploy/application/start", &json!({ "id": id }));
    platform.deployed(&id_of(&start)).await;
    lines.grow(&platform, DATA_HOST).await;
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "shop" }));
    platform.settled().await;
    assert_eq!((containers_of(&id), images_of(&id)), (Vec::new(), Vec::new()));
}

/// The release before serves on, and has its data back if it was taken from it.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_fails_leaves_nothing() {
    let platform = Platform::on(Kind::Sqlite, &LONG_HOLD).await;
    let repository = platform.git.repository("shop");
    write(&repository, COMPOSE, "good", "one");
    let body = services("shop", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.call(
        "POST",
        &format!("/deploy/application/{id}/domains"),
        &json!({ "domain": DATA_HOST, "service": "db" }),
    );
    until("the domain leads to it", async || (platform.visit(DATA_HOST, "/").await.0 == 200).then_some(())).await;
    let (mut lines, images) = (Lines::default(), images_of(&id).len());
    lines.check(&platform, DATA_HOST).await;
    let crowd = Crowd::come(platform.edge().await, HOST);
    let exits = COMPOSE.replace("RELAY_TO: db:8080", "EXIT_CODE: \"3\"");
    let ends = COMPOSE.replace("RELAY_TO: db:8080", "EXIT_CODE: \"0\"");
    for (compose, failure, words) in [
        (&exits, "crashed_at_start", "api: the container ended at once with exit code 3"),
        (&ends, "crashed_at_start", "api: it has ended."),
    ] {
        // The data is to change hands too.
        write(&repository, compose, "bad", "two");
        let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
        assert_eq!(ended["failure"], failure, "{ended}");
        assert!(ended["reason"].as_str().unwrap().contains(words), "{ended}");
        platform.settled().await;
        assert_eq!(platform.visit(HOST, "/").await, (200, "good>good>one".to_owned()));
        assert_eq!((containers_of(&id).len(), images_of(&id).len()), (3, images));
        lines.grow(&platform, DATA_HOST).await;
    }
    all_of_one_release(&crowd.go().await.0);
}

/// A service that others wait for runs once for each deployment, before them.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_end_runs_before_the_others() {
    let platform = Platform::on(Kind::Sqlite, &LONG_HOLD).await;
    let repository = platform.git.repository("shop");
    let compose = |code: u8| {
        format!(
            r#"
services:
  web:
    build: .
    expose: [8080]
    env_file: settings.env
    volumes: ["data:/data", "./motd.txt:/etc/motd.txt:ro"]
    depends_on:
      migrate: {{ condition: service_completed_successfully }}
  migrate:
    build: .
    command: [sh, -c, "echo moved >> /data/moves; exit {code}"]
    volumes: ["data:/data"]
volumes: {{ data: }}
"#
        )
    };
    let write = |code, version: &str| {
        let dockerfile = testapp::dockerfile("");
        let files = [
            ("docker-compose.yml", compose(code)),
            ("Dockerfile", dockerfile),
            ("version", version.to_owned()),
            ("settings.env", "COLOUR='dark blue'\n".to_owned()),
            ("motd.txt", "welcome".to_owned()),
        ];
        repository.commit(&files.each_ref().map(|(name, text)| (*name, text.as_str())), version);
    };
    write(0, "one");
    let body = services("shop", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    let first = platform.deployed(&newest_deployment(&application)).await;
    assert_eq!(first["instances"].as_array().unwrap().len(), 1, "{first}");
    let file = async |path: &str| platform.visit(HOST, &format!("/file?{path}")).await.1;
    assert_eq!((file("/data/moves").await, file("/etc/motd.txt").await), ("moved\n".into(), "welcome".into()));
    assert!(platform.visit(HOST, "/env").await.1.contains("dark blue"));
    write(3, "two");
    let failed = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(failed["failure"], "pre_run_failed", "{failed}");
    platform.settled().await;
    assert_eq!((containers_of(&id).len(), platform.visit(HOST, "/").await.1), (1, "one".into()));
}

/// Each with what to do about it, and nothing is left.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_deployed_fails_with_its_reason() {
    let mut tenants = Tenants::with(&[]).await;
    let repository = tenants.platform.git.repository("wrong");
    let dockerfile = testapp::dockerfile("");
    let cases = [
        ("services: [", "no_build_pack", "not valid YAML"),
        ("services: {}", "no_build_pack", "compose.yaml: "),
        ("services: { web: { build: ../out } }", "no_build_pack", "the repository has no folder ../out"),
        ("services: { web: { build: ., privileged: true } }", "no_build_pack", "which needs host access"),
        ("services: { web: { build: ., volumes: ['/etc:/host'] } }", "no_build_pack", "which needs host access"),
        ("services: { a: { build: . }, b: { build: . } }", "no_build_pack", "Set service to one of them: a, b."),
        ("services: { web: { build: ., env_file: none.env } }", "no_build_pack", "none.env"),
        ("services: { web: { build: ., volumes: ['./leak:/x'] } }", "no_build_pack", "leads out of the repository"),
        ("services: { web: { image: 'windlass-test/app:1' } }", "image_missing", "could not be pulled"),
    ];
    let mut id = String::new();
    for (compose, failure, words) in cases {
        let entries = [
            ("100644", "compose.yaml", compose),
            ("100644", "Dockerfile", dockerfile.as_str()),
            ("100644", "version", "x"),
            ("120000", "leak", "/etc/passwd"),
        ];
        repository.commit_entries(&repository.default_branch(), &entries, compose);
        // Her organization has no host access.
        let ended = tenants.deploy(EVE, "wrong", &repository, &json!({ "build_pack": "docker-compose" })).await;
        id = ended["application_id"].as_str().unwrap().to_owned();
        let reason = ended["reason"].as_str().unwrap();
        assert!(ended["failure"] == failure && reason.contains(words), "{compose}: {ended}");
    }
    tenants.platform.settled().await;
    assert_eq!((containers_of(&id), images_of(&id)), (Vec::new(), Vec::new()));
}

/// The server may end at each step of starting services; the next one goes on, and nothing runs twice.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_may_die_while_services_start() {
    let mut platform = Platform::on(Kind::Sqlite, &LONG_HOLD).await;
    let repository = platform.git.repository("shop");
    let with_task = COMPOSE.replace("    depends_on: [api]", "    depends_on: { api: { condition: service_started }, task: { condition: service_completed_successfully } }")
        .replace("  api:\n", "  task:\n    build: .\n    command: [\"true\"]\n  api:\n");
    write(&repository, &with_task, "v0", "one");
    let body = services("shop", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let points = windlass_server::deploy::KILL_POINTS.into_iter().filter(|point| point.starts_with("compose-"));
    for (turn, point) in points.enumerate() {
        let version = format!("v{}", turn + 1);
        // Every other time the data changes hands.
        write(&repository, &with_task, &version, if turn % 2 == 0 { "one" } else { "two" });
        platform.settled().await;
        platform.kill_server();
        platform.start_server(Some(point));
        platform.ask("POST", "/deploy/application", &body);
        platform.wait_for_death();
        platform.start_server(None);
        platform.deployed(&newest_deployment(&platform.application(&id))).await;
        let (status, said) = platform.visit(HOST, "/").await;
        assert!(status == 200 && said.starts_with(&format!("{version}>{version}>")), "{point}: {said}");
        platform.settled().await;
        assert_eq!(containers_of(&id).len(), 3, "{point}");
    }
}

/// What was kept since then is older than the label that names a service.
#[tokio::test(flavor = "multi_thread")]
async fn lines_of_a_container_without_the_label_have_its_service() {
    let mut platform = Platform::start().await;
    let repository = platform.git.repository("shop");
    write(&repository, COMPOSE, "v0", "one");
    let application = platform.deploy(&services("shop", &repository));
    let (id, deployment) = (id_of(&application), newest_deployment(&application));
    let name = container_of(&platform.deployed(&deployment).await, "web");
    platform.settled().await;
    platform.kill_server();
    let image = docker(&["inspect", "--format", "{{.Image}}", &name]);
    docker(&["rm", "-f", &name]);
    let labels = [
        format!("windlass.instance={}", platform.instance),
        format!("windlass.app={id}"),
        format!("windlass.deployment={deployment}"),
        "windlass.purpose=app".to_owned(),
    ];
    let mut run = vec!["run", "-d", "--name", &name];
    run.extend(labels.iter().flat_map(|label| ["--label", label.as_str()]));
    run.extend([image.as_str(), "/bin/sh", "-c", "echo from before; sleep 300"]);
    docker(&run);
    platform.start_server(None);
    let lines = format!("/deploy/application/logs/{id}?relations=none&service=web&search_term=before");
    until("its line has the service", async || {
        let logs = platform.call("GET", &lines, &Value::Null);
        logs["logs"].as_array().unwrap().iter().any(|line| line["service"] == "web").then_some(())
    })
    .await;
}

/// What was brought from a registry goes again when no release needs it. What was on the machine before stays.
#[tokio::test(flavor = "multi_thread")]
async fn images_of_a_registry_come_and_go() {
    // They stay for twice that: a deployment could be about to need one.
    let platform = Platform::on(Kind::Sqlite, &["--build-seconds", "15"]).await;
    let registry = Registry::start();
    let (brought, own) = (registry.take(testapp::IMAGE, "cache:1"), registry.take(testapp::IMAGE, "own:1"));
    docker(&["tag", testapp::IMAGE, &own]);
    let there = |reference: &str| !docker(&["image", "ls", "--quiet", reference]).is_empty();
    let repository = platform.git.repository("shop");
    let compose = format!(
        "services: {{ web: {{ image: '{brought}', command: /testapp, ports: ['80:8080'] }}, other: {{ image: '{own}', command: /testapp, expose: [8080] }} }}"
    );
    repository.commit(&[("compose.yaml", compose.as_str())], "one");
    let application = platform.deploy(&services("shop", &repository));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    assert_eq!(platform.visit(HOST, "/").await.0, 200);
    assert!(there(&brought) && there(&own));
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "shop" }));
    platform.settled().await;
    until("it is gone", async || (!there(&brought)).then_some(())).await;
    assert!(there(&own));
    docker(&["rmi", "--no-prune", &own]);
}
