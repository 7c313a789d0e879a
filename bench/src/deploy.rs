//! Deploying, beside the same build and run by hand; reading many applications beside few; twenty applications that do
//! nothing.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use uuid::Uuid;
use windlass_api::{ContainerStatus, DeploymentKind, DeploymentState, DeploymentTrigger, Timestamp};
use windlass_store::deployments::{self, Deployment};
use windlass_store::{Db, Options};
use windlass_testing::git::{GitServer, Repository};
use windlass_testing::testapp;

use crate::http::{self, Caller};
use crate::process::Process;

const ROUNDS: usize = 7;
const REQUESTS: usize = 200;
const IDLE_APPLICATIONS: usize = 20;
const IDLE: Duration = Duration::from_secs(30);
const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::main]
pub async fn measure() {
    testapp::base_image().await;
    let overhead = overhead();
    let pages = pages().await;
    let idle = idle();
    let report = json!({ "overhead": overhead, "pages": pages, "idle": idle });
    let text = serde_json::to_string_pretty(&report).expect("JSON");
    std::fs::create_dir_all("bench/results").expect("a folder");
    std::fs::write("bench/results/deploy.json", &text).expect("a file");
    println!("{text}");
}

/// A server with an admin, and a place to deploy from.
pub struct Platform {
    pub caller: Caller,
    pub edge: u16,
    git: GitServer,
    pub process: Process,
    pub folder: TempDir,
}

