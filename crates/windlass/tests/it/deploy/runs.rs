//! Commands of an application run once, each in a container of its own beside those that serve, and nothing is left of them but what they
//! printed and how they ended.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_server::runs::KILL_POINTS;
use windlass_testing::{Kind, testapp};

use super::crash::nothing_is_left_over;
use super::support::*;

/// An application with a volume of its own, a variable and a secret.
async fn shop(platform: &Platform) -> (String, Value) {
    let repository = repository(platform, "shop", "one");
    let mut body = body("shop", &repository);
    body["volumes"] = json!([{ "name": "data", "path": "/data" }]);
    body["environment_variables"] = json!({ "GREETING": "hello", "TOKEN": "a-very-secret-token" });
    body["secret_names"] = json!(["TOKEN"]);
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    (id_of(&application), body)
}

fn run(platform: &Platform, application: &str, body: &Value) -> String {
    id_of(&platform.call("POST", &format!("/deploy/application/{application}/runs"), body))
}

fn look(platform: &Platform, id: &str) -> Value {
    platform.call("GET", &format!("/deploy/runs/{id}"), &Value::Null)
}

async fn has_status(platform: &Platform, id: &str, status: &str) -> Value {
    until(&format!("the run is {status}"), async || {
        let run = look(platform, id);
        let is_over = !["queued", "running"].contains(&run["status"].as_str().unwrap());
        assert!(run["status"] == status || !is_over, "{run}\n{}", lines(platform, id).join("\n"));
        (run["status"] == status).then_some(run)
    })
    .await
}

fn lines(platform: &Platform, id: &str) -> Vec<String> {
    let logs = platform.call("GET", &format!("/deploy/runs/{id}/logs?limit=1000"), &Value::Null);
    logs["logs"].as_array().unwrap().iter().map(|line| line["message"].as_str().unwrap().to_owned()).collect()
}

async fn file(platform: &Platform, path: &str) -> String {
    let (status, text) = platform.visit("shop.localhost", &format!("/file?{path}")).await;
    assert_eq!(status, 200, "{path}: {text}");
    text
}

/// Exactly the serving container, and its address.
async fn nothing_else_runs(platform: &Platform, application: &str, when: &str) {
    platform.settled().await;
    nothing_is_left_over(platform, application, when, 1).await;
}

windlass_testing::on_both_databases!(kind: commands_run_and_end);

async fn kind(kind: Kind) -> Kind {
    kind
}

async fn commands_run_and_end(kind: Kind) {
    let platform = Platform::on(kind, &[]).await;
    let (shop, _) = shop(&platform).await;
    let serving = containers_of(&shop);

    let command = "echo $GREETING from $(cat /version) at $PORT; echo $TOKEN >&2; echo written > /data/file; exit 3";
    let id = run(&platform, &shop, &json!({ "command": command }));
    let ended = has_status(&platform, &id, "failed").await;
    assert_eq!((&ended["exit_code"], &ended["reason"]), (&json!(3), &json!("exit code 3")));
    assert_eq!(ended["deployment_id"], platform.application(&shop)["deployments"][0]["id"]);
    assert!(ended["started_at"].is_string() && ended["completed_at"].is_string(), "{ended}");
    let printed = lines(&platform, &id);
    assert!(printed.contains(&"hello from one at 8080".to_owned()), "{printed:?}");
    assert_eq!(printed.last().unwrap(), "The run has ended: failed. Reason: exit code 3");
    assert!(!printed.iter().any(|line| line.contains("a-very-secret-token")), "{printed:?}");
    assert_eq!(file(&platform, "/data/file").await, "written\n", "it has the volume of those that serve");
    nothing_else_runs(&platform, &shop, "failed").await;
    assert_eq!(containers_of(&shop), serving, "those that serve are the same");

    let id = run(&platform, &shop, &json!({ "command": "true" }));
    let ended = has_status(&platform, &id, "succeeded").await;
    assert_eq!((&ended["exit_code"], &ended["reason"]), (&json!(0), &json!("")));

    let id = run(&platform, &shop, &json!({ "command": "echo begun; sleep 600", "timeout_seconds": 3 }));
    let ended = has_status(&platform, &id, "timed_out").await;
    assert_eq!(ended["reason"], "it took more than 3 s (timeout_seconds)");
    assert!(lines(&platform, &id).contains(&"begun".to_owned()));

    let id = run(&platform, &shop, &json!({ "command": "echo begun; sleep 600" }));
    until("it has begun", async || lines(&platform, &id).contains(&"begun".to_owned()).then_some(())).await;
    platform.call("POST", &format!("/deploy/runs/{id}/cancel"), &json!({}));
    let ended = has_status(&platform, &id, "cancelled").await;
    assert!(ended["reason"].as_str().unwrap().starts_with("cancelled by "), "{ended}");
    nothing_else_runs(&platform, &shop, "cancelled").await;
}

