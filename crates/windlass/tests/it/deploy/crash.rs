//! The server is killed at every step of a deployment. The next server brings it to its end, visitors notice nothing,
//! and nothing is left over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use windlass_server::deploy::KILL_POINTS;
use windlass_store::{containers, networks, releases};
use windlass_testing::Kind;
use windlass_testing::git::Repository;

use super::support::*;
use super::visitor::Visitor;

/// What the server is doing when it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Deploy,
    Rollback,
    Restart,
    Stop,
}

/// Which commands the application has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commands {
    /// The server dies in the first one, if it dies in a command.
    BeforeAndAfter,
    After,
}

#[derive(Clone, Copy, Debug)]
struct Death {
    doing: Doing,
    commands: Commands,
    point: &'static str,
}

fn points(beginnings: &[&str]) -> Vec<&'static str> {
    let is_meant = |point: &&str| beginnings.iter().any(|beginning| point.starts_with(beginning));
    KILL_POINTS.into_iter().filter(is_meant).collect()
}

/// At every point that a deployment, a rollback, a restart and a stop come by.
fn deaths() -> Vec<Death> {
    let mut all = Vec::new();
    for doing in [Doing::Deploy, Doing::Rollback, Doing::Restart] {
        let is_on_the_way = |point: &&str| doing == Doing::Deploy || !BEFORE_AN_IMAGE.contains(point);
        for point in points(&["deploy-", "command-", "finish-"]).into_iter().filter(is_on_the_way) {
            all.push(Death { doing, commands: Commands::BeforeAndAfter, point });
        }
        for point in points(&["command-"]) {
            all.push(Death { doing, commands: Commands::After, point });
        }
    }
    for point in ["finish-drained", "finish-stopped", "finish-removed", "stop-retired"] {
        all.push(Death { doing: Doing::Stop, commands: Commands::After, point });
    }
    all
}

/// A release that is there already comes by none of these.
const BEFORE_AN_IMAGE: [&str; 6] = [
    "deploy-before-fetch",
    "deploy-fetched",
    "deploy-commit-stored",
    "deploy-before-build",
    "deploy-built",
    "deploy-image-stored",
];