impl Platform {
    pub fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let edge = crate::process::free_port();
        let edge_http = format!("127.0.0.1:{edge}");
        let listen = ["--edge-http", &edge_http, "--edge-https", "127.0.0.1:0"];
        let all: Vec<&str> = listen.into_iter().chain(arguments.iter().copied()).collect();
        let (process, _) = Process::windlass_with(folder.path(), None, &all);
        let caller = Caller::register(process.port);
        Self { caller, edge, git: GitServer::start(), process, folder }
    }

    pub fn repository(&self, name: &str) -> Repository {
        self.git.repository(name)
    }

    /// Until visitors of the host get this version.
    pub fn until_served(&self, host: &str, version: &str) {
        let until = Instant::now() + DEADLINE;
        while http::visit(self.edge, host) != Some(version.to_owned()) {
            assert!(Instant::now() < until, "{host} does not serve {version}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

pub fn commit(repository: &Repository, version: &str) {
    repository.commit(&[("Dockerfile", &testapp::dockerfile("")), ("version", version)], version);
}

/// Seconds until the first answer: with Windlass, and by hand; and of a rollback.
fn overhead() -> Value {
    let platform = Platform::start(&[]);
    let repository = platform.repository("timed");
    commit(&repository, "first");
    let body = json!({ "name": "timed", "repository": repository.url(), "stop_seconds": 1 });
    let first = platform.caller.post("/deploy/application", &body);
    platform.until_served("timed.localhost", "first");
    let mut rounds = Vec::new();
    for round in 0..ROUNDS {
        let version = format!("round-{round}");
        commit(&repository, &version);
        let by_hand = by_hand(&version);
        let asked = Instant::now();
        platform.caller.post("/deploy/application", &body);
        platform.until_served("timed.localhost", &version);
        let deployed = asked.elapsed().as_secs_f64();
        let asked = Instant::now();
        let id = &first["deployments"][0]["id"];
        platform.caller.post("/deploy/application/rollback", &json!({ "id": id }));
        platform.until_served("timed.localhost", "first");
        let rolled_back = asked.elapsed().as_secs_f64();
        rounds.push(json!({ "deploy_s": deployed, "by_hand_s": by_hand, "overhead_s": deployed - by_hand, "rollback_s": rolled_back }));
    }
    let median = |name: &str| median(rounds.iter().map(|round| round[name].as_f64().expect("a time")).collect());
    json!({
        "median_deploy_s": median("deploy_s"), "median_by_hand_s": median("by_hand_s"),
        "median_overhead_s": median("overhead_s"), "median_rollback_s": median("rollback_s"), "rounds": rounds,
    })
}

/// `docker build` and `docker run` of the same files, until the container answers.
fn by_hand(version: &str) -> f64 {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // Not the same file: what Windlass builds next must not find it in the cache.
    let name = format!("hand-{version}");
    std::fs::write(folder.path().join("Dockerfile"), testapp::dockerfile("")).expect("a file");
    std::fs::write(folder.path().join("version"), &name).expect("a file");
    let began = Instant::now();
    docker(&["build", "--quiet", "--tag", &name, &folder.path().display().to_string()]);
    docker(&["run", "--detach", "--init", "--name", &name, &name]);
    let address = docker(&["inspect", "--format", "{{.NetworkSettings.IPAddress}}", &name]);
    let until = Instant::now() + DEADLINE;
    while http::get(&format!("{address}:8080"), "localhost", "/") != Some(name.clone()) {
        assert!(Instant::now() < until, "{name} does not answer");
        std::thread::sleep(Duration::from_millis(2));
    }
    let time = began.elapsed().as_secs_f64();
    docker(&["rm", "--force", &name]);
    docker(&["rmi", "--force", &name]);
    time
}

/// With the same builder as Windlass, where the program has it built in.
pub fn docker(arguments: &[&str]) -> String {
    let program = if Path::new("/usr/bin/docker").exists() { "/usr/bin/docker" } else { "docker" };
    let output = Command::new(program).env("DOCKER_BUILDKIT", "1").args(arguments).stderr(Stdio::inherit()).output();
    let output = output.expect("docker starts");
    assert!(output.status.success(), "docker {arguments:?}");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Milliseconds for pages and records of many applications, and of few. Nothing is deployed: there is no engine.
async fn pages() -> Value {
    let mut sizes = serde_json::Map::new();
    for (applications, deployments) in [(10, 10), (1_000, 10)] {
        let arguments = ["--docker-socket", "/nowhere/docker.sock", "--organization-applications", "10000"];
        let platform = Platform::start(&arguments);
        let mut last = Value::Null;
        for number in 0..applications {
            let body =
                json!({ "name": format!("app-{number:05}"), "repository": "https://git.example.org/team/app.git" });
            last = platform.caller.post("/deploy/application", &body);
            add_deployments(&platform, &last, deployments - 1).await;
        }
        let id = last["id"].as_str().expect("an id");
        let deployment = last["deployments"][0]["id"].as_str().expect("an id");
        let paths = [
            ("list, first page", "/deploy/applications?page_size=10".to_owned()),
            ("list, by name", "/deploy/applications?page_size=10&sort_by=name&sort_direction=asc".to_owned()),
            (
                "list, a page in the middle",
                format!("/deploy/applications?page_size=10&page={}", (applications / 20).max(1)),
            ),
            ("application", format!("/deploy/application?id={id}")),
            ("deployments of one", format!("/deploy/application/deployments?id={id}")),
            ("deployment", format!("/deploy/application/deployments/{deployment}")),
        ];
        let mut times = serde_json::Map::new();
        for (name, path) in paths {
            let all = (0..REQUESTS).map(|_| {
                let began = Instant::now();
                platform.caller.get(&path);
                began.elapsed().as_secs_f64() * 1_000.0
            });
            times.insert(name.into(), json!(median(all.collect())));
        }
        sizes.insert(format!("{applications} applications, {} deployments", applications * deployments), times.into());
    }
    sizes.into()
}

/// Rows as earlier deployments have left them.
async fn add_deployments(platform: &Platform, application: &Value, count: usize) {
    let options = Options { connections: 1, wait: Duration::from_secs(10) };
    let db = Db::sqlite(&platform.folder.path().join("windlass.db"), options).await.expect("the database");
    let mut tx = db.begin().await.expect("a transaction");
    let id = |name: &str| -> Uuid { application[name].as_str().and_then(|id| id.parse().ok()).expect("an id") };
    let release = application["deployments"][0]["id"].as_str().and_then(|id| id.parse().ok()).expect("an id");
    for number in 0..count {
        let now = Timestamp::from_micros(1_700_000_000_000_000 + i64::try_from(number).expect("a small number"));
        let deployment = earlier_deployment(id("id"), id("user_id"), release, now);
        deployments::insert(&mut tx, &deployment).await.expect("a row");
        let (from, to) = (DeploymentState::Queued, DeploymentState::Deployed);
        deployments::advance(&mut tx, deployment.id, from, to, now).await.expect("a state");
    }
    tx.commit().await.expect("a commit");
    db.close().await;
}

fn earlier_deployment(application_id: Uuid, user_id: Uuid, release_id: Uuid, now: Timestamp) -> Deployment {
    // In the past, and unlike any other.
    let id = Uuid::from_u128(
        ((now.micros().unsigned_abs() as u128) << 64) | (application_id.as_u128() & u128::from(u64::MAX)),
    );
    Deployment {
        id,
        application_id,
        release_id,
        triggered_by: DeploymentTrigger::User,
        user_id: Some(user_id),
        kind: DeploymentKind::Deploy,
        without_cache: false,
        status_id: id,
        state: DeploymentState::Queued,
        state_changed_at: now,
        failure: String::new(),
        reason: String::new(),
        container_id: String::new(),
        container_name: String::new(),
        container_status: ContainerStatus::Removed,
        started_at: None,
        finished_at: None,
        requests_served: 0,
        requests_failed: 0,
        held_at: None,
        held_before: 0,
        held_ms: 0,
        held_requests: 0,
        restores: "[]".into(),
        created_at: now,
        updated_at: now,
    }
}

/// Memory and processor time of a server whose applications run and are not visited.
fn idle() -> Value {
    let platform = Platform::start(&[]);
    let repository = platform.repository("idle");
    commit(&repository, "idle");
    for number in 0..IDLE_APPLICATIONS {
        let body = json!({ "name": format!("idle-{number}"), "repository": repository.url() });
        platform.caller.post("/deploy/application", &body);
    }
    for number in 0..IDLE_APPLICATIONS {
        platform.until_served(&format!("idle-{number}.localhost"), "idle");
    }
    std::thread::sleep(Duration::from_secs(5));
    let (began, cpu) = (Instant::now(), platform.process.own_cpu_seconds());
    std::thread::sleep(IDLE);
    let share = (platform.process.own_cpu_seconds() - cpu) / began.elapsed().as_secs_f64();
    json!({
        "applications": IDLE_APPLICATIONS, "resident_mb": platform.process.resident_mb(),
        "peak_mb": platform.process.peak_mb(), "cpu_percent": 100.0 * share,
    })
}

pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}
