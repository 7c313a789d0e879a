//! An image's own health check: run at once and again and again, told of when it fails, and waited for beside
//! everything else.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::git::Repository;
use windlass_testing::{Kind, testapp};

use super::support::*;

/// The engine looks for the first time after so long, unless an image says otherwise.
const ENGINES_INTERVAL: Duration = Duration::from_secs(30);

/// A repository whose image has these lines.
fn repository_with(platform: &Platform, name: &str, lines: &str) -> Repository {
    let repository = platform.git.repository(name);
    repository.commit(&[("Dockerfile", &testapp::dockerfile(lines)), ("version", "one")], "one");
    repository
}

fn reason(deployment: &Value) -> &str {
    deployment["reason"].as_str().expect("a reason")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_is_not_waited_for_longer_than_it_takes() {
    let platform = Platform::start().await;
    // Takes connections at once, and is well a moment later.
    let lines = "HEALTHCHECK CMD test $(cut -d. -f1 /proc/uptime) -gt $(cat /tmp/ready)\n\
                 ENTRYPOINT [\"sh\", \"-c\", \"echo $(($(cut -d. -f1 /proc/uptime) + 3)) > /tmp/ready; exec /testapp\"]";
    let repository = repository_with(&platform, "slow", lines);
    let deployment = newest_deployment(&platform.deploy(&body("slow", &repository)));
    until("it is started", async || platform.story(&deployment).contains("Starting container").then_some(())).await;
    let began = Instant::now();
    platform.deployed(&deployment).await;
    assert!(began.elapsed() >= Duration::from_secs(2), "its check was not asked");
    assert!(began.elapsed() < ENGINES_INTERVAL - Duration::from_secs(5), "{}", platform.story(&deployment));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_fails_says_what_it_printed() {
    let platform = Platform::start().await;
    let lines =
        "HEALTHCHECK CMD printf '\\033[31mstarting\\n\\ncurl: not found, %s\\033[0m\\n' \"$PASSWORD\" && exit 7";
    let repository = repository_with(&platform, "failing", lines);
    let mut body = body("failing", &repository);
    body["environment_variables"] = json!({ "PASSWORD": "correct horse battery" });
    body["secret_names"] = json!(["PASSWORD"]);
    body["health_seconds"] = json!(3);
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "unhealthy_answer", "{ended}");
    let words = "the image's health check fails with exit code 7: starting; curl: not found, ********, for 3 s";
    assert!(reason(&ended).starts_with(words), "{}", reason(&ended));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_that_hangs_runs_once_at_a_time() {
    let platform = Platform::start().await;
    let repository = repository_with(&platform, "hanging", "HEALTHCHECK --timeout=1s CMD sleep 41414");
    let mut body = body("hanging", &repository);
    body["health_seconds"] = json!(6);
    let deployment = newest_deployment(&platform.deploy(&body));
    let mut most = 0;
    let ended = until("the deployment ends", async || {
        most = most.max(processes_of("sleep 41414"));
        let deployment = platform.deployment(&deployment);
        (deployment["status"]["status"] == "failed").then_some(deployment)
    })
    .await;
    assert_eq!(most, 1);
    assert!(reason(&ended).contains("the image's health check took more than 1 s"), "{}", reason(&ended));
}

/// How many processes have exactly this command line.
fn processes_of(words: &str) -> usize {
    let commands = std::fs::read_dir("/proc").expect("processes").flatten();
    let commands = commands.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands.filter(|command| String::from_utf8_lossy(command).replace('\0', " ").trim() == words).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_health_keeps_no_build_waiting() {
    let platform = Platform::on(Kind::Sqlite, &["--parallel-deployments", "1"]).await;
    let mut waiting = Vec::new();
    for name in ["never", "ever"] {
        let mut body = body(name, &repository_with(&platform, name, "HEALTHCHECK CMD false"));
        body["health_seconds"] = json!(300);
        waiting.push(newest_deployment(&platform.deploy(&body)));
    }
    let quick = newest_deployment(&platform.deploy(&body("quick", &repository(&platform, "quick", "one"))));
    platform.deployed(&quick).await;
    for deployment in &waiting {
        assert_eq!(platform.deployment(deployment)["status"]["status"], "deploying", "{}", platform.story(deployment));
        platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": deployment }));
        platform.ended(deployment).await;
    }
}
