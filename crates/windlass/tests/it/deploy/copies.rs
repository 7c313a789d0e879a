//! A copy of an installation beside the one that it was made of, on one engine: as when a restore is rehearsed.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use super::support::*;
use super::visitor::Visitor;
use crate::process::{Process, run, windlass};

/// As an operator makes it.
fn copy_of(platform: &Platform) -> PathBuf {
    let copy = platform.place.folder.path().join("copy");
    let copied = Command::new("cp").arg("-r").arg(platform.data_dir()).arg(&copy).status().unwrap();
    assert!(copied.success());
    copy
}

fn adopt(data_dir: &Path, arguments: &[&str]) -> (bool, String) {
    let output = run(windlass().arg("adopt").args(arguments).arg("--data-dir").arg(data_dir));
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

fn readiness(server: &Process) -> String {
    server.request("GET", "/health/ready", "", "")
}

/// Two versions of an application, and a copy of the folder from in between.
async fn copied() -> (Platform, String, PathBuf) {
    let platform = Platform::start().await;
    let repository = repository(&platform, "twice", "one");
    let application = platform.deploy(&body("twice", &repository));
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let copy = copy_of(&platform);
    commit(&repository, "two");
    platform.deployed(&newest_deployment(&platform.deploy(&body("twice", &repository)))).await;
    platform.settled().await;
    (platform, id_of(&application), copy)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_only_reads_and_touches_nothing_of_the_original() {
    let (platform, application, copy) = copied().await;
    let before = containers_of(&application);
    let second = Process::serve(&copy, &[]);
    let line = second.wait_for("another installation holds the containers");
    assert!(line.contains(platform.data_dir().to_str().unwrap()), "{line}");
    assert!(readiness(&second).contains("windlass adopt"), "{}", readiness(&second));
    // What it knows can be read; nothing can be changed.
    let told = second.ok("GET", &format!("/deploy/application?id={application}"), platform.token(), "");
    assert_eq!(told["data"]["name"], "twice");
    let restart = format!(r#"{{"id":"{application}"}}"#);
    let refused = second.request("POST", "/deploy/application/restart", platform.token(), &restart);
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains(r#""error":"read_only""#), "{refused}");
    assert!(second.login("correct horse").starts_with("HTTP/1.1 200"), "a person who wants to look can log in");
    // Its reconciler has had time for several passes: it would have removed the container that its rows do not know.
    let mut visitor = Visitor::new(platform.edge().await, "twice.localhost");
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(8);
    while std::time::Instant::now() < deadline {
        assert_eq!(visitor.get("/").await, Ok((200, "two".into())));
    }
    assert_eq!(containers_of(&application), before);
    // A second proof that it is the copy which gives way, and not both.
    platform.call("POST", "/deploy/application/restart", &serde_json::json!({ "id": application }));
    let (adopted, words) = adopt(&copy, &[]);
    assert!(!adopted && words.contains("in use by another Windlass server"), "{words}");
    // Even if the mark vanishes, it is the original that puts it back.
    docker(&["volume", "rm", &format!("windlass-{}", platform.instance)]);
    until("the mark is back", async || {
        docker(&["volume", "ls", "-q", "--filter", "name=windlass-"]).contains(&platform.instance).then_some(())
    })
    .await;
    assert!(readiness(&second).contains("windlass adopt"), "{}", readiness(&second));
    drop(second);
    let (adopted, words) = adopt(&copy, &[]);
    assert!(!adopted && words.contains("is running") && words.contains("windlass stop"), "{words}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_folder_takes_the_place_of_the_one_that_it_was_made_of() {
    let (mut platform, application, copy) = copied().await;
    platform.process().signal(Signal::TERM);
    platform.wait_for_end();
    crate::process::end_edge(&platform.data_dir());
    let (adopted, words) = adopt(&copy, &[]);
    assert!(adopted && words.contains("holds the containers now"), "{words}");
    assert_eq!(adopt(&copy, &[]), (true, "This installation holds its containers already.\n".into()));
    let second = Process::serve(&copy, &[]);
    // Its rows know only of the first version, which is what it brings back.
    until("the copy serves what it knows", async || {
        let answer = Visitor::new(edge_of(&copy).await, "twice.localhost").get("/").await;
        (answer == Ok((200, "one".into()))).then_some(())
    })
    .await;
    // The original finds out, and leaves everything as it is.
    let first = Process::serve(&platform.data_dir(), &[]);
    first.wait_for("another installation holds the containers");
    until("one container is left", async || (containers_of(&application).len() == 1).then_some(())).await;
    assert_eq!(second.ok("GET", "/health/ready", "", "")["status"], "success");
    drop((first, second));
}

/// From a backup, where the original was: the path is the same, the folder is not.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_is_restored_in_its_old_place_goes_on_once_it_is_adopted() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "back", "one");
    let application = platform.deploy(&body("back", &repository));
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    platform.process().signal(Signal::TERM);
    platform.wait_for_end();
    crate::process::end_edge(&platform.data_dir());
    let before = containers_of(&id_of(&application));
    let backup = copy_of(&platform);
    std::fs::remove_dir_all(platform.data_dir()).unwrap();
    assert!(Command::new("cp").arg("-r").arg(&backup).arg(platform.data_dir()).status().unwrap().success());
    platform.start_server(None);
    platform.process().wait_for("another installation holds the containers");
    platform.process().signal(Signal::TERM);
    platform.wait_for_end();
    let (adopted, words) = adopt(&platform.data_dir(), &[]);
    assert!(adopted && words.contains("holds the containers now"), "{words}");
    let (renewed, words) = adopt(&platform.data_dir(), &["--new"]);
    assert!(!renewed && words.contains("would leave them behind"), "{words}");
    platform.start_server(None);
    until("it serves", async || (platform.visit("back.localhost", "/").await == (200, "one".into())).then_some(()))
        .await;
    assert_eq!(containers_of(&id_of(&application)), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_can_become_an_installation_of_its_own() {
    let (platform, application, copy) = copied().await;
    let before = containers_of(&application);
    let (adopted, words) = adopt(&copy, &["--new"]);
    assert!(adopted && words.contains("an installation of its own"), "{words}");
    let second = Process::serve(&copy, &[]);
    until("it is ready", async || readiness(&second).starts_with("HTTP/1.1 200").then_some(())).await;
    let told = second.ok("GET", &format!("/deploy/application?id={application}"), platform.token(), "");
    assert_eq!(told["data"]["status"]["status"], "stopped");
    let redeploy = format!(r#"{{"id":"{application}"}}"#);
    second.ok("POST", "/deploy/application/redeploy", platform.token(), &redeploy);
    until("both serve, each its own", async || {
        let answer = Visitor::new(edge_of(&copy).await, "twice.localhost").get("/").await;
        (answer == Ok((200, "two".into()))).then_some(())
    })
    .await;
    assert_eq!(platform.visit("twice.localhost", "/").await, (200, "two".into()));
    let now = containers_of(&application);
    assert!(before.iter().all(|name| now.contains(name)), "{before:?} {now:?}");
    assert_eq!(now.len(), 2);
    assert_eq!(instances_of(&application).len(), 2);
    let verified = run(windlass().args(["audit", "verify", "--data-dir"]).arg(&copy));
    assert!(verified.status.success());
    // What the platform does not know of is taken away here.
    second.ok("POST", "/deploy/application/stop", platform.token(), &redeploy);
    until("it has stopped", async || (containers_of(&application) == before).then_some(())).await;
    let stopped = format!("/deploy/application/logs/{application}?search_term=Stopped");
    until("the stop leaves a line", async || {
        let story = second.ok("GET", &stopped, platform.token(), "");
        (!matches!(&story["data"]["logs"], Value::Array(lines) if lines.is_empty())).then_some(())
    })
    .await;
}

fn instances_of(application: &str) -> std::collections::BTreeSet<String> {
    let label = format!("label=windlass.app={application}");
    let format = "{{.Label \"windlass.instance\"}}";
    docker(&["ps", "-a", "--filter", &label, "--format", format]).lines().map(str::to_owned).collect()
}
