//! The engine is killed or stopped during a deployment, and comes back.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use windlass_testing::testapp;

use super::crowd::{Crowd, all_answered};
use super::support::*;
use super::volumes;

/// Set where the engine, or the database, is this test's alone.
const ALONE: &str = "WINDLASS_TEST_ENGINE_ALONE";
/// How long an engine may take to end: it waits for its containers.
const ENGINES_END: Duration = Duration::from_secs(60);

/// Runs the test by itself, with an engine that no other test uses. True where that is the case already.
pub fn is_alone(test: &str) -> bool {
    is_alone_with("with-engine", test)
}

/// The same with the one that another script starts.
pub fn is_alone_with(script: &str, test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts").join(script);
    let program = std::env::current_exe().expect("this program");
    let test = format!("deploy::{test}");
    let output =
        Command::new(script).arg(program).args(["--exact", &test, "--include-ignored"]).env(ALONE, "1").output();
    let output = output.expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// The engine as `scripts/with-engine` started it, or as this test did since.
struct PrivateEngine {
    command: Vec<String>,
    pid: Pid,
    child: Option<Child>,
}

impl PrivateEngine {
    fn find() -> Self {
        let host = std::env::var("DOCKER_HOST").expect("an engine of our own");
        let socket = PathBuf::from(host.trim_start_matches("unix://"));
        let pid = std::fs::read_to_string(socket.with_file_name("docker.pid")).expect("its number");
        let pid = pid.trim().parse().expect("a number");
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).expect("its command");
        let command = command.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        let command = command.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
        Self { command, pid: Pid::from_raw(pid).expect("a process"), child: None }
    }

    fn end(&mut self, signal: Signal) {
        kill_process(self.pid, signal).expect("the engine runs");
        let deadline = Instant::now() + ENGINES_END;
        while self.is_running() {
            assert!(Instant::now() < deadline, "the engine does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// One that has ended and that its parent has not asked for yet is a zombie.
    fn is_running(&mut self) -> bool {
        if let Some(child) = &mut self.child {
            return child.try_wait().expect("a status").is_none();
        }
        let state = std::fs::read_to_string(format!("/proc/{}/stat", self.pid.as_raw_nonzero())).unwrap_or_default();
        !matches!(state.rsplit(") ").next().and_then(|rest| rest.chars().next()), None | Some('Z'))
    }

    async fn start(&mut self) {
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("the engine starts");
        self.pid = Pid::from_child(&child);
        self.child = Some(child);
        until("the engine answers", async || {
            let answered = Command::new("docker").arg("version").output().expect("docker starts");
            answered.status.success().then_some(())
        })
        .await;
    }
}

fn lines_with(platform: &Platform, deployment: &str, words: &str) -> usize {
    platform.story(deployment).lines().filter(|line| line.contains(words)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn during_a_build() {
    if !is_alone("engine_lost::during_a_build") {
        return;
    }
    for (name, signal) in [("killed", Signal::KILL), ("stopped", Signal::TERM)] {
        let (platform, mut engine) = (Platform::start().await, PrivateEngine::find());
        let repository = platform.git.repository(name);
        let text = testapp::dockerfile(&format!("RUN echo begun {name}; sleep 5"));
        repository.commit(&[("Dockerfile", &text), ("version", "one")], "one");
        let deployment = newest_deployment(&platform.deploy(&body(name, &repository)));
        until("it builds", async || (lines_with(&platform, &deployment, "begun") > 1).then_some(())).await;
        engine.end(signal);
        until("it waits", async || {
            (lines_with(&platform, &deployment, "Interrupted: the container engine") > 0).then_some(())
        })
        .await;
        engine.start().await;
        platform.deployed(&deployment).await;
        assert_eq!(platform.visit(&format!("{name}.localhost"), "/").await, (200, "one".to_owned()), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn during_a_wait_for_health() {
    if !is_alone("engine_lost::during_a_wait_for_health") {
        return;
    }
    for (name, signal) in [("killed", Signal::KILL), ("stopped", Signal::TERM)] {
        let (platform, mut engine) = (Platform::start().await, PrivateEngine::find());
        let mut body = body(name, &repository(&platform, name, "one"));
        body["environment_variables"] = json!({ "START_DELAY_MS": "6000" });
        let application = platform.deploy(&body);
        let deployment = newest_deployment(&application);
        let label = format!("label=windlass.app={}", id_of(&application));
        until("it runs", async || (!docker(&["ps", "-q", "--filter", &label]).is_empty()).then_some(())).await;
        engine.end(signal);
        engine.start().await;
        platform.deployed(&deployment).await;
        assert!(lines_with(&platform, &deployment, "Interrupted: the container engine") > 0, "{name}");
        assert_eq!(platform.visit(&format!("{name}.localhost"), "/").await, (200, "one".to_owned()), "{name}");
    }
}

/// A build that ends its engine each time is not tried forever.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn during_each_try() {
    if !is_alone("engine_lost::during_each_try") {
        return;
    }
    let (platform, mut engine) = (Platform::start().await, PrivateEngine::find());
    let repository = platform.git.repository("deadly");
    let text = testapp::dockerfile("RUN echo begun; sleep 41415");
    repository.commit(&[("Dockerfile", &text), ("version", "one")], "one");
    let deployment = newest_deployment(&platform.deploy(&body("deadly", &repository)));
    let is_over = || platform.deployment(&deployment)["status"]["status"] == "failed";
    let mut kills = 0;
    while !is_over() {
        until("it builds again, or is over", async || {
            (is_over() || lines_with(&platform, &deployment, "sleep 41415") > kills).then_some(())
        })
        .await;
        if !is_over() {
            kills = lines_with(&platform, &deployment, "sleep 41415");
            engine.end(Signal::KILL);
            engine.start().await;
        }
        assert!(kills < 20, "it is tried forever");
    }
    let ended = platform.deployment(&deployment);
    assert_eq!(ended["failure"], "engine_unreachable", "{}", platform.story(&deployment));
    assert!(ended["reason"].as_str().expect("a reason").contains("5 times"), "{ended}");
}

/// What an application has written is there after an engine restart. Where the engine leaves containers running meanwhile
/// (`live-restore`), no visitor notices.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn with_a_writer_on_a_volume() {
    if !is_alone("engine_lost::with_a_writer_on_a_volume") {
        return;
    }
    let mut engine = PrivateEngine::find();
    engine.command.push("--live-restore".to_owned());
    engine.end(Signal::TERM);
    engine.start().await;
    let platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let (body, host) = (volumes::writer("keeper", &repository), "keeper.localhost");
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let mut lines = volumes::Lines::default();
    lines.check(&platform, host).await;
    let crowd = Crowd::come(platform.edge().await, host);
    engine.end(Signal::TERM);
    engine.start().await;
    commit(&repository, "v2");
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    all_answered(&crowd.go().await.0);
    lines.grow(&platform, host).await;
    platform.settled().await;

    // Without it the containers end with the engine, and are started again.
    engine.command.pop();
    for signal in [Signal::TERM, Signal::KILL] {
        engine.end(signal);
        engine.start().await;
        until("it serves again", async || (platform.visit(host, "/").await == (200, "v2".into())).then_some(())).await;
        lines.grow(&platform, host).await;
    }
    // In the middle of a held switch.
    commit(&repository, "v3");
    let deployment = newest_deployment(&platform.deploy(&body));
    until("visitors wait", async || (lines_with(&platform, &deployment, "Visitors wait") > 0).then_some(())).await;
    engine.end(Signal::KILL);
    engine.start().await;
    let ended = platform.ended(&deployment).await;
    let version = if ended["status"]["status"] == "deployed" { "v3" } else { "v2" };
    until("one of them serves", async || (platform.visit(host, "/").await == (200, version.into())).then_some(()))
        .await;
    lines.grow(&platform, host).await;
}
