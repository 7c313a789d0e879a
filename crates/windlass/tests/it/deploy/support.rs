//! A whole platform on a real engine: the server, its edge, a repository to deploy from, and what tests ask them.

use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use windlass_durable::kill_point;
use windlass_edge::control::client::Client;
use windlass_testing::git::{GitServer, Repository};
use windlass_testing::{DatabaseLocation, Kind, testapp};

use super::visitor::Visitor;
use crate::process::{Process, end_edge, token_in, windlass};

/// Nothing in these tests takes longer unless something is wrong.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// Between two looks, of which each is a request to a server without optimisation: many tests wait at once.
const SHORTEST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Waits for a condition, not for a time.
pub async fn until<T>(what: &str, look: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(DEADLINE, what, look).await
}

/// For what the server does only now and then.
pub async fn until_within<T>(limit: Duration, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + limit;
    let mut pause = SHORTEST_PAUSE;
    while Instant::now() < deadline {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 5 / 4).min(LONGEST_PAUSE);
    }
    panic!("in vain: {what}");
}

pub struct Platform {
    pub place: DatabaseLocation,
    process: Option<Process>,
    token: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// Marks what this platform has on the engine.
    pub instance: String,
    pub git: GitServer,
}

impl Platform {
    pub async fn start() -> Self {
        Self::on(Kind::Sqlite, &[]).await
    }

    pub async fn on(kind: Kind, arguments: &[&str]) -> Self {
        Self::at(DatabaseLocation::fresh(kind).await, arguments).await
    }

    pub async fn at(place: DatabaseLocation, arguments: &[&str]) -> Self {
        Self::in_environment(place, arguments, &[]).await
    }

    /// Its server has these variables.
    pub async fn in_environment(place: DatabaseLocation, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        testapp::base_image().await;
        let mut arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        if let Some(url) = &place.url {
            arguments.extend(["--database-url".to_owned(), url.clone()]);
        }
        // Tests ask more often than people do.
        for limit in ["--address-requests", "--account-requests"] {
            arguments.extend([limit.to_owned(), "0".to_owned()]);
        }
        let (token, instance) = (String::new(), String::new());
        let git = GitServer::start();
        let mut platform = Self { place, process: None, token, arguments, environment, instance, git };
        platform.start_server(None);
        platform.instance = platform.read_instance().await;
        platform.token = token_in(&platform.process().register(""));
        platform
    }

    /// The server again, on the same data. With a point at which it is to die.
    pub fn start_server(&mut self, kill_at: Option<&str>) {
        let mut command = windlass();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(point) = kill_at {
            command.env(kill_point::VARIABLE, point);
        }
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let data_dir = self.place.folder.path().join("data");
        self.process = Some(Process::start(command, &data_dir, &arguments));
    }

    pub fn data_dir(&self) -> PathBuf {
        self.place.folder.path().join("data")
    }

    pub fn process(&self) -> &Process {
        self.process.as_ref().expect("a server")
    }

    /// As a power failure would end it, but for the edge, which goes on.
    pub fn kill_server(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.signal(Signal::KILL);
            process.wait();
            process.leave_edge();
        }
    }

    /// Waits until the server has died by itself.
    pub fn wait_for_death(&mut self) {
        let mut process = self.process.take().expect("a server");
        assert_eq!(process.wait(), None, "it was to die");
        process.leave_edge();
    }

    /// Waits until the server has ended as it was told to.
    pub fn wait_for_end(&mut self) {
        let mut process = self.process.take().expect("a server");
        assert_eq!(process.wait(), Some(0));
        process.leave_edge();
    }

    /// Another server that knows the same people.
    pub fn use_server(&mut self, process: Process) {
        self.process = Some(process);
    }

    pub fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        self.process().ok(method, path, &self.token, &body)["data"].take()
    }

    /// For a server that may die before it answers.
    pub fn ask(&self, method: &str, path: &str, body: &Value) {
        self.process().ask(method, path, &self.token, &body.to_string());
    }

    /// A request whose answer is read as it comes.
    pub fn send(&self, method: &str, path: &str) -> TcpStream {
        self.process().send(method, path, &self.token, "")
    }

    /// Calls come from another caller from now on.
    /// Again: a login may be over when the clock was set.
    pub fn log_in(&mut self) {
        self.token = token_in(&self.process().login("correct horse"));
    }

    pub fn use_token(&mut self, token: &str) {
        token.clone_into(&mut self.token);
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Status and the whole answer.
    pub fn try_call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let answer = self.process().request(method, path, &self.token, &body.to_string());
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).expect("JSON"))
    }

    /// Creates or deploys again; the application as it is then.
    pub fn deploy(&self, body: &Value) -> Value {
        self.call("POST", "/deploy/application", body)
    }

    pub fn application(&self, id: &str) -> Value {
        self.call("GET", &format!("/deploy/application?id={id}"), &Value::Null)
    }

    pub fn deployment(&self, id: &str) -> Value {
        self.call("GET", &format!("/deploy/application/deployments/{id}"), &Value::Null)
    }

    /// Waits until a deployment has ended one way or the other.
    pub async fn ended(&self, id: &str) -> Value {
        until("the deployment ends", async || {
            let deployment = self.deployment(id);
            let state = deployment["status"]["status"].as_str().expect("a state").to_owned();
            ["deployed", "failed", "cancelled"].contains(&state.as_str()).then_some(deployment)
        })
        .await
    }

    /// Waits until a deployment serves.
    pub async fn deployed(&self, id: &str) -> Value {
        let deployment = self.ended(id).await;
        assert_eq!(deployment["status"]["status"], "deployed", "{}", self.story(id));
        deployment
    }

    /// Waits until the last container is gone, and the last job done.
    pub async fn settled(&self) {
        until("all jobs are done", async || {
            let db = self.database().await;
            let counts = windlass_store::jobs::counts(&mut db.read().await.ok()?).await.ok()?;
            db.close().await;
            (counts == (0, 0)).then_some(())
        })
        .await;
    }

    /// What went wrong, for the reader of a failed test.
    pub fn story(&self, id: &str) -> String {
        let deployment = self.deployment(id);
        let mut lines = vec![format!("{}: {}", deployment["failure"], deployment["reason"])];
        let logs = deployment["logs"].as_array().expect("lines");
        lines.extend(logs.iter().rev().map(|line| line["log"].as_str().unwrap_or_default().to_owned()));
        lines.join("\n")
    }

    pub async fn database(&self) -> windlass_store::Db {
        let options = windlass_store::Options { connections: 2, wait: Duration::from_secs(10) };
        match &self.place.url {
            None => windlass_store::Db::sqlite(&self.data_dir().join("windlass.db"), options).await,
            Some(url) => windlass_store::Db::postgres(url, options).await,
        }
        .expect("the database opens")
    }

    async fn read_instance(&self) -> String {
        let db = self.database().await;
        let mut tx = db.begin().await.expect("a transaction");
        let label = windlass_store::instance::engine_label(&mut tx, uuid::Uuid::nil()).await.expect("a label");
        drop(tx);
        db.close().await;
        label.to_string()
    }

    pub async fn edge(&self) -> SocketAddr {
        edge_of(&self.data_dir()).await
    }

    /// Status and body, as a visitor of this host gets them.
    pub async fn visit(&self, host: &str, path: &str) -> (u16, String) {
        Visitor::new(self.edge().await, host).get(path).await.expect("an answer")
    }
}

