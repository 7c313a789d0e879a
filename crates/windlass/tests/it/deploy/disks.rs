//! Disks that are full or read-only, and a server that has no file descriptors left: clear words, nothing lost, and no help needed
//! once it is over.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::git::Repository;
use windlass_testing::small_disk::SmallDisk;
use windlass_testing::{DatabaseLocation, Kind, testapp};

use super::support::*;
use crate::process::windlass;

const BUILT_SLOWLY: &str = "RUN echo begun $((1 + 1)) && sleep 3\n";

fn commit_slow(repository: &Repository, version: &str) {
    let dockerfile = testapp::dockerfile(&format!("{BUILT_SLOWLY}ENV VERSION_IS={version}\n"));
    repository.commit(&[("Dockerfile", &dockerfile), ("version", version)], version);
}

async fn building(platform: &Platform, deployment: &str) {
    until("it builds", async || platform.story(deployment).contains("begun 2").then_some(())).await;
}

async fn until_ready(platform: &Platform) {
    until("it is ready again", async || {
        (platform.try_call("GET", "/health/ready", &Value::Null).0 == 200).then_some(())
    })
    .await;
}

/// What readiness says once it says no.
async fn unready(platform: &Platform) -> String {
    until("readiness tells of it", async || {
        let (status, answer) = platform.try_call("GET", "/health/ready", &Value::Null);
        (status == 503).then(|| answer["message"].as_str().expect("words").to_owned())
    })
    .await
}

/// With the rows in PostgreSQL and the data folder on a disk of its own, and a first version that serves.
async fn with_files_on(folder: tempfile::TempDir, name: &str) -> (Platform, Repository, Value) {
    let url = DatabaseLocation::fresh(Kind::Postgres).await.url;
    let platform = Platform::at(DatabaseLocation { folder, url }, &[]).await;
    let repository = repository(&platform, name, "v1");
    let body = body(name, &repository);
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    platform.settled().await;
    (platform, repository, body)
}

/// A tree finds no room, and neither does the edge's table of routes.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_data_folder() {
    let disk = SmallDisk::mount("48m");
    let folder = tempfile::tempdir_in(&disk.path).expect("a folder");
    let (platform, repository, body) = with_files_on(folder, "roomy").await;
    disk.fill(0);
    let message = unready(&platform).await;
    assert!(message.contains("data_folder") && message.contains("the disk is full"), "{message}");
    commit(&repository, "v2");
    let application = platform.deploy(&body);
    let ended = platform.ended(&newest_deployment(&application)).await;
    assert_eq!(ended["failure"], "disk_full", "{ended}");
    // This one needs no tree, but a route to another container. The fetch has left some room.
    let ballast = disk.fill(0);
    let restart = id_of(&platform.call("POST", "/deploy/application/restart", &json!({ "id": id_of(&application) })));
    let serves = async || assert_eq!(platform.visit("roomy.localhost", "/").await, (200, "v1".into()));
    until("it is told what is in the way", async || {
        serves().await;
        platform.story(&restart).contains("the route file cannot be written").then_some(())
    })
    .await;
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(3) {
        serves().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let state = platform.deployment(&restart)["status"]["status"].clone();
    assert_eq!(state, "deploying", "{}", platform.story(&restart));
    std::fs::remove_file(ballast).expect("room");
    platform.deployed(&restart).await;
    until_ready(&platform).await;
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(platform.visit("roomy.localhost", "/").await, (200, "v2".into()));
}

/// With SQLite nothing can be stored at all: the deployment waits, and goes on by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_in_the_middle_of_a_build() {
    let disk = SmallDisk::mount("96m");
    let folder = tempfile::tempdir_in(&disk.path).expect("a folder");
    let platform = Platform::at(DatabaseLocation { folder, url: None }, &[]).await;
    let repository = repository(&platform, "tight", "v1");
    let body = body("tight", &repository);
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    platform.settled().await;
    commit_slow(&repository, "v2");
    let deployment = newest_deployment(&platform.deploy(&body));
    building(&platform, &deployment).await;
    let ballast = disk.fill(0);
    assert!(unready(&platform).await.contains("full"));
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(6) {
        assert_eq!(platform.visit("tight.localhost", "/").await, (200, "v1".into()));
        assert_eq!(platform.deployment(&deployment)["id"], deployment.as_str());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    std::fs::remove_file(ballast).expect("room");
    platform.deployed(&deployment).await;
    platform.settled().await;
    until_ready(&platform).await;
    assert_eq!(platform.visit("tight.localhost", "/").await, (200, "v2".into()));
}

