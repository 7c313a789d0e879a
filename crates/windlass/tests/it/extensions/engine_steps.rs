//! Every step that uses the container engine or the edge, done and undone.

use serde_json::{Value, json};
use windlass_testing::Kind;
use windlass_testing::testapp::IMAGE;

use super::registry::Registry;
use super::services::container;
use super::support::*;
use crate::deploy::support::{Platform, docker, id_of, until};

const NONE: &str = "  none: { type: string }";

/// How the engine sees a container.
fn state(name: &str) -> String {
    docker(&["ps", "-a", "--filter", &format!("name=^{name}$"), "--format", "{{.State}}"])
}

/// The containers of a platform's services, whatever their state.
fn service_containers(platform: &Platform) -> String {
    let label = format!("label=windlass.instance={}", platform.instance);
    docker(&["ps", "-aq", "--filter", &label, "--filter", "label=windlass.purpose=service"])
}

/// The edge is told of what an execution has changed right after its end.
async fn leads_nowhere(platform: &Platform, host: &str) {
    until("it leads nowhere", async || (platform.visit(host, "/").await.0 == 404).then_some(())).await;
}

async fn uninstall(platform: &Platform, name: &str) -> Value {
    let path = format!("/extensions/installations/{}", id_of(&installation(platform, name).unwrap()));
    let removal = platform.call("DELETE", &path, &json!({ "name": name, "volumes": ["data"] }));
    completed(platform, &id_of(&removal)).await
}