/// Before it began, while it ran, while its end was told: it ran once, or it is told that it did not come to its end.
#[tokio::test(flavor = "multi_thread")]
async fn the_server_may_die_at_each_step_of_a_run() {
    let mut platform = Platform::start().await;
    let (shop, _) = shop(&platform).await;
    for point in KILL_POINTS {
        // This one is passed only where a run is called off.
        let is_late = point == "run-decided";
        let command = format!("echo {point} >> /data/ran; sleep {}", if is_late { 600 } else { 2 });
        platform.kill_server();
        platform.start_server(Some(point));
        let body = json!({ "command": command, "timeout_seconds": if is_late { 3 } else { 600 } });
        platform.ask("POST", &format!("/deploy/application/{shop}/runs"), &body);
        platform.wait_for_death();
        platform.start_server(None);
        let all = platform.call("GET", &format!("/deploy/application/{shop}/runs"), &Value::Null);
        let id = id_of(&all["runs"][0]);
        has_status(&platform, &id, if is_late { "timed_out" } else { "succeeded" }).await;
        let ran = file(&platform, "/data/ran").await;
        assert_eq!(ran.lines().filter(|line| *line == point).count(), 1, "{point}: {ran}");
        nothing_else_runs(&platform, &shop, point).await;
    }
}

/// What cannot be known is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_container_vanished_is_interrupted_and_not_run_again() {
    let mut platform = Platform::start().await;
    let (shop, _) = shop(&platform).await;
    let id = run(&platform, &shop, &json!({ "command": "echo ran >> /data/ran; sleep 600" }));
    until("it has begun", async || (platform.visit("shop.localhost", "/file?/data/ran").await.0 == 200).then_some(()))
        .await;
    platform.kill_server();
    let name = containers_of(&shop).into_iter().find(|name| name.contains("-run-")).expect("a container of the run");
    docker(&["rm", "-f", &name]);
    platform.start_server(None);
    let ended = has_status(&platform, &id, "interrupted").await;
    assert_eq!(ended["reason"], "its container vanished, so it is not known how far it came");
    assert_eq!(file(&platform, "/data/ran").await, "ran\n");
    nothing_else_runs(&platform, &shop, "vanished").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_and_a_deletion_end_what_runs() {
    let platform = Platform::start().await;
    let (shop, _) = shop(&platform).await;
    let long = json!({ "command": "echo begun; sleep 600" });
    let id = run(&platform, &shop, &long);
    until("it has begun", async || lines(&platform, &id).contains(&"begun".to_owned()).then_some(())).await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": shop }));
    let ended = has_status(&platform, &id, "interrupted").await;
    assert_eq!(ended["reason"], "the application was stopped");
    platform.settled().await;
    assert_eq!(containers_of(&shop), [""; 0]);
    let path = format!("/deploy/application/{shop}/runs");
    assert_eq!(platform.try_call("POST", &path, &long).0, 409);

    let started = platform.call("POST", "/deploy/application/start", &json!({ "id": shop }));
    platform.deployed(&id_of(&started)).await;
    let id = run(&platform, &shop, &long);
    until("it has begun", async || lines(&platform, &id).contains(&"begun".to_owned()).then_some(())).await;
    platform.call("DELETE", "/deploy/application", &json!({ "id": shop, "name": "shop" }));
    until("it is gone", async || {
        (platform.try_call("GET", &format!("/deploy/runs/{id}"), &Value::Null).0 == 404).then_some(())
    })
    .await;
    platform.settled().await;
    until("its containers are gone", async || containers_of(&shop).is_empty().then_some(())).await;
}

