//! A deployment that fails says why, and what was there before goes on serving.

use serde_json::{Value, json};
use windlass_testing::git::Repository;
use windlass_testing::testapp;

use super::support::*;

struct Case {
    what: &'static str,
    files: Vec<(&'static str, String)>,
    changes: Value,
    class: &'static str,
    words: &'static str,
}

fn case(what: &'static str, line: &str, changes: Value, class: &'static str, words: &'static str) -> Case {
    let files = vec![("Dockerfile", testapp::dockerfile(line)), ("version", "bad".to_owned())];
    Case { what, files, changes, class, words }
}

fn cases() -> Vec<Case> {
    let environment =
        |name: &str, value: &str| json!({ "environment_variables": { name: value }, "health_seconds": 2 });
    let mut cases = vec![
        case("no such branch", "", json!({ "branch": "nowhere" }), "reference_not_found", "nowhere"),
        case("no such folder", "", json!({ "base_path": "/web" }), "no_build_pack", "base_path"),
        case("no such file", "", json!({ "dockerfile_path": "Other" }), "no_build_pack", "Other"),
        case("a step that fails", "RUN exit 3", json!({}), "build_failed", "RUN exit 3"),
        case("an end at once", "", environment("EXIT_CODE", "7"), "crashed_at_start", "exit code 7"),
        case("this machine only", "", environment("LISTEN", "127.0.0.1:8080"), "listening_on_loopback", "0.0.0.0"),
        case("another port", "", environment("LISTEN", "0.0.0.0:9999"), "not_listening", "9999"),
        case("no port", "", environment("START_DELAY_MS", "60000"), "not_listening", "no port"),
        case("a bad answer", "", json!({ "health_path": "/nowhere", "health_seconds": 2 }), "unhealthy_answer", "404"),
        case("a failing command", "", json!({ "pre_run_command": "exit 4" }), "pre_run_failed", "exit code 4"),
        case(
            "too much memory",
            "",
            json!({ "environment_variables": { "EAT_MB": "200" }, "memory_mb": 64 }),
            "out_of_memory",
            "memory",
        ),
    ];
    cases.push(Case {
        what: "no such image",
        files: vec![("Dockerfile", "FROM windlass-test/nothing:1\n".to_owned())],
        changes: json!({}),
        class: "build_failed",
        words: "windlass-test/nothing:1",
    });
    cases
}

#[tokio::test(flavor = "multi_thread")]
async fn each_class_has_its_words() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "fragile", "good");
    let usual = body("fragile", &repository);
    let application = platform.deploy(&usual);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    for case in cases() {
        let deployment = fail(&platform, &repository, &usual, &case).await;
        assert_eq!(deployment["failure"], case.class, "{}: {}", case.what, platform.story(&id_of(&deployment)));
        let reason = deployment["reason"].as_str().unwrap();
        assert!(reason.contains(case.words), "{}: {reason}", case.what);
        assert_eq!(platform.visit("fragile.localhost", "/").await, (200, "good".into()), "{}", case.what);
        platform.settled().await;
        assert_eq!(containers_of(&id).len(), 1, "{}", case.what);
        assert_eq!(images_of(&id).len(), 1, "{}", case.what);
        assert_eq!(platform.application(&id)["status"]["status"], "running", "{}", case.what);
    }
}

async fn fail(platform: &Platform, repository: &Repository, usual: &Value, case: &Case) -> Value {
    let files: Vec<(&str, &str)> = case.files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    repository.commit(&files, case.what);
    let mut body = usual.clone();
    let defaults = json!({
        "branch": "main", "base_path": "/", "dockerfile_path": "Dockerfile", "environment_variables": {}, "health_seconds": 60,
        "pre_run_command": "true", "memory_mb": 0,
    });
    for changes in [&defaults, &case.changes] {
        for (name, value) in changes.as_object().unwrap() {
            body[name] = value.clone();
        }
    }
    let deployment = newest_deployment(&platform.deploy(&body));
    let ended = platform.ended(&deployment).await;
    assert_eq!(ended["status"]["status"], "failed", "{}: {}", case.what, platform.story(&deployment));
    ended
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_deployment_that_fails_leaves_a_page() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("never");
    repository.commit(&[("README", "nothing to build")], "one");
    let application = platform.deploy(&body("never", &repository));
    let ended = platform.ended(&newest_deployment(&application)).await;
    assert_eq!(ended["failure"], "no_build_pack");
    assert_eq!(platform.application(&id_of(&application))["status"]["status"], "failed");
    until("the edge says so", async || {
        let (status, page) = platform.visit("never.localhost", "/").await;
        (status == 503 && page.contains("failed")).then_some(())
    })
    .await;
    assert_eq!(containers_of(&id_of(&application)), [""; 0]);
}

/// Of too many lines the last ones are kept, and what Windlass itself has to say.
#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_a_flood_is_kept() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "loud", "one");
    let mut body = body("loud", &repository);
    body["pre_run_command"] = json!("yes abc | head -n 21000; echo the real error; exit 7");
    let deployment = newest_deployment(&platform.deploy(&body));
    let ended = platform.ended(&deployment).await;
    assert_eq!(ended["failure"], "pre_run_failed");
    let story = platform.story(&deployment);
    let last: Vec<_> = story.lines().rev().take(2).collect();
    assert!(last[0].starts_with("Failed: the pre-run command ended with exit code 7"), "{last:?}");
    assert_eq!(last[1], "the real error");
}

/// Without an engine the API works, and what waits says for what.
#[tokio::test(flavor = "multi_thread")]
async fn without_an_engine_deployments_wait_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("engine.sock");
    let platform = Platform::on(windlass_testing::Kind::Sqlite, &["--docker-socket", socket.to_str().unwrap()]).await;
    let repository = repository(&platform, "patient", "one");
    let application = platform.deploy(&body("patient", &repository));
    let deployment = newest_deployment(&application);
    until("it says what it waits for", async || {
        platform.story(&deployment).contains("Waiting for the container engine").then_some(())
    })
    .await;
    assert_eq!(platform.deployment(&deployment)["status"]["status"], "queued");
    let (status, ready) = platform.try_call("GET", "/health/ready", &Value::Null);
    assert_eq!(status, 503);
    assert!(ready["message"].as_str().unwrap().contains("engine unreachable"), "{ready}");
    let host = std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".into());
    std::os::unix::fs::symlink(host.trim_start_matches("unix://"), &socket).unwrap();
    platform.deployed(&deployment).await;
    assert_eq!(platform.try_call("GET", "/health/ready", &Value::Null).0, 200);
}
