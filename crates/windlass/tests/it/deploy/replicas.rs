//! Several instances of one application: they come and go together, and one that dies takes no other with it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{ContainerStatus, Timestamp};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::networks;
use windlass_testing::git::Repository;
use windlass_testing::testapp;

use super::crowd::{Crowd, Visit, all_answered};
use super::support::*;
use super::visitor::Visitor;

/// An application with this many instances, all of them live.
async fn deployed(platform: &Platform, name: &str, replicas: usize) -> (String, Value, Repository) {
    let repository = repository(platform, name, "one");
    let mut body = body(name, &repository);
    body["replicas"] = json!(replicas);
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    (id_of(&application), body, repository)
}

/// The containers that answer visitors, by their host names.
async fn answering(platform: &Platform, host: &str) -> BTreeSet<String> {
    let mut visitor = Visitor::new(platform.edge().await, host);
    let mut seen = BTreeSet::new();
    for _ in 0..30 {
        seen.extend(visitor.get("/hostname").await.ok().filter(|(status, _)| *status == 200).map(|(_, name)| name));
    }
    seen
}

async fn answered_by(platform: &Platform, host: &str, count: usize) {
    until(&format!("{count} containers answer"), async || {
        (answering(platform, host).await.len() == count).then_some(())
    })
    .await;
}

async fn rows_of(platform: &Platform) -> Vec<Container> {
    let db = platform.database().await;
    let rows = containers::all(&mut db.read().await.unwrap()).await.unwrap();
    db.close().await;
    rows
}

#[tokio::test(flavor = "multi_thread")]
async fn no_request_is_lost_when_their_number_changes() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "crowded", "v0");
    let mut body = body("crowded", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let crowd = Crowd::come(platform.edge().await, "crowded.localhost");
    for (version, replicas) in [("v1", 3), ("v2", 1)] {
        commit(&repository, version);
        body["replicas"] = json!(replicas);
        let deployment = platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
        has_instances(&deployment, replicas);
        assert_eq!(platform.application(&id)["settings"]["replicas"], replicas);
        answered_by(&platform, "crowded.localhost", replicas).await;
        assert_eq!(platform.visit("crowded.localhost", "/").await, (200, version.to_owned()));
        let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
        has_instances(&platform.deployed(&id_of(&restart)).await, replicas);
    }
    let (visits, _) = crowd.go().await;
    all_answered(&visits);
    assert!(visits.len() > 1_000, "{}", visits.len());
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 1);
    assert_eq!(rows_of(&platform).await.len(), 1);
    let path = format!("/deploy/application/deployments?id={id}");
    for deployment in platform.call("GET", &path, &Value::Null)["deployments"].as_array().unwrap() {
        assert_eq!(deployment["requests_failed"], 0, "{deployment}");
    }
}

fn has_instances(deployment: &Value, replicas: usize) {
    let instances = deployment["instances"].as_array().unwrap();
    assert_eq!(instances.len(), replicas, "{deployment}");
    for (instance, ordinal) in instances.iter().zip(1..) {
        assert_eq!((&instance["ordinal"], &instance["status"]), (&json!(ordinal), &json!("running")), "{deployment}");
        assert!(instance["name"].as_str().unwrap().ends_with(&format!("-{ordinal}")), "{deployment}");
        assert!(!instance["container_id"].as_str().unwrap().is_empty(), "{deployment}");
    }
    for (field, of_instance) in [("container_name", "name"), ("container_id", "container_id")] {
        assert_eq!(deployment[field], instances[0][of_instance]);
    }
    assert_eq!(deployment["container_status"], "running");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_dies_loses_only_what_was_sent_to_it() {
    let platform = Platform::start().await;
    let (id, ..) = deployed(&platform, "herd", 3).await;
    let deployment = newest_deployment(&platform.application(&id));
    let first = platform.deployment(&deployment)["container_name"].as_str().unwrap().to_owned();
    let crowd = Crowd::come(platform.edge().await, "herd.localhost");
    let mut deaths = Vec::new();
    // The first one is started again by the engine, the second one by the reconciler.
    for kill in [kill_9, engine_kill] {
        answered_by(&platform, "herd.localhost", 3).await;
        let before = started_at(&first);
        let began = Instant::now();
        kill(&first);
        deaths.push((began, Instant::now()));
        assert_eq!(platform.visit("herd.localhost", "/").await, (200, "one".into()));
        until("it is started again", async || (started_at(&first) != before).then_some(())).await;
    }
    answered_by(&platform, "herd.localhost", 3).await;
    until("all are seen to run", async || {
        (platform.deployment(&deployment)["container_status"] == "running").then_some(())
    })
    .await;
    has_instances(&platform.deployment(&deployment), 3);
    let (visits, _) = crowd.go().await;
    lost_only_at(&visits, &deaths);
}

/// With no server to start it again, the edge alone sends visitors to the others.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn one_that_stays_dead_is_passed_over() {
    let mut platform = Platform::start().await;
    let (id, ..) = deployed(&platform, "survivors", 3).await;
    answered_by(&platform, "survivors.localhost", 3).await;
    let crowd = Crowd::come(platform.edge().await, "survivors.localhost");
    platform.kill_server();
    let began = Instant::now();
    engine_kill(&containers_of(&id)[1]);
    let deaths = [(began, Instant::now())];
    // Longer than the edge takes to find out that nothing is there.
    tokio::time::sleep(Duration::from_secs(8)).await;
    // Of thirty visits while a crowd is there, all may happen to go to one of them.
    answered_by(&platform, "survivors.localhost", 2).await;
    platform.start_server(None);
    answered_by(&platform, "survivors.localhost", 3).await;
    let (visits, _) = crowd.go().await;
    lost_only_at(&visits, &deaths);
}