fn deploy_at(point: &'static str) -> Death {
    Death { doing: Doing::Deploy, commands: Commands::BeforeAndAfter, point }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn at_every_step_on_sqlite() {
    die_at_each(Kind::Sqlite, deaths(), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn at_every_step_on_postgres() {
    die_at_each(Kind::Postgres, deaths(), 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn at_five_steps_on_sqlite() {
    let points = ["deploy-built", "deploy-container-started", "deploy-switched", "finish-stopped", "finish-pruned"];
    die_at_each(Kind::Sqlite, points.map(deploy_at).into(), 1).await;
}

/// Each day another tenth of the points, and every ten days something else that the server does there.
#[tokio::test(flavor = "multi_thread")]
async fn at_a_tenth_of_the_steps_on_postgres() {
    let day = usize::try_from(windlass_testing::seed_of_the_day()).unwrap();
    let (tenth, round) = (day % 10, day / 10);
    let ways = |point: &str| deaths().into_iter().filter(|death| death.point == point).collect::<Vec<_>>();
    let all = KILL_POINTS.into_iter().map(ways).filter(|ways| !ways.is_empty());
    let chosen = all.skip(tenth).step_by(10).map(|ways| ways[round % ways.len()]);
    die_at_each(Kind::Postgres, chosen.collect(), 1).await;
}

/// With some of the instances made and others not, and with all of them live before the edge is told.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn with_three_instances() {
    let points = points(&["replica-"]).into_iter().chain(["deploy-switched", "finish-stopped"]);
    die_at_each(Kind::Sqlite, points.map(deploy_at).collect(), 3).await;
}

/// Each day another of these points.
fn point_of_the_day(prefix: &str) -> Vec<&'static str> {
    let all = points(&[prefix]);
    let day = usize::try_from(windlass_testing::seed_of_the_day()).unwrap();
    vec![all[day % all.len()]]
}

#[tokio::test(flavor = "multi_thread")]
async fn while_an_application_is_deleted() {
    die_while_an_application_is_deleted(point_of_the_day("remove-")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn at_every_step_while_an_application_is_deleted() {
    die_while_an_application_is_deleted(points(&["remove-"])).await;
}

async fn die_while_an_application_is_deleted(points: Vec<&'static str>) {
    for point in points {
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

#[tokio::test(flavor = "multi_thread")]
async fn while_a_deployment_fails() {
    die_while_a_deployment_fails(point_of_the_day("end-")).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn at_every_step_while_a_deployment_fails() {
    die_while_a_deployment_fails(points(&["end-"])).await;
}

/// A deployment that is about to fail, or to be cancelled, does so for the same reason when another server brings it to
/// its end.
async fn die_while_a_deployment_fails(points: Vec<&'static str>) {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "tough", "good");
    let mut body = body("tough", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let watcher = Watcher::start(&platform).await;
    body["environment_variables"] = json!({ "EXIT_CODE": "7" });
    for point in points {
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
        "data-",    // in volumes.rs
        "site-",    // in sites.rs
        "compose-", // in compose.rs
        "image-",   // in images.rs
    ];
    for point in KILL_POINTS {
        assert!(beginnings.iter().any(|beginning| point.starts_with(beginning)), "{point}");
    }
}

async fn die_at_each(kind: Kind, deaths: Vec<Death>, replicas: usize) {
    let mut platform = Platform::on(kind, &[]).await;
    for commands in [Commands::BeforeAndAfter, Commands::After] {
        let now = deaths.iter().copied().filter(|death| death.commands == commands);
        let (stops, others): (Vec<_>, Vec<_>) = now.partition(|death| death.doing == Doing::Stop);
        if others.is_empty() && stops.is_empty() {
            continue;
        }
        let mut tough = Tough::deploy(&platform, commands, replicas).await;
        let watcher = Watcher::start(&platform).await;
        for death in others {
            tough.die_while_it_serves(&mut platform, death).await;
        }
        watcher.saw_no_gap().await;
        for death in stops {
            tough.die_while_it_stops(&mut platform, death).await;
        }
        tough.delete(&platform).await;
    }
}

/// The application that is served while servers die.
struct Tough {
    id: String,
    repository: Repository,
    body: Value,
    /// The first deployment and the version of each release, the live one last.
    releases: Vec<(String, String)>,
}

impl Tough {
    /// Two releases of it, so that there is one to go back to.
    async fn deploy(platform: &Platform, commands: Commands, replicas: usize) -> Self {
        let name = format!("tough-{commands:?}");
        let repository = repository(platform, &name, "v0");
        let mut body = body("tough", &repository);
        // The time is different whenever a command runs.
        let clock = "$(date +%s%N 2>/dev/null)$$-$(cat /proc/uptime)";
        if commands == Commands::BeforeAndAfter {
            body["pre_run_command"] = json!(format!("echo ran at {clock}"));
        }
        body["post_run_command"] = json!(format!("echo ran afterwards at {clock}"));
        body["kept_releases"] = json!(3);
        body["replicas"] = json!(replicas);
        let mut tough = Self { id: String::new(), repository, body, releases: Vec::new() };
        for version in ["v0", "v1"] {
            commit(&tough.repository, version);
            let application = platform.deploy(&tough.body);
            let deployment = newest_deployment(&application);
            platform.deployed(&deployment).await;
            tough.id = id_of(&application);
            tough.releases.push((deployment, version.to_owned()));
        }
        platform.settled().await;
        tough
    }

    async fn die_while_it_serves(&mut self, platform: &mut Platform, death: Death) {
        let when = format!("{death:?}");
        platform.kill_server();
        platform.start_server(Some(death.point));
        match death.doing {
            Doing::Deploy => {
                let version = format!("v{}-{}", self.releases.len(), death.point);
                commit(&self.repository, &version);
                platform.ask("POST", "/deploy/application", &self.body);
                self.releases.push((String::new(), version));
            }
            Doing::Rollback => {
                let before = self.releases.remove(self.releases.len() - 2);
                platform.ask("POST", "/deploy/application/rollback", &json!({ "id": before.0 }));
                self.releases.push(before);
            }
            Doing::Restart => platform.ask("POST", "/deploy/application/restart", &json!({ "id": self.id })),
            Doing::Stop => unreachable!("a stopped application does not serve"),
        }
        platform.wait_for_death();
        platform.start_server(None);
        let deployment = newest_deployment(&platform.application(&self.id));
        platform.deployed(&deployment).await;
        let (first, version) = self.releases.last_mut().unwrap();
        if first.is_empty() {
            first.clone_from(&deployment);
        }
        assert_eq!(platform.visit("tough.localhost", "/").await, (200, version.clone()), "{when}");
        platform.settled().await;
        self.nothing_is_left_over(platform, &when).await;
        self.each_command_ran_once(platform, &deployment, &when);
    }

    async fn die_while_it_stops(&self, platform: &mut Platform, death: Death) {
        let when = format!("{death:?}");
        platform.kill_server();
        platform.start_server(Some(death.point));
        platform.ask("POST", "/deploy/application/stop", &json!({ "id": self.id }));
        platform.wait_for_death();
        platform.start_server(None);
        platform.settled().await;
        assert_eq!(platform.application(&self.id)["status"]["status"], "stopped", "{when}");
        assert_eq!(platform.visit("tough.localhost", "/").await.0, 503, "{when}");
        nothing_is_left_over(platform, &self.id, &when, 0).await;
        let started = platform.call("POST", "/deploy/application/start", &json!({ "id": self.id }));
        let deployment = id_of(&started);
        platform.deployed(&deployment).await;
        platform.settled().await;
        self.each_command_ran_once(platform, &deployment, &when);
    }

    async fn nothing_is_left_over(&self, platform: &Platform, when: &str) {
        nothing_is_left_over(platform, &self.id, when, self.body["replicas"].as_u64().unwrap()).await;
    }

    fn each_command_ran_once(&self, platform: &Platform, deployment: &str, when: &str) {
        let lines = platform.story(deployment);
        let times = |beginning: &str| {
            lines.lines().filter(|line| line.starts_with(beginning)).collect::<std::collections::HashSet<_>>().len()
        };
        let before = usize::from(!self.body["pre_run_command"].is_null());
        assert_eq!(times("ran at"), before, "{when}: the pre-run command:\n{lines}");
        assert_eq!(times("ran afterwards at"), 1, "{when}: the post-run command:\n{lines}");
    }

    /// Its name and domain are free again.
    async fn delete(self, platform: &Platform) {
        platform.call("DELETE", "/deploy/application", &json!({ "id": self.id, "name": "tough" }));
        until("the application is gone", async || {
            (platform.try_call("GET", &format!("/deploy/application?id={}", self.id), &Value::Null).0 == 404)
                .then_some(())
        })
        .await;
    }
}

/// Exactly the containers of the live release, their addresses, and the images of the releases that are kept.
pub async fn nothing_is_left_over(platform: &Platform, id: &str, when: &str, instances: u64) {
    assert_eq!(containers_of(id).len() as u64, instances, "{when}: {:?}", containers_of(id));
    let db = platform.database().await;
    let mut conn = db.read().await.unwrap();
    let rows = containers::all(&mut conn).await.unwrap();
    assert_eq!(rows.len() as u64, instances, "{when}: {rows:?}");
    assert!(rows.iter().all(|row| row.stage == containers::Stage::Live), "{when}: {rows:?}");
    let mut having: Vec<_> = rows.iter().map(|row| (row.address.clone(), row.id)).collect();
    let mut taken = Vec::new();
    for network in networks::all(&mut conn).await.unwrap() {
        let addresses = networks::addresses(&mut conn, network.owner_id).await.unwrap();
        taken.extend(addresses.into_iter().filter_map(|one| Some((one.address, one.container_id?))));
    }
    having.sort_unstable();
    taken.sort_unstable();
    assert_eq!(taken, having, "{when}");
    let mut wanted = releases::wanted_images(&mut conn).await.unwrap();
    wanted.sort_unstable();
    drop(conn);
    db.close().await;
    until(&format!("{when}: only the images of releases are left, which are {wanted:?}"), async || {
        let mut images = images_of(id);
        images.sort_unstable();
        (images == wanted).then_some(())
    })
    .await;
    no_trace_of_fetching(platform, when);
    let kept = std::fs::read_dir(platform.data_dir().join("repositories"));
    let kept: Vec<_> = kept.unwrap().flatten().map(|one| one.file_name().into_string().unwrap()).collect();
    assert!(kept.iter().all(|name| name.starts_with(id)), "{when}: {kept:?}");
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