/// A volume has one release that writes it: a deployment waits for a command, and a command for a deployment.
#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_does_not_cut_a_command_that_has_its_volume() {
    let platform = Platform::start().await;
    let (shop, body) = shop(&platform).await;
    let id =
        run(&platform, &shop, &json!({ "command": "echo begun > /data/backup; sleep 8; echo whole >> /data/backup" }));
    has_status(&platform, &id, "running").await;
    let deployment = newest_deployment(&platform.deploy(&body));
    // It comes after the deployment, which waits for the one before.
    let next = run(&platform, &shop, &json!({ "command": "cat /data/backup" }));
    platform.deployed(&deployment).await;
    assert_eq!(look(&platform, &id)["status"], "succeeded", "it was not ended halfway");
    let ended = has_status(&platform, &next, "succeeded").await;
    assert_eq!(ended["deployment_id"], json!(deployment));
    assert!(lines(&platform, &next).contains(&"whole".to_owned()));
    assert!(platform.story(&deployment).contains(&format!("the command run {id}")), "{}", platform.story(&deployment));
    nothing_else_runs(&platform, &shop, "deployed").await;
}

/// What it waits for is a file that `go` makes.
const UNTIL_GO: &str = "echo begun; until [ -e /data/go ]; do sleep 1; done; echo whole > /data/whole";

fn go(application: &str) {
    let name =
        containers_of(application).into_iter().find(|name| name.contains("-run-")).expect("a container of the run");
    docker(&["exec", &name, "touch", "/data/go"]);
}

async fn begun(platform: &Platform, id: &str) {
    until("it has begun", async || lines(platform, id).contains(&"begun".to_owned()).then_some(())).await;
}

/// The release in between had no volume, so nothing of it ends first.
#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_waits_for_a_command_of_an_older_release() {
    let platform = Platform::start().await;
    let (shop, mut body) = shop(&platform).await;
    let id = run(&platform, &shop, &json!({ "command": UNTIL_GO }));
    begun(&platform, &id).await;
    let path = format!("/deploy/application/{shop}/volumes");
    let volume = platform.call("GET", &path, &Value::Null)["volumes"][0].take();
    platform.call("DELETE", &format!("{path}/data"), &Value::Null);
    body.as_object_mut().unwrap().remove("volumes");
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    let attached = json!({ "application_id": shop, "name": "data", "path": "/data" });
    platform.call("POST", &format!("/deploy/volumes/{}/attach", id_of(&volume)), &attached);
    let restart = id_of(&platform.call("POST", "/deploy/application/restart", &json!({ "id": shop })));
    until("it waits for the command", async || {
        platform.story(&restart).contains(&format!("the command run {id}")).then_some(())
    })
    .await;
    go(&shop);
    platform.deployed(&restart).await;
    has_status(&platform, &id, "succeeded").await;
    assert_eq!(file(&platform, "/data/whole").await, "whole\n");
    nothing_else_runs(&platform, &shop, "deployed").await;
}

/// Visitors wait for another reason than the data, and then the release before comes back.
#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_that_fails_ends_no_command_of_the_release_before() {
    let platform = Platform::start().await;
    let (shop, mut body) = shop(&platform).await;
    let id = run(&platform, &shop, &json!({ "command": UNTIL_GO }));
    begun(&platform, &id).await;
    platform.call("DELETE", &format!("/deploy/application/{shop}/volumes/data"), &Value::Null);
    body.as_object_mut().unwrap().remove("volumes");
    (body["pause"], body["pre_run_command"]) = (json!(true), json!("exit 1"));
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "pre_run_failed", "{ended}");
    assert!(ended["held_ms"].as_i64().unwrap() > 0, "{ended}");
    go(&shop);
    has_status(&platform, &id, "succeeded").await;
    assert_eq!(file(&platform, "/data/whole").await, "whole\n");
}

/// What is read must not change meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn no_command_begins_while_a_snapshot_is_written() {
    let platform = Platform::start().await;
    let (shop, _) = shop(&platform).await;
    let volume = format!("/deploy/application/{shop}/volumes/data");
    // That it is shared lets releases write at the same time, and is no reason to begin now.
    let update = json!({ "shared": true, "before_snapshot": "until [ -e /data/go ]; do sleep 1; done" });
    platform.call("PUT", &volume, &update);
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": shop }));
    platform.deployed(&id_of(&restart)).await;
    platform.settled().await;
    let snapshot = id_of(&platform.call("POST", &format!("{volume}/snapshots"), &Value::Null));
    let id = run(&platform, &shop, &json!({ "command": "echo after > /data/after" }));
    let waits = "The run waits: a snapshot of a volume is being written.".to_owned();
    until("it waits, and says so", async || lines(&platform, &id).contains(&waits).then_some(())).await;
    assert_eq!(look(&platform, &id)["status"], "queued");
    assert_eq!(platform.visit("shop.localhost", "/append?/data/go=on").await.0, 200);
    has_status(&platform, &id, "succeeded").await;
    let taken = platform.call("GET", &format!("/deploy/snapshots/{snapshot}"), &Value::Null);
    assert_eq!(taken["state"], "ready", "{taken}");
    let tar = platform.data_dir().join("snapshots").join(format!("{snapshot}.tar"));
    let names = std::process::Command::new("tar").arg("tf").arg(tar).output().expect("tar starts");
    let names = String::from_utf8(names.stdout).unwrap();
    assert!(names.contains("./go") && !names.contains("./after"), "{names}");
    nothing_else_runs(&platform, &shop, "after the snapshot").await;
}