/// Only requests that were under way at one of these times may be lost.
fn lost_only_at(visits: &[Visit], deaths: &[(Instant, Instant)]) {
    assert!(visits.len() > 1_000, "{}", visits.len());
    let lost: Vec<_> = visits.iter().filter(|visit| visit.is_lost()).collect();
    for visit in &lost {
        let was_under_way = |(began, ended): &(Instant, Instant)| visit.sent <= *ended && visit.ended >= *began;
        assert!(deaths.iter().any(was_under_way), "{:?}, {:?} after the death", visit.answer, visit.sent - deaths[0].1);
    }
    let longest = visits.iter().map(|visit| visit.ended - visit.sent).max().unwrap_or_default();
    // The edge waits 5 s for a connection before it tries another instance.
    assert!(longest < Duration::from_secs(12), "of {} requests, {} lost: {longest:?}", visits.len(), lost.len());
}

/// Ends the process, and waits until it is gone.
fn kill_9(container: &str) {
    let pid = docker(&["inspect", "--format", "{{.State.Pid}}", container]);
    let process = Pid::from_raw(pid.parse().unwrap()).unwrap();
    kill_process(process, Signal::KILL).unwrap();
    let deadline = Instant::now() + Duration::from_secs(5);
    while Path::new("/proc").join(&pid).exists() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The engine does not start again what it was told to kill.
fn engine_kill(container: &str) {
    docker(&["kill", container]);
}

fn started_at(container: &str) -> String {
    docker(&["inspect", "--format", "{{.State.Running}} {{.State.StartedAt}}", container])
        .strip_prefix("true ")
        .unwrap_or_default()
        .to_owned()
}

/// The release before goes on serving, and nothing of the new one remains: not the instance that was well either.
#[tokio::test(flavor = "multi_thread")]
async fn one_that_fails_fails_the_deployment() {
    let platform = Platform::start().await;
    let (id, mut body, repository) = deployed(&platform, "pair", 1).await;
    let live = rows_of(&platform).await.remove(0).address;
    let last: u8 = live.rsplit('.').next().unwrap().parse().unwrap();
    // Addresses that were never used come first, one after another.
    let second = format!("{}.{}", live.rsplit_once('.').unwrap().0, last + 2);
    let command = format!("grep -q '^{second}[[:space:]]' /etc/hosts && exit 9; exec /testapp");
    let dockerfile = testapp::dockerfile(&format!("ENTRYPOINT [\"/bin/sh\", \"-c\", \"{command}\"]"));
    repository.commit(&[("Dockerfile", &dockerfile), ("version", "two")], "two");
    body["replicas"] = json!(2);
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "crashed_at_start", "{}", platform.story(&id_of(&ended)));
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("instance 2 of 2: ") && reason.contains("exit code 9"), "{reason}");
    let story = platform.story(&id_of(&ended));
    assert!(story.contains("Health: instance 1 of 2: GET / answered 200"), "{story}");
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 1);
    assert_eq!(rows_of(&platform).await.len(), 1);
    assert_eq!(images_of(&id).len(), 1);
    assert_eq!((&ended["instances"], &ended["container_status"]), (&json!([]), &json!("removed")));
    assert_eq!(platform.visit("pair.localhost", "/").await, (200, "one".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn there_are_1_to_20() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "many", "one");
    let mut body = body("many", &repository);
    for replicas in [json!(0), json!(21), json!("two"), json!(1.5)] {
        body["replicas"] = replicas.clone();
        let (status, answer) = platform.try_call("POST", "/deploy/application", &body);
        assert_eq!(status, 400, "{replicas}: {answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("replicas: must be a whole number from 1 to 20"), "{replicas}: {message}");
    }
    body["replicas"] = json!(20);
    let application = platform.deploy(&body);
    let deployment = platform.deployed(&newest_deployment(&application)).await;
    has_instances(&deployment, 20);
    answered_by(&platform, "many.localhost", 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_and_a_deletion_leave_none() {
    let platform = Platform::start().await;
    let (id, ..) = deployed(&platform, "flock", 3).await;
    let before = containers_of(&id);
    assert_eq!(before.len(), 3);
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    platform.settled().await;
    assert_eq!(containers_of(&id), [""; 0]);
    assert!(rows_of(&platform).await.is_empty());
    assert_eq!(platform.application(&id)["deployments"][0]["container_status"], "removed");

    let start = platform.call("POST", "/deploy/application/start", &json!({ "id": id }));
    has_instances(&platform.deployed(&id_of(&start)).await, 3);
    platform.settled().await;
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "flock" }));
    until("it is gone", async || {
        (platform.try_call("GET", &format!("/deploy/application?id={id}"), &Value::Null).0 == 404).then_some(())
    })
    .await;
    assert_eq!(containers_of(&id), [""; 0]);
    assert_eq!(images_of(&id), [""; 0]);
}