/// A folder whose files can be read only, until the value goes.
struct ReadOnly<'a>(&'a Path);

impl<'a> ReadOnly<'a> {
    fn make(folder: &'a Path) -> Self {
        run("mount", &["--bind"], &[folder, folder]);
        run("mount", &["-o", "remount,bind,ro"], &[folder]);
        Self(folder)
    }
}

impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        run("umount", &["--lazy"], &[self.0]);
    }
}

fn run(program: &str, options: &[&str], paths: &[&Path]) {
    let status = Command::new(program).args(options).args(paths).status().expect("it starts");
    assert!(status.success(), "{program} {options:?} {paths:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_data_folder() {
    let (mut platform, repository, body) = with_files_on(tempfile::tempdir().expect("a folder"), "fixed").await;
    let data_dir = platform.data_dir();
    let read_only = ReadOnly::make(&data_dir);
    let message = unready(&platform).await;
    assert!(message.contains("data_folder") && message.contains("read-only"), "{message}");
    commit(&repository, "v2");
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!((&ended["status"]["status"], &ended["failure"]), (&json!("failed"), &json!("internal")), "{ended}");
    assert!(ended["reason"].as_str().is_some_and(|words| words.to_lowercase().contains("read-only")), "{ended}");
    assert_eq!(platform.visit("fixed.localhost", "/").await, (200, "v1".into()));
    drop(read_only);
    until_ready(&platform).await;
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(platform.visit("fixed.localhost", "/").await, (200, "v2".into()));
    platform.settled().await;
    // A server that starts says what is wrong; visitors are served by the edge.
    platform.kill_server();
    let read_only = ReadOnly::make(&data_dir);
    let url = platform.place.url.clone().expect("an address");
    let mut command = windlass();
    command.args([
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--edge-http",
        "127.0.0.1:0",
        "--edge-https",
        "127.0.0.1:0",
        "--data-dir",
    ]);
    let output = command.arg(&data_dir).args(["--database-url", &url]).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && said.contains("Read-only file system"), "{said}");
    assert!(said.contains(data_dir.to_str().expect("a path")), "{said}");
    assert_eq!(platform.visit("fixed.localhost", "/").await, (200, "v2".into()));
    drop(read_only);
    platform.start_server(None);
    until_ready(&platform).await;
}

/// Processor time that a process has used.
fn used(process: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).expect("it lives");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let ticks: u64 = [11, 12].iter().filter_map(|index| fields.get(*index)?.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

fn limit_files(process: u32, most: &str) {
    let (process, most) = (format!("--pid={process}"), format!("--nofile={most}"));
    let status = Command::new("prlimit").args([process, most]).status().expect("prlimit starts");
    assert!(status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_descriptors_left() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "frugal", "v1");
    let body = body("frugal", &repository);
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    platform.settled().await;
    commit_slow(&repository, "v2");
    let deployment = newest_deployment(&platform.deploy(&body));
    building(&platform, &deployment).await;
    let (process, began) = (platform.process().id(), Instant::now());
    limit_files(process, "16:");
    let used_before = used(process);
    while began.elapsed() < Duration::from_secs(5) {
        assert_eq!(platform.visit("frugal.localhost", "/").await, (200, "v1".into()));
        // It is not answered, and must end nothing.
        if let Ok(mut stream) = TcpStream::connect(&platform.process().address) {
            stream.set_read_timeout(Some(Duration::from_millis(200))).expect("a time limit");
            let _ = stream.write_all(b"GET /api/v1/health HTTP/1.1\r\nhost: localhost\r\n\r\n");
            let _ = stream.read(&mut [0; 64]);
        }
    }
    let busy = used(process).saturating_sub(used_before);
    assert!(busy < Duration::from_secs(2), "it used {busy:?} of 5 s to wait");
    limit_files(process, "4096:");
    until("the API answers again", async || {
        (platform.try_call("GET", "/health/ready", &Value::Null).0 == 200).then_some(())
    })
    .await;
    let ended = platform.ended(&deployment).await;
    if ended["status"]["status"] != "deployed" {
        assert!(ended["reason"].as_str().is_some_and(|words| !words.is_empty()), "{ended}");
        assert_eq!(platform.visit("frugal.localhost", "/").await, (200, "v1".into()));
        platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    }
    platform.settled().await;
    assert_eq!(platform.visit("frugal.localhost", "/").await, (200, "v2".into()));
}