fn single_containers(image: &str, last: &str) -> String {
    let (repository, tag) = image.rsplit_once(':').unwrap();
    format!(
        r#"  run:
    - {{ name: pull, type: docker, properties: {{ action: pull, image: "{repository}", tag: "{tag}" }} }}
    - name: web
      type: docker
      properties:
        action: run
        name: web
        image: "{repository}"
        tag: "{tag}"
        cmd: [/testapp]
        env: {{ VERSION: "it's $$(here)" }}
        volumes: ["data:/data"]
        restart: unless-stopped
    - name: idle
      type: docker
      properties: {{ action: run, name: idle, image: "{image}", cmd: [/testapp], restart: unless-stopped }}
    - {{ name: short, type: docker, properties: {{ action: run, name: short, image: "{image}", cmd: [/testapp] }} }}
    - {{ name: peer, type: docker, properties: {{ action: run, name: peer, image: "{image}", cmd: [/testapp] }} }}
    - {{ name: stop web, type: docker, properties: {{ action: stop, name: web }} }}
    - {{ name: start web, type: docker, properties: {{ action: start, name: web }} }}
    - {{ name: stop idle, type: docker, properties: {{ action: stop, name: idle }} }}
    - {{ name: remove short, type: docker, properties: {{ action: rm, name: short }} }}
    - {{ name: lead, type: proxy, properties: {{ action: add, domain: single.localhost, service: web, port: 8080 }} }}
    - {{ name: mislead, type: proxy, properties: {{ action: add, domain: gone.localhost, service: web, port: 8080 }} }}
    - {{ name: lead no more, type: proxy, properties: {{ action: remove, domain: gone.localhost }} }}
    - {{ name: wait, type: wait, properties: {{ service: web, port: 8080 }} }}
    - {{ name: breathe, type: wait, properties: {{ seconds: 1 }} }}
{last}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn single_containers_are_pulled_run_stopped_started_and_removed() {
    let platform = Platform::start().await;
    let registry = Registry::start();
    let image = registry.take(IMAGE, "single:1");
    create(&platform, &text("single", "install", "1.0.0", NONE, &single_containers(&image, "")));
    let id = run(&platform, "single", &json!({}));
    let execution = completed(&platform, &id).await;
    assert!(lines(&platform, &id).iter().any(|line| line == &format!("Pulling {image}")), "{}", story(&execution));
    until("it is served", async || {
        (platform.visit("single.localhost", "/").await == (200, "it's $(here)".into())).then_some(())
    })
    .await;
    assert_eq!(platform.visit("gone.localhost", "/").await.0, 404);
    let installed = installation(&platform, "single").unwrap();
    let names: Vec<_> = installed["services"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["idle", "peer", "web"], "{installed}");
    let from_peer = docker(&["exec", &container(&installed, "peer"), "/bin/wget", "-q", "-O", "-", "http://web:8080/"]);
    assert_eq!(from_peer, "it's $(here)", "one finds another that was started before");
    assert_eq!(
        (state(&container(&installed, "web")), state(&container(&installed, "idle"))),
        ("running".into(), "exited".into())
    );
    // What a step has stopped stays stopped, also with a server that has just started and brings back another one.
    let mut platform = platform;
    platform.kill_server();
    docker(&["rm", "-f", &container(&installed, "web")]);
    platform.start_server(None);
    until("web is back", async || (state(&container(&installed, "web")) == "running").then_some(())).await;
    assert_eq!(state(&container(&installed, "idle")), "exited");
    uninstall(&platform, "single").await;
    until("no container is left", async || service_containers(&platform).is_empty().then_some(())).await;
    leads_nowhere(&platform, "single.localhost").await;

    // The same until a last step that fails: nothing is left but the volume.
    let missing = format!("{}/missing:1", registry.address);
    let last = format!("    - {{ name: fail, type: docker, properties: {{ action: pull, image: \"{missing}\" }} }}");
    create(&platform, &text("broken", "install", "1.0.0", NONE, &single_containers(&image, &last)));
    let id = run(&platform, "broken", &json!({}));
    let execution = ended(&platform, &id).await;
    assert_eq!(execution["status"], "failed");
    let words = execution["error_message"].as_str().unwrap();
    assert!(words.starts_with(&format!("fail: {missing} could not be pulled: ")), "{words}");
    let undone = steps(&execution);
    // Waiting and pulling leave nothing that could be undone.
    let expected = [
        "none", "undone", "undone", "undone", "undone", "undone", "undone", "undone", "undone", "undone", "undone",
        "undone", "none", "none", "none",
    ];
    assert_eq!(undone.iter().map(|(_, undo)| undo.as_str()).collect::<Vec<_>>(), expected, "{}", story(&execution));
    until("no container is left", async || service_containers(&platform).is_empty().then_some(())).await;
    leads_nowhere(&platform, "single.localhost").await;
    assert_eq!(installation(&platform, "broken").unwrap()["state"], "failed");
}

/// Goes on as an organization without host access.
fn become_guest(platform: &mut Platform) {
    let organization = platform.call("POST", "/organizations", &json!({ "name": "Guests" }));
    let key = json!({ "name": "guest", "organization_id": organization["id"] });
    let key = platform.call("POST", "/auth/api-keys", &key);
    platform.use_token(key["key"].as_str().unwrap());
}

fn one_step(properties: &str) -> String {
    format!("  run:\n    - {{ name: web, type: docker, properties: {{ {properties} }} }}")
}

/// Where the engine calls, an organization without host access has nothing to look for.
#[tokio::test(flavor = "multi_thread")]
async fn an_organization_without_host_access_calls_no_registry_at_a_private_address() {
    let mut platform = Platform::start().await;
    let registry = Registry::start();
    let image = registry.take(IMAGE, "public:1");
    become_guest(&mut platform);
    let (repository, tag) = image.rsplit_once(':').unwrap();
    let cases = [
        ("run", format!("action: run, name: web, image: \"{image}\", cmd: [/testapp]"), "leads to a private address"),
        ("pull", format!("action: pull, image: \"{repository}\", tag: \"{tag}\""), "leads to a private address"),
        ("short", "action: pull, image: \"127.1:5000/x\"".to_owned(), "does not begin with the host of a registry"),
    ];
    for (name, properties, expected) in cases {
        create(&platform, &text(name, "install", "1.0.0", NONE, &one_step(&properties)));
        let execution = ended(&platform, &run(&platform, name, &json!({}))).await;
        let words = execution["error_message"].as_str().unwrap();
        assert!(words.starts_with("web: ") && words.contains(expected), "{words}: {}", story(&execution));
    }
}

/// Without host access an image comes from its registry, never from what the engine happens to have.
#[tokio::test(flavor = "multi_thread")]
async fn an_organization_without_host_access_gets_images_from_their_registry_only() {
    // The registry is on this machine.
    let mut platform = Platform::on(Kind::Sqlite, &["--allow-private-targets", "true"]).await;
    let registry = Registry::start();
    let image = registry.take(IMAGE, "public:1");
    become_guest(&mut platform);
    let service = |image: &str| one_step(&format!("action: run, name: web, image: \"{image}\", cmd: [/testapp]"));
    create(&platform, &text("own", "install", "1.0.0", NONE, &service(IMAGE)));
    let id = run(&platform, "own", &json!({}));
    let execution = ended(&platform, &id).await;
    let words = execution["error_message"].as_str().unwrap();
    let expected = format!("web: {IMAGE} could not be pulled: ");
    assert!(words.starts_with(&expected), "the engine has it, and it is not theirs: {words}: {}", story(&execution));
    create(&platform, &text("public", "install", "1.0.0", NONE, &service(&image)));
    let id = run(&platform, "public", &json!({}));
    completed(&platform, &id).await;
    let installed = installation(&platform, "public").unwrap();
    assert_eq!(state(&container(&installed, "web")), "running");
}

fn from_file(version: &str, steps: &str) -> String {
    let compose = format!(
        "services:\n  web:\n    image: {IMAGE}\n    command: [/testapp]\n    environment: {{ VERSION: \"{version}\" }}\n    \
         volumes: [\"data:/data\"]\nvolumes: {{ data: {{}} }}\n"
    );
    let compose = compose.replace('\n', "\n          ");
    let execution = format!(
        "  run:\n    - name: write\n      type: file\n      properties:\n        action: write\n        dest: \"{{{{ folder }}}}/compose.yaml\"\n        \
         content: |\n          {compose}\n{steps}"
    );
    text("filed", "install", version, "  folder: { type: string, is_required: true }", &execution)
}

const UP: &str =
    "    - { name: up, type: docker_compose, properties: { action: up, file: \"{{ folder }}/compose.yaml\" } }\n";
const ROUTE: &str = "    - { name: domain, type: proxy, properties: { action: add, domain: filed.localhost, service: web, port: 8080 } }\n";

#[tokio::test(flavor = "multi_thread")]
async fn services_of_a_file_go_up_and_down() {
    let platform = Platform::start().await;
    let folder = tempfile::tempdir().unwrap();
    create(&platform, &from_file("1.0.0", &format!("{UP}{ROUTE}")));
    let id = run(&platform, "filed", &json!({ "folder": folder.path() }));
    completed(&platform, &id).await;
    let served = async |version: &str| {
        until("it is served", async || {
            (platform.visit("filed.localhost", "/").await == (200, version.into())).then_some(())
        })
        .await;
    };
    served("1.0.0").await;
    let installed = installation(&platform, "filed").unwrap();
    docker(&["exec", &container(&installed, "web"), "/bin/sh", "-c", "echo precious > /data/notes"]);

    // A version that takes down what was there, and fails: what was there serves again.
    let path = format!("/extensions/installations/{}", id_of(&installed));
    let down = "    - { name: down, type: docker_compose, properties: { action: down } }\n";
    let failing = format!("{down}    - {{ name: fail, type: command, properties: {{ cmd: exit 4 }} }}");
    platform.call("PUT", "/extensions/filed", &json!({ "yaml_content": from_file("2.0.0", &failing) }));
    let update = platform.call("POST", &format!("{path}/update"), &json!({}));
    let execution = ended(&platform, &id_of(&update)).await;
    assert_eq!(execution["error_message"], "fail: the command ended with exit code 4", "{}", story(&execution));
    served("1.0.0").await;
    let compose = std::fs::read_to_string(folder.path().join("compose.yaml")).unwrap();
    assert!(compose.contains("1.0.0"), "{compose}");

    // One that takes it down and up again as it is now.
    let again = format!("{down}{UP}{ROUTE}");
    platform.call("PUT", "/extensions/filed", &json!({ "yaml_content": from_file("3.0.0", &again) }));
    let update = platform.call("POST", &format!("{path}/update"), &json!({}));
    completed(&platform, &id_of(&update)).await;
    served("3.0.0").await;
    let installed = installation(&platform, "filed").unwrap();
    assert_eq!(docker(&["exec", &container(&installed, "web"), "cat", "/data/notes"]), "precious");

    // One that finds it as it should be first, and changed then.
    let changed = "    - { name: change, type: command, properties: { cmd: \"sed -i s/3.0.0/3.5.0/ {{ folder }}/compose.yaml\" } }\n";
    let second = UP.replace("name: up", "name: up again");
    let twice = from_file("3.0.0", &format!("{UP}{changed}{second}{ROUTE}"))
        .replace("version: \"3.0.0\"", "version: \"3.5.0\"");
    platform.call("PUT", "/extensions/filed", &json!({ "yaml_content": twice }));
    let update = platform.call("POST", &format!("{path}/update"), &json!({}));
    completed(&platform, &id_of(&update)).await;
    served("3.5.0").await;
    until("only the last one is left", async || (service_containers(&platform).lines().count() == 1).then_some(()))
        .await;

    // One that only takes it down.
    let gone = format!(
        "{down}    - {{ name: domain, type: proxy, properties: {{ action: remove, domain: filed.localhost }} }}"
    );
    platform.call("PUT", "/extensions/filed", &json!({ "yaml_content": from_file("4.0.0", &gone) }));
    let update = platform.call("POST", &format!("{path}/update"), &json!({}));
    completed(&platform, &id_of(&update)).await;
    until("no container is left", async || service_containers(&platform).is_empty().then_some(())).await;
    leads_nowhere(&platform, "filed.localhost").await;
    uninstall(&platform, "filed").await;
    assert!(!folder.path().join("compose.yaml").exists());
}

/// A wait for what never comes is ended by its step's time, and by a cancel.
#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_with_its_time_or_when_it_is_cancelled() {
    let platform = Platform::start().await;
    let waiting = |timeout: u32| {
        format!(
            "  run:\n    - {{ name: web, type: docker, properties: {{ action: run, name: web, image: {IMAGE}, cmd: [/testapp] }} }}\n    \
             - {{ name: wait, type: wait, timeout: {timeout}, properties: {{ service: web, port: 9999 }} }}"
        )
    };
    create(&platform, &text("impatient", "install", "1.0.0", NONE, &waiting(4)));
    let id = run(&platform, "impatient", &json!({}));
    let execution = ended(&platform, &id).await;
    assert_eq!(execution["error_message"], "wait took more than 4 s", "{}", story(&execution));
    until("no container is left", async || service_containers(&platform).is_empty().then_some(())).await;

    create(&platform, &text("patient", "install", "1.0.0", NONE, &waiting(300)));
    let id = run(&platform, "patient", &json!({}));
    until("it waits", async || (execution_step(&platform, &id, 1) == "running").then_some(())).await;
    platform.call("POST", &format!("/extensions/execution/{id}/cancel"), &Value::Null);
    let execution = ended(&platform, &id).await;
    assert_eq!(execution["status"], "cancelled", "{}", story(&execution));
    until("no container is left", async || service_containers(&platform).is_empty().then_some(())).await;
}

fn execution_step(platform: &Platform, id: &str, index: usize) -> String {
    execution(platform, id)["steps"][index]["status"].as_str().unwrap_or_default().to_owned()
}
