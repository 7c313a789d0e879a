//! Data: how long visitors wait for a held switch, beside a stop and a start by hand; a snapshot and a restore of a gigabyte, beside
//! `tar` and `sync` by hand on the same volume.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::testapp;

use crate::deploy::{Platform, commit, docker, median};
use crate::http;

const ROUNDS: usize = 7;
const COPIES: usize = 3;
const MIB: u64 = 1024;
/// How long the application takes to start.
const START_MS: u64 = 500;
const DEADLINE: Duration = Duration::from_secs(300);

#[tokio::main]
pub async fn measure() {
    testapp::base_image().await;
    let platform = Platform::start(&[]);
    let repository = platform.repository("data");
    commit(&repository, "first");
    let body = json!({
        "name": "data", "repository": repository.url(), "stop_seconds": 10, "volumes": [{ "name": "data", "path": "/data" }],
        "environment_variables": { "START_DELAY_MS": START_MS.to_string() },
    });
    let application = platform.caller.post("/deploy/application", &body);
    platform.until_served("data.localhost", "first");
    let id = application["id"].as_str().expect("an id").to_owned();
    let report = json!({ "held_switch": held_switch(&platform, &id), "copies": copies(&platform, &id) });
    let text = serde_json::to_string_pretty(&report).expect("JSON");
    std::fs::create_dir_all("bench/results").expect("a folder");
    std::fs::write("bench/results/data.json", &text).expect("a file");
    println!("{text}");
}

/// Seconds that visitors waited for a restart, and for `docker stop` and `docker start` until the first answer.
fn held_switch(platform: &Platform, id: &str) -> Value {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let restart = platform.caller.post("/deploy/application/restart", &json!({ "id": id }));
        let ended = ended(platform, restart["id"].as_str().expect("an id"));
        rounds.push((ended["held_ms"].as_f64().expect("a time") / 1000.0, by_hand()));
    }
    let held = median(rounds.iter().map(|round| round.0).collect());
    let by_hand = median(rounds.iter().map(|round| round.1).collect());
    json!({ "median_held_s": held, "median_by_hand_s": by_hand, "application_starts_in_s": START_MS as f64 / 1000.0 })
}

fn ended(platform: &Platform, deployment: &str) -> Value {
    let until = Instant::now() + DEADLINE;
    loop {
        let shown = platform.caller.get(&format!("/deploy/application/deployments/{deployment}"));
        if shown["status"]["status"] == "deployed" {
            return shown;
        }
        assert!(shown["failure"] == "" && Instant::now() < until, "{shown}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn by_hand() -> f64 {
    let variable = format!("START_DELAY_MS={START_MS}");
    docker(&["run", "--detach", "--init", "--name", "hand", "--env", &variable, testapp::IMAGE, "/testapp"]);
    let address = || docker(&["inspect", "--format", "{{.NetworkSettings.IPAddress}}", "hand"]);
    until_answered(&address());
    let began = Instant::now();
    docker(&["stop", "hand"]);
    docker(&["start", "hand"]);
    until_answered(&address());
    let time = began.elapsed().as_secs_f64();
    docker(&["rm", "--force", "hand"]);
    time
}

fn until_answered(address: &str) {
    let until = Instant::now() + DEADLINE;
    while http::get(&format!("{address}:8080"), "localhost", "/").is_none() {
        assert!(Instant::now() < until, "it does not answer");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// MiB a second: a snapshot and `tar cf` with `sync` of the same folder, a restore and `tar xf`.
fn copies(platform: &Platform, id: &str) -> Value {
    let label = format!("label=windlass.app={id}");
    let volume = docker(&["volume", "ls", "--quiet", "--filter", &label]);
    let folder =
        docker(&["volume", "inspect", "--format", "{{.Mountpoint}}", volume.lines().next().expect("a volume")]);
    fill(Path::new(&folder));
    let place = tempfile::tempdir().expect("a temporary folder");
    let (tar, unpacked) = (place.path().join("by-hand.tar"), place.path().join("unpacked"));
    let mut rounds = Vec::new();
    for _ in 0..COPIES {
        let packing = timed(|| {
            run(Command::new("tar").arg("cf").arg(&tar).arg("-C").arg(&folder).arg("."));
            // A snapshot is on the disk when it is ready.
            run(Command::new("sync").arg(&tar));
        });
        std::fs::create_dir_all(&unpacked).expect("a folder");
        let unpacking = timed(|| run(Command::new("tar").arg("xf").arg(&tar).arg("-C").arg(&unpacked)));
        std::fs::remove_dir_all(&unpacked).expect("a folder");
        std::fs::remove_file(&tar).expect("a file");
        let path = format!("/deploy/application/{id}/volumes/data");
        let asked = platform.caller.post(&format!("{path}/snapshots"), &Value::Null);
        let snapshot = asked["id"].as_str().expect("an id").to_owned();
        let taking = timed(|| until_ready(platform, &snapshot));
        let restore = platform.caller.post(&format!("{path}/restore"), &json!({ "snapshot_id": snapshot }));
        let restoring = timed(|| ended(platform, restore["id"].as_str().expect("an id")));
        platform.caller.delete(&format!("/deploy/snapshots/{snapshot}"));
        rounds.push([packing, taking, unpacking, restoring]);
    }
    let speed = |index: usize| MIB as f64 / median(rounds.iter().map(|round| round[index]).collect());
    json!({
        "tar_cf_mib_s": speed(0), "snapshot_mib_s": speed(1), "snapshot_ratio": speed(1) / speed(0),
        "tar_xf_mib_s": speed(2), "restore_mib_s": speed(3), "restore_ratio": speed(3) / speed(2),
    })
}

/// Half of it in one file, half in many.
fn fill(folder: &Path) {
    let piece = vec![7_u8; 1 << 20];
    let large: Vec<u8> = piece.repeat(usize::try_from(MIB / 2).expect("a size"));
    std::fs::write(folder.join("large"), large).expect("a file");
    for number in 0..MIB / 2 {
        std::fs::write(folder.join(format!("small-{number}")), &piece).expect("a file");
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64()
}

fn run(command: &mut Command) {
    assert!(command.status().expect("it starts").success(), "{command:?}");
}

fn until_ready(platform: &Platform, snapshot: &str) {
    let until = Instant::now() + DEADLINE;
    loop {
        let shown = platform.caller.get(&format!("/deploy/snapshots/{snapshot}"));
        if shown["state"] == "ready" {
            return;
        }
        assert!(shown["state"] == "pending" && Instant::now() < until, "{shown}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