/// The worker that had paused it was killed, and no other takes the snapshot again.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_is_paused_for_a_snapshot_goes_on_after_a_crash() {
    let mut platform = Platform::start().await;
    let (shop, _) = shop(&platform).await;
    platform.kill_server();
    platform.start_server(Some("snapshot-begun"));
    let id = run(&platform, &shop, &json!({ "command": "echo begun; sleep 5; echo whole > /data/whole" }));
    begun(&platform, &id).await;
    platform.ask("POST", &format!("/deploy/application/{shop}/volumes/data/snapshots"), &Value::Null);
    platform.wait_for_death();
    let db = platform.database().await;
    let mut tx = db.begin().await.unwrap();
    windlass_store::jobs::keep_only(&mut tx, "run").await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    platform.start_server(None);
    has_status(&platform, &id, "succeeded").await;
    assert_eq!(file(&platform, "/data/whole").await, "whole\n");
}

/// A command of a service has that one's image, variables and data; without a name it is the one that visitors reach.
#[tokio::test(flavor = "multi_thread")]
async fn services_run_commands_too() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("shop");
    let dockerfile = testapp::dockerfile("");
    let compose = "services:\n  web: { build: ., ports: ['80:8080'], environment: { WHO: web } }\n  db:\n    build: .\n    \
                   entrypoint: [/testapp]\n    environment: { WHO: db }\n    volumes: ['data:/data']\nvolumes: { data: }\n";
    repository.commit(&[("compose.yaml", compose), ("Dockerfile", &dockerfile), ("version", "one")], "one");
    let mut body = body("shop", &repository);
    body["build_pack"] = json!("docker-compose");
    let application = platform.deploy(&body);
    let shop = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    for (service, expected) in [(None, "web without"), (Some("db"), "db with")] {
        let mut body = json!({ "command": "echo $WHO $([ -d /data ] && echo with || echo without)" });
        if let Some(service) = service {
            body["service"] = json!(service);
        }
        let id = run(&platform, &shop, &body);
        let ended = has_status(&platform, &id, "succeeded").await;
        assert_eq!(ended["service"], service.unwrap_or("web"));
        assert!(lines(&platform, &id).contains(&expected.to_owned()), "{:?}", lines(&platform, &id));
    }
    let (status, answer) = platform.try_call(
        "POST",
        &format!("/deploy/application/{shop}/runs"),
        &json!({ "command": "true", "service": "cache" }),
    );
    assert_eq!(
        (status, &answer["message"]),
        (400, &json!("service: the live release has no service cache; it has web, db"))
    );
    platform.settled().await;
    assert_eq!(containers_of(&shop).len(), 2);
}

/// Each minute is waited for.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_runs_its_command() {
    let platform = Platform::start().await;
    let (shop, _) = shop(&platform).await;
    let body = json!({ "name": "minutely", "cron": "* * * * *", "command": "echo ran >> /data/ran" });
    let schedule = platform.call("POST", &format!("/deploy/application/{shop}/schedules"), &body);
    let path = format!("/deploy/schedules/{}", id_of(&schedule));
    until_within(Duration::from_secs(180), "it has run", async || {
        let last = platform.call("GET", &path, &Value::Null)["last_run"].take();
        (last["status"] == "succeeded" && last["scheduled_at"] == schedule["next_run_at"]).then_some(())
    })
    .await;
    platform.call("DELETE", &path, &json!({}));
    assert!(file(&platform, "/data/ran").await.starts_with("ran\n"));
    nothing_else_runs(&platform, &shop, "scheduled").await;
}