impl Drop for Platform {
    fn drop(&mut self) {
        drop(self.process.take());
        end_edge(&self.data_dir());
        let label = format!("label=windlass.instance={}", self.instance);
        for (list, remove) in [
            (vec!["ps", "-aq", "--filter", &label], vec!["rm", "-f"]),
            (vec!["images", "-q", "--filter", &label], vec!["rmi", "-f"]),
            (vec!["network", "ls", "-q", "--filter", &label], vec!["network", "rm"]),
            (vec!["volume", "ls", "-q", "--filter", &label], vec!["volume", "rm", "-f"]),
        ] {
            let ids = docker(&list);
            if !ids.is_empty() {
                let all: Vec<&str> = remove.into_iter().chain(ids.lines()).collect();
                let _ = Command::new("docker").args(all).output();
            }
        }
    }
}

/// Where the edge of a data folder listens.
pub async fn edge_of(data_dir: &Path) -> SocketAddr {
    until("the edge answers", async || {
        Client::connect(data_dir).await.ok()?.hello().await.ok()?.listening.first().copied()
    })
    .await
}

/// What the engine's own program says.
pub fn docker(arguments: &[&str]) -> String {
    let output = Command::new("docker").args(arguments).output().expect("docker starts");
    assert!(output.status.success(), "docker {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Names of the containers of an application, whatever state they are in.
pub fn containers_of(application_id: &str) -> Vec<String> {
    let label = format!("label=windlass.app={application_id}");
    let names = docker(&["ps", "-a", "--format", "{{.Names}}", "--filter", &label]);
    names.lines().map(str::to_owned).collect()
}

pub fn images_of(application_id: &str) -> Vec<String> {
    let label = format!("label=windlass.app={application_id}");
    let ids = docker(&["images", "-q", "--no-trunc", "--filter", &label]);
    ids.lines().map(str::to_owned).collect()
}

/// The files of an image as they would be handed on, as text.
pub fn layers_of(image: &str, folder: &Path) -> String {
    let file = folder.join("image.tar");
    let saved = Command::new("docker").args(["save", "-o"]).arg(&file).arg(image).status().unwrap();
    assert!(saved.success());
    String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned()
}

/// A repository with an application of this version in it.
pub fn repository(platform: &Platform, name: &str, version: &str) -> Repository {
    let repository = platform.git.repository(name);
    commit(&repository, version);
    repository
}

pub fn commit(repository: &Repository, version: &str) -> String {
    repository.commit(&[("Dockerfile", &testapp::dockerfile("")), ("version", version)], version)
}

pub fn newest_deployment(application: &Value) -> String {
    application["deployments"][0]["id"].as_str().expect("a deployment").to_owned()
}

pub fn id_of(record: &Value) -> String {
    record["id"].as_str().expect("an id").to_owned()
}

/// What most tests deploy.
pub fn body(name: &str, repository: &Repository) -> Value {
    json!({ "name": name, "repository": repository.url(), "drain_seconds": 20, "stop_seconds": 1, "health_path": "/" })
}