/// A restart that is asked for during another one waits for its end.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn restarts_come_one_after_another() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "calm", "one");
    let mut body = body("calm", &repository);
    body["replicas"] = json!(2);
    body["environment_variables"] = json!({ "START_DELAY_MS": "1500" });
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let restart = || id_of(&platform.call("POST", "/deploy/application/restart", &json!({ "id": id })));
    let state = |id: &str| platform.deployment(id)["status"]["status"].as_str().unwrap().to_owned();
    let first = restart();
    until("it is under way", async || (state(&first) == "deploying").then_some(())).await;
    let second = restart();
    let mut waited = 0;
    until("the first one ends", async || {
        let (second, first) = (state(&second), state(&first));
        if first != "deployed" {
            assert_eq!((first.as_str(), second.as_str()), ("deploying", "queued"));
            waited += 1;
        }
        (first == "deployed").then_some(())
    })
    .await;
    assert!(waited > 5, "the second one was asked for during the first one");
    platform.deployed(&second).await;
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 2);
}

/// Each instance takes an address of the organization's network. When there are not enough, the deployment says so.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn addresses_that_run_out_fail_the_deployment() {
    let platform = Platform::on(windlass_testing::Kind::Sqlite, &["--organization-containers", "253"]).await;
    let (id, mut body, _) = deployed(&platform, "dense", 1).await;
    take_all_addresses_but(&platform, &id, 2).await;
    body["replicas"] = json!(3);
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "ceiling_reached", "{}", platform.story(&id_of(&ended)));
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("has 253 containers") && reason.contains("use fewer replicas"), "{reason}");
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 1);
    assert_eq!(platform.visit("dense.localhost", "/").await, (200, "one".into()));
    // What it took is free again.
    body["replicas"] = json!(2);
    has_instances(&platform.deployed(&newest_deployment(&platform.deploy(&body))).await, 2);
}

/// By rows that belong to no container on the engine, and that the reconciler leaves alone.
async fn take_all_addresses_but(platform: &Platform, application_id: &str, free: usize) {
    let live = rows_of(platform).await.remove(0);
    let organization_id: Uuid =
        platform.application(application_id)["organization_id"].as_str().unwrap().parse().unwrap();
    let network = live.address.rsplit_once('.').unwrap().0.to_owned();
    let db = platform.database().await;
    let mut tx = db.begin().await.unwrap();
    let known = networks::addresses(&mut tx, organization_id).await.unwrap();
    let all = (2..=254).map(|last| format!("{network}.{last}"));
    let unused: Vec<_> = all.filter(|address| !known.iter().any(|known| known.address == *address)).collect();
    for (number, address) in unused[free..].iter().enumerate() {
        let id = Uuid::from_u128(number as u128 + 1);
        let row = Container {
            id,
            purpose: Purpose::PreRun,
            stage: Stage::Live,
            name: address.clone(),
            status: ContainerStatus::None,
            created_at: Timestamp::from_micros(0),
            ..live.clone()
        };
        containers::insert(&mut tx, &row).await.unwrap();
        networks::take_address(&mut tx, organization_id, address, id).await.unwrap();
    }
    tx.commit().await.unwrap();
    db.close().await;
}
