//! The server is killed at every step of a deployment. The next server brings it to its end, visitors notice nothing,
//! and nothing is left over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_server::deploy::KILL_POINTS;
use windlass_store::containers;
use windlass_testing::Kind;
use windlass_testing::git::Repository;

use super::support::*;
use super::visitor::Visitor;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn at_every_step_on_sqlite() {
    let on_the_way = ["deploy-", "command-", "finish-"];
    let is_on_the_way = |point: &&str| on_the_way.iter().any(|beginning| point.starts_with(beginning));
    let points: Vec<_> = KILL_POINTS.into_iter().filter(is_on_the_way).collect();
    die_at_each(Kind::Sqlite, &points, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_five_steps_on_sqlite() {
    let points = ["deploy-built", "deploy-container-started", "deploy-healthy", "deploy-switched", "finish-stopped"];
    die_at_each(Kind::Sqlite, &points, 1).await;
}

/// With some of the instances made and others not, and with all of them live before the edge is told.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn with_three_instances() {
    let points = KILL_POINTS.into_iter().filter(|point| point.starts_with("replica-"));
    let points: Vec<_> = points.chain(["deploy-switched", "finish-stopped"]).collect();
    die_at_each(Kind::Sqlite, &points, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_three_steps_on_postgres() {
    die_at_each(Kind::Postgres, &["deploy-built", "deploy-switched", "finish-drained"], 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_an_application_is_deleted() {
    for point in KILL_POINTS.into_iter().filter(|point| point.starts_with("remove-")) {
        let mut platform = Platform::start().await;
        let repository = repository(&platform, "doomed", "one");
        let application = platform.deploy(&body("doomed", &repository));
        platform.deployed(&newest_deployment(&application)).await;
        platform.settled().await;
        let id = id_of(&application);
        platform.kill_server();
        platform.start_server(Some(point));
        platform.ask("DELETE", "/deploy/application", &json!({ "id": id, "name": "doomed" }));
        platform.wait_for_death();
        platform.start_server(None);
        until("the application is gone", async || {
            (platform.try_call("GET", &format!("/deploy/application?id={id}"), &Value::Null).0 == 404).then_some(())
        })
        .await;
        assert_eq!(containers_of(&id), [""; 0], "{point}");
        assert_eq!(images_of(&id), [""; 0], "{point}");
        assert_eq!(platform.visit("doomed.localhost", "/").await.0, 404, "{point}");
    }
}

/// A deployment that is about to fail, or to be cancelled, does so for the same reason when another server brings it to
/// its end.
#[tokio::test(flavor = "multi_thread")]
async fn while_a_deployment_fails() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "tough", "good");
    let mut body = body("tough", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let watcher = Watcher::start(&platform).await;
    body["environment_variables"] = json!({ "EXIT_CODE": "7" });
    for point in KILL_POINTS.into_iter().filter(|point| point.starts_with("end-")) {
        platform.kill_server();
        platform.start_server(Some(point));
        platform.ask("POST", "/deploy/application", &body);
        platform.wait_for_death();
        platform.start_server(None);
        let deployment = newest_deployment(&platform.application(&id));
        let ended = platform.ended(&deployment).await;
        assert_eq!(ended["failure"], "crashed_at_start", "{point}: {}", platform.story(&deployment));
        assert!(ended["reason"].as_str().unwrap().contains("exit code 7"), "{point}: {ended}");
        platform.settled().await;
        nothing_is_left_over(&platform, &id, point, 1).await;
        assert_eq!(images_of(&id).len(), 1, "{point}");
    }
    watcher.saw_no_gap().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_an_application_is_stopped_or_made_again() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "tough", "one");
    let application = platform.deploy(&body("tough", &repository));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;

    platform.kill_server();
    docker(&["rm", "-f", &containers_of(&id)[0]]);
    platform.start_server(Some("reconcile-made-again"));
    platform.wait_for_death();
    platform.start_server(None);
    until("it serves again", async || {
        (platform.visit("tough.localhost", "/").await == (200, "one".into())).then_some(())
    })
    .await;
    let policy = docker(&["inspect", "--format", "{{.HostConfig.RestartPolicy.Name}}", &containers_of(&id)[0]]);
    assert_eq!(policy, "unless-stopped");

    platform.kill_server();
    platform.start_server(Some("stop-retired"));
    platform.ask("POST", "/deploy/application/stop", &json!({ "id": id }));
    platform.wait_for_death();
    platform.start_server(None);
    platform.settled().await;
    assert_eq!(platform.application(&id)["status"]["status"], "stopped");
    assert_eq!(containers_of(&id), [""; 0]);
}

/// At every point some test here ends the server.
#[test]
fn no_point_is_forgotten() {
    let beginnings = [
        "deploy-",
        "replica-",
        "command-",
        "finish-",
        "end-",
        "stop-",
        "remove-",
        "reconcile-", // here
        "hold-",
        "resume-",
        "snapshot-",
        "data-", // in volumes.rs
    ];
    for point in KILL_POINTS {
        assert!(beginnings.iter().any(|beginning| point.starts_with(beginning)), "{point}");
    }
}

async fn die_at_each(kind: Kind, points: &[&str], replicas: usize) {
    let mut platform = Platform::on(kind, &[]).await;
    let repository = repository(&platform, "tough", "v0");
    let mut body = body("tough", &repository);
    // The time is different whenever the command runs.
    body["pre_run_command"] = json!("echo ran at $(date +%s%N 2>/dev/null)$$-$(cat /proc/uptime)");
    body["post_run_command"] = json!("echo afterwards");
    body["kept_releases"] = json!(3);
    body["replicas"] = json!(replicas);
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let watcher = Watcher::start(&platform).await;
    for (turn, point) in points.iter().enumerate() {
        let version = format!("v{}", turn + 1);
        die_at(&mut platform, &id_of(&application), &repository, &body, point, &version).await;
    }
    watcher.saw_no_gap().await;
}

async fn die_at(platform: &mut Platform, id: &str, repository: &Repository, body: &Value, point: &str, version: &str) {
    commit(repository, version);
    platform.kill_server();
    platform.start_server(Some(point));
    platform.ask("POST", "/deploy/application", body);
    platform.wait_for_death();
    platform.start_server(None);
    let deployment = newest_deployment(&platform.application(id));
    platform.deployed(&deployment).await;
    assert_eq!(platform.visit("tough.localhost", "/").await, (200, version.to_owned()), "{point}");
    platform.settled().await;
    nothing_is_left_over(platform, id, point, body["replicas"].as_u64().unwrap_or(1)).await;
    let lines = platform.story(&deployment);
    let ran: std::collections::HashSet<_> = lines.lines().filter(|line| line.starts_with("ran at")).collect();
    assert_eq!(ran.len(), 1, "{point}: the pre-run command ran {} times:\n{lines}", ran.len());
}

/// The containers of the live release, the releases that are kept, and nothing else.
pub async fn nothing_is_left_over(platform: &Platform, id: &str, when: &str, instances: u64) {
    assert_eq!(containers_of(id).len() as u64, instances, "{when}: {:?}", containers_of(id));
    let images = images_of(id).len();
    assert!(images <= 4, "{when}: {images} images");
    let db = platform.database().await;
    let rows = containers::all(&mut db.read().await.unwrap()).await.unwrap();
    assert_eq!(rows.len() as u64, instances, "{when}: {rows:?}");
    assert!(rows.iter().all(|row| row.stage == containers::Stage::Live), "{when}: {rows:?}");
    db.close().await;
    no_trace_of_fetching(platform, when);
}

/// No folder, and no program that works on one.
pub fn no_trace_of_fetching(platform: &Platform, when: &str) {
    let work_dir = platform.data_dir().join("work");
    let folders: Vec<_> =
        std::fs::read_dir(&work_dir).map(|all| all.flatten().map(|one| one.path()).collect()).unwrap_or_default();
    assert_eq!(folders, Vec::<std::path::PathBuf>::new(), "{when}");
    let work_dir = work_dir.display().to_string();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let cwd = std::fs::read_link(process.path().join("cwd")).unwrap_or_default();
        assert!(
            !cwd.display().to_string().starts_with(&work_dir),
            "{when}: {:?} works in {cwd:?}",
            process.file_name()
        );
    }
}

/// A visitor that sends requests all the time.
struct Watcher {
    stop: Arc<AtomicBool>,
    watching: tokio::task::JoinHandle<(usize, Vec<String>)>,
}

impl Watcher {
    async fn start(platform: &Platform) -> Self {
        let (edge, stop) = (platform.edge().await, Arc::new(AtomicBool::new(false)));
        let stopped = stop.clone();
        let watching = tokio::spawn(async move {
            let (mut visitor, mut visits, mut lost) = (Visitor::new(edge, "tough.localhost"), 0, Vec::new());
            while !stopped.load(Ordering::SeqCst) {
                match visitor.get("/").await {
                    Ok((200, _)) => visits += 1,
                    other => lost.push(format!("{other:?}")),
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            (visits, lost)
        });
        Self { stop, watching }
    }

    async fn saw_no_gap(self) {
        self.stop.store(true, Ordering::SeqCst);
        let (visits, lost) = self.watching.await.unwrap();
        assert_eq!(lost, [""; 0], "of {visits} requests");
        assert!(visits > 100, "{visits}");
    }
}
