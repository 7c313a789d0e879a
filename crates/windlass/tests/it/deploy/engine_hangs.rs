//! The way to the engine is shut at each step of a deployment: it hangs, or refuses, and what was under way is cut. The engine itself
//! goes on, so that what the server says must be compared with what is.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::Kind;
use windlass_testing::faulty_proxy::{FaultyProxy, Mode};
use windlass_testing::git::Repository;
use windlass_testing::testapp;

use super::support::*;

/// How long the way is shut.
const SHUT: Duration = Duration::from_secs(4);
/// The longest that the API may take meanwhile: it does not ask the engine.
const ANSWERED: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug)]
enum Step {
    Fetch,
    Build,
    PreRun,
    Health,
    Drain,
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// No answer for a while, and then all of it.
    Pause,
    /// No answer for a while, and then the connection ends.
    HangAndCut,
    /// Connections end, and new ones are refused.
    Refuse,
}

struct Shut {
    platform: Platform,
    way: FaultyProxy,
    repository: Repository,
    host: String,
    body: Value,
    version: u32,
}

impl Shut {
    /// With a first version that serves.
    async fn begin(name: &str) -> Self {
        let host = std::env::var("DOCKER_HOST").expect("an engine of our own");
        let (way, socket) = FaultyProxy::to_socket(&PathBuf::from(host.trim_start_matches("unix://")));
        let platform = Platform::on(Kind::Sqlite, &["--docker-socket", socket.to_str().expect("a path")]).await;
        let repository = repository(&platform, name, "v1");
        let body = body(name, &repository);
        platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
        platform.settled().await;
        Self { platform, way, repository, host: format!("{name}.localhost"), body, version: 1 }
    }

    /// The way is shut in the middle of a step of the next version's deployment.
    async fn at(&mut self, step: Step, fault: Fault) {
        let before = format!("v{}", self.version);
        self.version += 1;
        let after = format!("v{}", self.version);
        let what = format!("{step:?} {fault:?}");
        let deployment = self.reach(step, &after).await;
        self.way.set(if matches!(fault, Fault::Refuse) { Mode::Refusing } else { Mode::Hanging });
        if matches!(fault, Fault::Refuse) {
            self.way.cut();
        }
        let began = Instant::now();
        while began.elapsed() < SHUT {
            self.answers_meanwhile(&what, &[&before, &after]).await;
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        self.platform.git.go_on();
        if matches!(fault, Fault::HangAndCut) {
            self.way.cut();
        }
        self.way.set(Mode::Open);
        self.platform.deployed(&deployment).await;
        self.platform.settled().await;
        assert_eq!(self.platform.visit(&self.host, "/").await, (200, after), "{what}");
        let application = self.platform.application(&self.application());
        assert_eq!(application["status"]["status"], "running", "{what}: {application}");
        assert_eq!(containers_of(&self.application()).len(), 1, "{what}");
        until("it is ready again", async || {
            (self.platform.try_call("GET", "/health/ready", &Value::Null).0 == 200).then_some(())
        })
        .await;
    }

    fn application(&self) -> String {
        let all = self.platform.call("GET", "/deploy/applications", &Value::Null);
        id_of(&all["applications"][0])
    }

    /// Deploys a version, until it is in the middle of a step.
    async fn reach(&mut self, step: Step, version: &str) -> String {
        let lines = if matches!(step, Step::Build) { "RUN echo begun $((1 + 1)) && sleep 3\n" } else { "" };
        let dockerfile = testapp::dockerfile(&format!("{lines}ENV STEP={version}\n"));
        self.repository.commit(&[("Dockerfile", &dockerfile), ("version", version)], version);
        let delay = if matches!(step, Step::Health) { "4000" } else { "0" };
        self.body["environment_variables"] = json!({ "START_DELAY_MS": delay });
        let command = if matches!(step, Step::PreRun) { "echo before $((20 + 1)) && sleep 3" } else { "" };
        self.body["pre_run_command"] = json!(command);
        if matches!(step, Step::Fetch) {
            self.platform.git.hang();
        }
        if matches!(step, Step::Drain) {
            let (edge, host) = (self.platform.edge().await, self.host.clone());
            tokio::spawn(async move {
                let _ = super::visitor::Visitor::new(edge, &host).get("/slow?ms=6000").await;
            });
            // It is under way before the next version is.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        let requests = self.platform.git.requests();
        let deployment = newest_deployment(&self.platform.deploy(&self.body));
        until(&format!("it is at {step:?}"), async || {
            let arrived = match step {
                Step::Fetch => self.platform.git.requests() > requests,
                Step::Build => self.platform.story(&deployment).contains("begun 2"),
                Step::PreRun => self.platform.story(&deployment).contains("before 21"),
                Step::Health => {
                    let instances = &self.platform.deployment(&deployment)["instances"];
                    instances[0]["container_id"].as_str().is_some_and(|id| !id.is_empty())
                }
                Step::Drain => self.platform.deployment(&deployment)["status"]["status"] == "deployed",
            };
            arrived.then_some(())
        })
        .await;
        deployment
    }

    /// Visitors are served, and the API answers.
    async fn answers_meanwhile(&self, what: &str, versions: &[&str]) {
        let began = Instant::now();
        let application = self.platform.application(&self.application());
        assert!(began.elapsed() < ANSWERED, "{what}: the API took {:?}", began.elapsed());
        let status = application["status"]["status"].as_str().expect("a status");
        assert!(["deploying", "running"].contains(&status), "{what}: {status}");
        let (status, version) = self.platform.visit(&self.host, "/").await;
        assert!(status == 200 && versions.contains(&version.as_str()), "{what}: {status} {version}");
    }
}

/// One fault at some steps; all of them at all steps below.
#[tokio::test(flavor = "multi_thread")]
async fn at_some_steps() {
    let mut shut = Shut::begin("shut").await;
    shut.at(Step::Build, Fault::Refuse).await;
    shut.at(Step::PreRun, Fault::HangAndCut).await;
    shut.at(Step::Health, Fault::Pause).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn at_every_step() {
    let mut shut = Shut::begin("shut").await;
    for fault in [Fault::Pause, Fault::HangAndCut, Fault::Refuse] {
        for step in [Step::Fetch, Step::Build, Step::PreRun, Step::Health, Step::Drain] {
            shut.at(step, fault).await;
        }
    }
}

/// While it serves: readiness tells of an engine that refuses or hangs, visitors notice nothing, and it is ready again by itself.
#[tokio::test(flavor = "multi_thread")]
async fn while_it_serves() {
    let shut = Shut::begin("serving").await;
    for (way, words) in [(Mode::Refusing, "cannot be reached"), (Mode::Hanging, "did not answer within 15 s")] {
        shut.way.set(way);
        if way == Mode::Refusing {
            shut.way.cut();
        }
        let message = until("readiness tells of it", async || {
            shut.answers_meanwhile("serving", &["v1"]).await;
            let (status, answer) = shut.platform.try_call("GET", "/health/ready", &Value::Null);
            (status == 503).then(|| answer["message"].as_str().expect("words").to_owned())
        })
        .await;
        assert!(message.contains("engine") && message.contains(words), "{message}");
        shut.way.set(Mode::Open);
        until("it is ready again", async || {
            (shut.platform.try_call("GET", "/health/ready", &Value::Null).0 == 200).then_some(())
        })
        .await;
    }
}
