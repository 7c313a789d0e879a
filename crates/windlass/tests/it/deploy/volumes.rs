//! What an application writes to a volume stays there, whatever happens to its containers, and one release writes it at a time.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_server::deploy::KILL_POINTS;
use windlass_testing::git::Repository;
use windlass_testing::{Kind, testapp};

use super::crowd::{Crowd, Visit, all_answered};
use super::support::*;

/// An application with one volume at /data.
fn with_volume(name: &str, repository: &Repository) -> Value {
    let mut body = body(name, repository);
    body["volumes"] = json!([{ "name": "data", "path": "/data" }]);
    body
}

/// The same, which writes numbered lines into it all the time.
pub fn writer(name: &str, repository: &Repository) -> Value {
    let mut body = with_volume(name, repository);
    body["environment_variables"] = json!({ "WRITE_TO": "/data", "WRITE_EVERY_MS": "200" });
    body
}

async fn append(platform: &Platform, host: &str, path: &str, text: &str) {
    assert_eq!(platform.visit(host, &format!("/append?{path}={text}")).await, (200, "written".into()));
}

async fn file(platform: &Platform, host: &str, path: &str) -> String {
    let (status, text) = platform.visit(host, &format!("/file?{path}")).await;
    assert_eq!(status, 200, "{path}: {text}");
    text
}

fn volumes_of(id: &str) -> Vec<String> {
    let label = format!("label=windlass.app={id}");
    docker(&["volume", "ls", "-q", "--filter", &label]).lines().map(str::to_owned).collect()
}

/// What a writer has written, as it was seen last.
#[derive(Default)]
pub struct Lines {
    first: String,
    count: usize,
}

impl Lines {
    /// Every line is there, once and in order, none that was seen before is missing, and there was one writer at a time.
    pub async fn check(&mut self, platform: &Platform, host: &str) {
        let (status, violations) = platform.visit(host, "/file?/data/violations").await;
        assert_eq!(status, 404, "two wrote at once: {violations}");
        let text = file(platform, host, "/data/lines").await;
        let numbers = text.lines().map(|line| line.split(' ').next().and_then(|number| number.parse().ok()));
        let numbers: Vec<usize> = numbers.map(|number| number.unwrap_or_else(|| panic!("{text}"))).collect();
        assert_eq!(numbers, (1..=numbers.len()).collect::<Vec<_>>());
        let first = text.lines().next().unwrap_or_default();
        assert!(self.first.is_empty() || self.first == first, "it began anew: {text}");
        assert!(numbers.len() >= self.count, "of {} lines {} are left", self.count, numbers.len());
        (self.first, self.count) = (first.to_owned(), numbers.len());
    }

    /// Waits until there are more.
    pub async fn grow(&mut self, platform: &Platform, host: &str) {
        let before = self.count;
        let deadline = Instant::now() + DEADLINE;
        while self.count <= before {
            assert!(Instant::now() < deadline, "nothing is written any more");
            tokio::time::sleep(Duration::from_millis(20)).await;
            self.check(platform, host).await;
        }
    }
}

async fn redeployed(platform: &Platform, body: &Value) -> Value {
    platform.deployed(&newest_deployment(&platform.deploy(body))).await
}

windlass_testing::on_both_databases!(kind: data_stays);

async fn kind(kind: Kind) -> Kind {
    kind
}

async fn data_stays(kind: Kind) {
    let platform = Platform::on(kind, &[]).await;
    let repository = repository(&platform, "keeper", "v1");
    let body = with_volume("keeper", &repository);
    let application = platform.deploy(&body);
    let (id, host) = (id_of(&application), "keeper.localhost");
    let first = platform.deployed(&newest_deployment(&application)).await;
    assert_eq!((&first["held_ms"], &first["held_requests"]), (&json!(0), &json!(0)), "there was nothing to wait for");
    append(&platform, host, "/data/notes", "one").await;

    commit(&repository, "v2");
    let second = redeployed(&platform, &body).await;
    assert!(second["held_ms"].as_i64().unwrap() > 0, "{second}");
    append(&platform, host, "/data/notes", "two").await;
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 1, "the one that was stopped for it is gone");
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
    platform.deployed(&id_of(&restart)).await;
    append(&platform, host, "/data/notes", "three").await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    platform.settled().await;
    assert_eq!(containers_of(&id), [""; 0]);
    let start = platform.call("POST", "/deploy/application/start", &json!({ "id": id }));
    platform.deployed(&id_of(&start)).await;
    append(&platform, host, "/data/notes", "four").await;
    let back = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first["id"] }));
    platform.deployed(&id_of(&back)).await;
    platform.settled().await;
    docker(&["rm", "-f", &containers_of(&id)[0]]);
    until("it serves again", async || (platform.visit(host, "/").await.1 == "v1").then_some(())).await;
    assert_eq!(file(&platform, host, "/data/notes").await, "one\ntwo\nthree\nfour\n");
    assert_eq!(volumes_of(&id).len(), 1);
    let volume = &platform.application(&id)["volumes"][0];
    assert_eq!((&volume["name"], &volume["path"], &volume["shared"]), (&json!("data"), &json!("/data"), &json!(false)));
    assert!(volume["last_used_at"].is_string(), "{volume}");
}

/// Of a release that never becomes well nothing is left but its reason: the release before serves again, those who waited too.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_never_becomes_well_gives_the_volume_back() {
    // Long enough for a busy engine to stop, start and start again.
    let platform = Platform::on(Kind::Sqlite, &["--hold-seconds", "30"]).await;
    let repository = repository(&platform, "keeper", "good");
    let mut body = writer("keeper", &repository);
    let application = platform.deploy(&body);
    let (id, host) = (id_of(&application), "keeper.localhost");
    platform.deployed(&newest_deployment(&application)).await;
    let mut lines = Lines::default();
    lines.check(&platform, host).await;
    let crowd = Crowd::come(platform.edge().await, host);
    let variables = [
        ("not_listening", json!({ "WRITE_TO": "/data", "LISTEN": "127.0.0.1:1" })),
        ("crashed_at_start", json!({ "WRITE_TO": "/data", "EXIT_CODE": "3" })),
        ("unhealthy_answer", json!({ "WRITE_TO": "/data", "HEALTH_STATUS": "500" })),
    ];
    for (failure, variables) in variables {
        commit(&repository, failure);
        body["environment_variables"] = variables;
        body["health_path"] = json!("/health");
        // The first one is ended by the hold's limit.
        body["health_seconds"] = json!(if failure == "not_listening" { 0 } else { 5 });
        let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
        assert_eq!(ended["failure"], failure, "{ended}");
        assert!(ended["held_ms"].as_i64().unwrap() > 0 && ended["held_requests"].as_i64().unwrap() > 0, "{ended}");
        platform.settled().await;
        assert_eq!(platform.visit(host, "/").await, (200, "good".into()));
        assert_eq!(platform.application(&id)["status"]["status"], "running");
        assert_eq!(containers_of(&id).len(), 1);
        lines.grow(&platform, host).await;
    }
    let (visits, _) = crowd.go().await;
    all_answered(&visits);
    let longest = visits.iter().map(|visit| visit.ended - visit.sent).max().unwrap();
    assert!(longest < Duration::from_secs(30), "a visitor waited for {longest:?}");
}

/// An image's own `VOLUME`s stay too, with what the image has in them, for any user, one in another.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_image_declares_stays() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("declared");
    let lines = "RUN mkdir -p /content/deep && echo from the image > /content/deep/file && chown -R 1234:1234 /content\n\
                 VOLUME /content /data /data/inner\nUSER 1234";
    let commit = |version: &str| {
        repository.commit(&[("Dockerfile", &testapp::dockerfile(lines)), ("version", version)], version)
    };
    commit("v1");
    let body = body("declared", &repository);
    let application = platform.deploy(&body);
    let (id, host) = (id_of(&application), "declared.localhost");
    let first = newest_deployment(&application);
    platform.deployed(&first).await;
    assert!(
        platform.story(&first).contains("The image declares VOLUME /data/inner: made the volume data-inner"),
        "{}",
        platform.story(&first)
    );
    let volumes = platform.application(&id)["volumes"].take();
    let shown: Vec<_> = volumes
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["origin"].as_str().unwrap()))
        .collect();
    assert_eq!(shown, [("content", "image"), ("data", "image"), ("data-inner", "image")]);
    for path in ["/content/deep/file", "/data/file", "/data/inner/file"] {
        append(&platform, host, path, "written").await;
    }
    commit("v2");
    redeployed(&platform, &body).await;
    assert_eq!(file(&platform, host, "/content/deep/file").await, "from the image\nwritten\n");
    for path in ["/data/file", "/data/inner/file"] {
        assert_eq!(file(&platform, host, path).await, "written\n", "{path}");
    }
    assert_eq!(volumes_of(&id).len(), 3);
}

/// More visitors than may wait are told to come again, and only those.
#[tokio::test(flavor = "multi_thread")]
async fn more_than_may_wait_are_told_to_come_again() {
    let platform = Platform::on(Kind::Sqlite, &["--hold-requests", "10"]).await;
    let repository = repository(&platform, "full", "v1");
    let mut body = with_volume("full", &repository);
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    body["environment_variables"] = json!({ "START_DELAY_MS": "3000" });
    let deployment = newest_deployment(&platform.deploy(&body));
    let edge = platform.edge().await;
    until("visitors wait", async || {
        let lines = platform.story(&deployment);
        lines.contains("The containers before have ended").then_some(())
    })
    .await;
    let visits = (0..25)
        .map(|_| tokio::spawn(async move { super::visitor::Visitor::new(edge, "full.localhost").get("/").await }));
    let visits: Vec<_> = visits.collect();
    let (mut answered, mut refused) = (0, 0);
    for visit in visits {
        match visit.await.unwrap().unwrap() {
            (200, _) => answered += 1,
            (503, _) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answered, refused), (10, 15));
    let ended = platform.deployed(&deployment).await;
    assert_eq!(ended["held_requests"], 10, "{ended}");
}

/// A command that needs the data to itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_before_the_run_has_the_data_to_itself() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "moved", "v1");
    let mut body = writer("moved", &repository);
    let application = platform.deploy(&body);
    let host = "moved.localhost";
    platform.deployed(&newest_deployment(&application)).await;
    let crowd = Crowd::come(platform.edge().await, host);
    // A release that still wrote would be seen by it.
    let command =
        "before=$(wc -l < /data/lines); sleep 1; test $before = $(wc -l < /data/lines) && echo migrated >> /data/notes";
    body["pre_run_command"] = json!(command);
    redeployed(&platform, &body).await;
    assert_eq!(file(&platform, host, "/data/notes").await, "migrated\n");
    Lines::default().grow(&platform, host).await;
    all_answered(&crowd.go().await.0);

    // Without a volume it is for the application to say.
    let mut plain = super::support::body("paused", &repository);
    plain["pre_run_command"] = json!("sleep 1");
    let paused = platform.deploy(&plain);
    platform.deployed(&newest_deployment(&paused)).await;
    let beside = redeployed(&platform, &plain).await;
    assert_eq!(beside["held_ms"], 0);
    plain["pause"] = json!(true);
    let crowd = Crowd::come(platform.edge().await, "paused.localhost");
    let held = redeployed(&platform, &plain).await;
    assert!(held["held_ms"].as_i64().unwrap() >= 1000, "{held}");
    all_answered(&crowd.go().await.0);
}

/// The longest that visitors wait, unless a test says otherwise.
const HOLD: Duration = Duration::from_secs(60);

/// Each request was answered with 200, and in time.
fn answered_within(visits: &[Visit], limit: Duration) -> Duration {
    all_answered(visits);
    let longest = visits.iter().map(|visit| visit.ended - visit.sent).max().expect("visits");
    assert!(longest < limit, "a visitor waited for {longest:?}");
    longest
}

/// The server is killed at every step of a held switch. The next one brings the deployment to its end: one writes at a time, no
/// line is lost, and visitors wait no longer than they may.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn the_server_may_die_at_every_step_of_a_held_switch() {
    let held = KILL_POINTS.into_iter().filter(|point| point.starts_with("hold-") || point.starts_with("data-snapshot"));
    let others =
        ["snapshot-begun", "snapshot-written", "deploy-container-started", "deploy-healthy", "deploy-switched"];
    die_in_a_held_switch(Kind::Sqlite, &held.chain(others).collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn the_server_may_die_in_a_held_switch_on_postgres() {
    die_in_a_held_switch(Kind::Postgres, &["hold-published", "hold-stopped", "deploy-switched"]).await;
}

async fn die_in_a_held_switch(kind: Kind, points: &[&str]) {
    let mut platform = Platform::on(kind, &[]).await;
    let repository = repository(&platform, "keeper", "v0");
    let mut body = writer("keeper", &repository);
    body["snapshot_before_deploy"] = json!(true);
    let (application, host) = (platform.deploy(&body), "keeper.localhost");
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let crowd = Crowd::come(platform.edge().await, host);
    let mut lines = Lines::default();
    for &point in points {
        commit(&repository, point);
        die_at(&mut platform, point, &body);
        let deployment = newest_deployment(&platform.application(&id_of(&application)));
        let deployed = platform.deployed(&deployment).await;
        assert!(deployed["held_ms"].as_i64().unwrap() > 0, "{point}: {deployed}");
        assert!(deployed["held_requests"].as_i64().unwrap() > 0, "{point}: {deployed}");
        assert_eq!(platform.visit(host, "/").await, (200, point.to_owned()));
        lines.grow(&platform, host).await;
        platform.settled().await;
        assert_eq!(containers_of(&id_of(&application)).len(), 1, "{point}");
    }
    answered_within(&crowd.go().await.0, HOLD);
}

/// The same while the containers before are started again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn the_server_may_die_while_the_release_before_comes_back() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "good");
    let mut body = writer("keeper", &repository);
    let (application, host) = (platform.deploy(&body), "keeper.localhost");
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let crowd = Crowd::come(platform.edge().await, host);
    body["environment_variables"] = json!({ "WRITE_TO": "/data", "EXIT_CODE": "7" });
    let mut lines = Lines::default();
    for point in KILL_POINTS.into_iter().filter(|point| point.starts_with("resume-") || point.starts_with("end-")) {
        die_at(&mut platform, point, &body);
        let deployment = newest_deployment(&platform.application(&id_of(&application)));
        let ended = platform.ended(&deployment).await;
        assert_eq!(ended["failure"], "crashed_at_start", "{point}: {}", platform.story(&deployment));
        assert_eq!(platform.visit(host, "/").await, (200, "good".to_owned()), "{point}");
        lines.grow(&platform, host).await;
        platform.settled().await;
        assert_eq!(containers_of(&id_of(&application)).len(), 1, "{point}");
        assert_eq!(platform.application(&id_of(&application))["status"]["status"], "running", "{point}");
    }
    answered_within(&crowd.go().await.0, HOLD);
}

fn die_at(platform: &mut Platform, point: &str, body: &Value) {
    platform.kill_server();
    platform.start_server(Some(point));
    platform.ask("POST", "/deploy/application", body);
    platform.wait_for_death();
    platform.start_server(None);
}

/// Takes a snapshot of a volume and waits until it is ready.
async fn snapshot(platform: &Platform, id: &str, volume: &str) -> Value {
    let path = format!("/deploy/application/{id}/volumes/{volume}/snapshots");
    let asked = platform.call("POST", &path, &Value::Null);
    ready(platform, &id_of(&asked)).await
}

async fn ready(platform: &Platform, snapshot: &str) -> Value {
    let ended = ended_snapshot(platform, snapshot).await;
    assert_eq!(ended["state"], "ready", "{ended}");
    ended
}

async fn ended_snapshot(platform: &Platform, snapshot: &str) -> Value {
    until("the snapshot ends", async || {
        let snapshot = platform.call("GET", &format!("/deploy/snapshots/{snapshot}"), &Value::Null);
        (snapshot["state"] != "pending").then_some(snapshot)
    })
    .await
}

async fn restore(platform: &Platform, id: &str, volume: &str, snapshot: &Value) -> Value {
    let path = format!("/deploy/application/{id}/volumes/{volume}/restore");
    let queued = platform.call("POST", &path, &json!({ "snapshot_id": snapshot["id"] }));
    platform.deployed(&id_of(&queued)).await
}

fn snapshot_file(platform: &Platform, snapshot: &Value) -> std::path::PathBuf {
    platform.data_dir().join("snapshots").join(format!("{}.tar", snapshot["id"].as_str().unwrap()))
}

/// What a volume held comes back, into the application that wrote it and into another one, and what it held until then is not lost.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_there_comes_back() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let (body, host) = (writer("keeper", &repository), "keeper.localhost");
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    append(&platform, host, "/data/notes", "one").await;
    let crowd = Crowd::come(platform.edge().await, host);
    let first = snapshot(&platform, &id, "data").await;
    append(&platform, host, "/data/notes", "two").await;
    restore(&platform, &id, "data", &first).await;
    assert_eq!(file(&platform, host, "/data/notes").await, "one\n");
    Lines::default().grow(&platform, host).await;
    answered_within(&crowd.go().await.0, HOLD);

    // The tar is one, and its checksum is what the record says.
    let tar = snapshot_file(&platform, &first);
    let listed = std::process::Command::new("tar").arg("tf").arg(&tar).output().expect("tar starts");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.lines().any(|name| name == "./notes") && listed.starts_with("./\n"), "{listed}");
    let sum = std::process::Command::new("sha256sum").arg(&tar).output().expect("sha256sum starts");
    assert_eq!(first["sha256"].as_str(), String::from_utf8_lossy(&sum.stdout).split(' ').next());
    let path = format!("/deploy/snapshots/{}/download", first["id"].as_str().unwrap());
    let mut download = Vec::new();
    std::io::Read::read_to_end(&mut platform.send("GET", &path), &mut download).expect("a download");
    let begin = download.windows(4).position(|window| window == b"\r\n\r\n").expect("a body") + 4;
    let head = String::from_utf8_lossy(&download[..begin]).to_lowercase();
    assert!(head.contains("application/octet-stream"), "{head}");
    assert_eq!(download[begin..], std::fs::read(&tar).unwrap());

    // What was there before the restore waits to be removed, and can be attached instead.
    let all = platform.call("GET", "/deploy/volumes", &Value::Null);
    let before =
        all["volumes"].as_array().unwrap().iter().find(|volume| volume["deleted_at"].is_string()).unwrap().clone();
    let attach = format!("/deploy/volumes/{}/attach", before["id"].as_str().unwrap());
    platform.call("POST", &attach, &json!({ "application_id": id, "name": "before", "path": "/before" }));
    redeployed(&platform, &body).await;
    assert_eq!(file(&platform, host, "/before/notes").await, "one\ntwo\n");

    let mut other = with_volume("other", &repository);
    other["volumes"] = json!([{ "name": "mine", "path": "/mine" }]);
    let other = platform.deploy(&other);
    platform.deployed(&newest_deployment(&other)).await;
    restore(&platform, &id_of(&other), "mine", &first).await;
    assert_eq!(file(&platform, "other.localhost", "/mine/notes").await, "one\n");

    // A file that is not what was written is noticed, and nothing changes.
    let mut bytes = std::fs::read(&tar).unwrap();
    let place = bytes.windows(4).position(|window| window == b"one\n").expect("what was written");
    bytes[place] = b'O';
    std::fs::write(&tar, bytes).unwrap();
    let path = format!("/deploy/application/{}/volumes/mine/restore", id_of(&other));
    append(&platform, "other.localhost", "/mine/notes", "still-here").await;
    let queued = platform.call("POST", &path, &json!({ "snapshot_id": first["id"] }));
    let ended = platform.ended(&id_of(&queued)).await;
    assert_eq!(ended["failure"], "snapshot_failed", "{ended}");
    assert_eq!(file(&platform, "other.localhost", "/mine/notes").await, "one\nstill-here\n");
    platform.call("DELETE", &format!("/deploy/snapshots/{}", first["id"].as_str().unwrap()), &Value::Null);
    assert!(!tar.exists());
}

/// A rollback can take the data back too.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_takes_the_data_back_if_it_is_asked_to() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let (mut body, host) = (writer("keeper", &repository), "keeper.localhost");
    body["snapshot_before_deploy"] = json!(true);
    body["volumes"][0]["kept_snapshots"] = json!(2);
    let application = platform.deploy(&body);
    let (id, first) = (id_of(&application), newest_deployment(&application));
    platform.deployed(&first).await;
    append(&platform, host, "/data/notes", "by-v1").await;
    assert_eq!(platform.deployment(&first)["can_restore_data"], false);
    let without = platform.try_call("POST", "/deploy/application/rollback", &json!({ "id": first, "with_data": true }));
    assert_eq!((without.0, &without.1["error"]), (409, &json!("release_gone")), "{}", without.1);
    commit(&repository, "v2");
    body["pre_run_command"] = json!("echo ruined by v2 > /data/notes");
    redeployed(&platform, &body).await;
    assert_eq!(file(&platform, host, "/data/notes").await, "ruined by v2\n");
    assert_eq!(platform.deployment(&first)["can_restore_data"], true);
    let back = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first, "with_data": true }));
    platform.deployed(&id_of(&back)).await;
    assert_eq!(platform.visit(host, "/").await.1, "v1");
    assert_eq!(file(&platform, host, "/data/notes").await, "by-v1\n");
    Lines::default().grow(&platform, host).await;
    for version in ["v3", "v4"] {
        commit(&repository, version);
        redeployed(&platform, &body).await;
    }
    platform.settled().await;
    let kept = platform.call("GET", &format!("/deploy/application/{id}/volumes/data/snapshots"), &Value::Null);
    assert_eq!(kept["snapshots"].as_array().unwrap().len(), 2, "{kept}");
    assert_eq!(std::fs::read_dir(platform.data_dir().join("snapshots")).unwrap().count(), 2);
}

/// Whatever interrupts a snapshot or a restore, the next server ends it, and nothing is left over.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn snapshots_and_restores_may_be_interrupted() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let (body, host) = (writer("keeper", &repository), "keeper.localhost");
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    append(&platform, host, "/data/notes", "one").await;
    let crowd = Crowd::come(platform.edge().await, host);
    let path = format!("/deploy/application/{id}/volumes/data");
    for point in KILL_POINTS.into_iter().filter(|point| point.starts_with("snapshot-")) {
        platform.kill_server();
        platform.start_server(Some(point));
        platform.ask("POST", &format!("{path}/snapshots"), &Value::Null);
        platform.wait_for_death();
        platform.start_server(None);
        let newest = platform.call("GET", &format!("{path}/snapshots"), &Value::Null)["snapshots"][0].take();
        let newest = ready(&platform, &id_of(&newest)).await;
        assert!(snapshot_file(&platform, &newest).exists(), "{point}");
        platform.settled().await;
    }
    let all = platform.call("GET", &format!("{path}/snapshots"), &Value::Null);
    let newest = all["snapshots"][0].clone();
    for point in ["data-restore-stored", "data-restored", "deploy-container-started", "deploy-switched"] {
        append(&platform, host, "/data/notes", point).await;
        platform.kill_server();
        platform.start_server(Some(point));
        platform.ask("POST", &format!("{path}/restore"), &json!({ "snapshot_id": newest["id"] }));
        platform.wait_for_death();
        platform.start_server(None);
        platform.deployed(&newest_deployment(&platform.application(&id))).await;
        assert_eq!(file(&platform, host, "/data/notes").await, "one\n", "{point}");
        Lines::default().grow(&platform, host).await;
        platform.settled().await;
    }
    answered_within(&crowd.go().await.0, HOLD);
    assert_eq!(std::fs::read_dir(platform.data_dir().join("snapshots")).unwrap().count(), 3);
    until("helpers are gone", async || {
        docker(&[
            "ps",
            "-aq",
            "--filter",
            "label=windlass.purpose=helper",
            "--filter",
            &format!("label=windlass.app={id}"),
        ])
        .is_empty()
        .then_some(())
    })
    .await;
}

/// Commands of the application instead of a pause, a schedule, and what is not kept.
#[tokio::test(flavor = "multi_thread")]
async fn snapshots_come_by_themselves() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let mut body = with_volume("keeper", &repository);
    body["volumes"][0]["before_snapshot"] = json!("echo whole > /data/state");
    body["volumes"][0]["after_snapshot"] = json!("echo going on > /data/state");
    body["volumes"][0]["kept_snapshots"] = json!(1);
    let (application, host) = (platform.deploy(&body), "keeper.localhost");
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let asked = snapshot(&platform, &id, "data").await;
    let state =
        std::process::Command::new("tar").args(["xOf"]).arg(snapshot_file(&platform, &asked)).arg("./state").output();
    assert_eq!(String::from_utf8_lossy(&state.expect("tar starts").stdout), "whole\n");
    assert_eq!(file(&platform, host, "/data/state").await, "going on\n");
    let path = format!("/deploy/application/{id}/volumes/data");
    platform.call("PUT", &path, &json!({ "after_snapshot": "echo not again >&2; exit 5" }));
    let remarked = snapshot(&platform, &id, "data").await;
    assert!(remarked["reason"].as_str().unwrap().contains("exit code 5: not again"), "{remarked}");
    platform.call("DELETE", &format!("/deploy/snapshots/{}", id_of(&remarked)), &Value::Null);
    body["volumes"][0]["before_snapshot"] = json!("echo no >&2; exit 4");
    platform.call("PUT", "/deploy/application", &json!({ "id": id, "volumes": body["volumes"] }));
    let failed = platform.call("POST", &format!("{path}/snapshots"), &Value::Null);
    let failed = ended_snapshot(&platform, &id_of(&failed)).await;
    assert_eq!(failed["state"], "failed");
    assert!(failed["reason"].as_str().unwrap().contains("exit code 4: no"), "{failed}");
    platform.call("PUT", &path, &json!({ "before_snapshot": "", "after_snapshot": "", "snapshot_hours": 1 }));
    for _ in 0..2 {
        let db = platform.database().await;
        let mut tx = db.begin().await.unwrap();
        let volume = windlass_store::volumes::by_name(&mut tx, id.parse().unwrap(), "data").await.unwrap().unwrap();
        let due = windlass_api::Timestamp::from_micros(1);
        assert!(volume.next_snapshot_at.is_some());
        windlass_store::volumes::set_next_snapshot(&mut tx, volume.id, Some(due)).await.unwrap();
        tx.commit().await.unwrap();
        db.close().await;
        until("the next is planned", async || {
            let volume = platform.application(&id)["volumes"][0].take();
            (!volume["next_snapshot_at"].as_str()?.starts_with("1970")).then_some(())
        })
        .await;
        platform.settled().await;
    }
    // What is beyond those that are kept goes when the job is over already.
    let expected = [("schedule", "ready"), ("user", "failed"), ("user", "ready")];
    until("only the newest of the schedule is kept", async || {
        let all = platform.call("GET", &format!("{path}/snapshots"), &Value::Null);
        let found = all["snapshots"].as_array()?.iter();
        found
            .map(|one| (one["origin"].as_str(), one["state"].as_str()))
            .eq(expected.map(|(a, b)| (Some(a), Some(b))))
            .then_some(())
    })
    .await;
}

/// Volumes stay when their application goes, and can be brought to another one; those that are named go when their time is over.
#[tokio::test(flavor = "multi_thread")]
async fn volumes_outlive_their_application_unless_they_are_named() {
    let platform = Platform::on(Kind::Sqlite, &["--volume-grace-hours", "0"]).await;
    let repository = repository(&platform, "keeper", "v1");
    let mut body = with_volume("keeper", &repository);
    body["volumes"] = json!([{ "name": "data", "path": "/data" }, { "name": "junk", "path": "/junk" }]);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    append(&platform, "keeper.localhost", "/data/notes", "one").await;
    let delete = |volumes: Value| json!({ "id": id, "name": "keeper", "volumes": volumes });
    let (status, answer) = platform.try_call("DELETE", "/deploy/application", &delete(json!(["junk", "none"])));
    assert_eq!(status, 400, "{answer}");
    assert_eq!(platform.application(&id)["volumes"].as_array().unwrap().len(), 2, "nothing was deleted");
    platform.call("DELETE", "/deploy/application", &delete(json!(["junk"])));
    until("it is gone", async || {
        (platform.try_call("GET", &format!("/deploy/application?id={id}"), &Value::Null).0 == 404).then_some(())
    })
    .await;
    until("the named one goes", async || (volumes_of(&id).len() == 1).then_some(())).await;
    let all = platform.call("GET", "/deploy/volumes", &Value::Null);
    let kept = &all["volumes"][0];
    assert_eq!(
        (&kept["name"], &kept["application_id"], &kept["application_name"]),
        (&json!("data"), &Value::Null, &json!("keeper"))
    );

    let second = platform.deploy(&super::support::body("second", &repository));
    platform.deployed(&newest_deployment(&second)).await;
    let attach = format!("/deploy/volumes/{}/attach", kept["id"].as_str().unwrap());
    platform.call("POST", &attach, &json!({ "application_id": second["id"] }));
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": second["id"] }));
    platform.deployed(&id_of(&restart)).await;
    assert_eq!(file(&platform, "second.localhost", "/data/notes").await, "one\n");
    let path = format!("/deploy/application/{}/volumes/data", id_of(&second));
    platform.call("DELETE", &path, &Value::Null);
    // A container that has it keeps it, so no other application may write it.
    let third = platform.deploy(&super::support::body("third", &repository));
    platform.deployed(&newest_deployment(&third)).await;
    let (status, answer) = platform.try_call("POST", &attach, &json!({ "application_id": third["id"] }));
    assert_eq!(status, 409, "{answer}");
    assert_eq!(file(&platform, "second.localhost", "/data/notes").await, "one\n");
    let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": second["id"] }));
    platform.deployed(&id_of(&restart)).await;
    until("it goes with the last container that has it", async || volumes_of(&id).is_empty().then_some(())).await;
    assert_eq!(platform.visit("second.localhost", "/file?/data/notes").await.0, 404);
}

/// Two that share a volume are replaced without a hold, and several instances of one that does not share it are refused.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_shared_needs_no_hold() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "shared", "v1");
    let mut body = with_volume("shared", &repository);
    body["replicas"] = json!(2);
    let (status, answer) = platform.try_call("POST", "/deploy/application", &body);
    assert_eq!(status, 400, "{answer}");
    assert!(
        answer["message"].as_str().unwrap().starts_with("replicas: 2 instances would write the volume data"),
        "{answer}"
    );
    body["volumes"][0]["shared"] = json!(true);
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    append(&platform, "shared.localhost", "/data/notes", "one").await;
    commit(&repository, "v2");
    let second = redeployed(&platform, &body).await;
    assert_eq!(second["held_ms"], 0);
    assert_eq!(file(&platform, "shared.localhost", "/data/notes").await, "one\n");
    // What an image declares is refused too.
    let lines = "VOLUME /declared";
    repository.commit(&[("Dockerfile", &testapp::dockerfile(lines)), ("version", "v3")], "v3");
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "volume_unusable", "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("2 instances would write the volume declared"), "{ended}");
    assert_eq!(platform.visit("shared.localhost", "/").await.1, "v2");
}

/// A volume that another program has removed is not replaced by an empty one behind its user's back.
#[tokio::test(flavor = "multi_thread")]
async fn a_volume_that_vanished_is_not_made_anew() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let body = with_volume("keeper", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    append(&platform, "keeper.localhost", "/data/notes", "one").await;
    let taken = snapshot(&platform, &id, "data").await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    platform.settled().await;
    docker(&["volume", "rm", &volumes_of(&id)[0]]);
    let start = platform.call("POST", "/deploy/application/start", &json!({ "id": id }));
    let ended = platform.ended(&id_of(&start)).await;
    assert_eq!(ended["failure"], "volume_unusable", "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("no longer has the volume data"), "{ended}");
    restore(&platform, &id, "data", &taken).await;
    assert_eq!(file(&platform, "keeper.localhost", "/data/notes").await, "one\n");
}

/// A folder of the machine, for an organization that may use it.
#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_the_machine_is_written_to_and_never_removed() {
    let platform = Platform::on(Kind::Sqlite, &["--volume-grace-hours", "0"]).await;
    let repository = repository(&platform, "keeper", "v1");
    let folder = tempfile::tempdir().unwrap();
    let mut body = body("keeper", &repository);
    body["volumes"] = json!([{ "name": "files", "path": "/files", "host_path": folder.path() }]);
    body["snapshot_before_deploy"] = json!(true);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    append(&platform, "keeper.localhost", "/files/notes", "one").await;
    let second = redeployed(&platform, &body).await;
    assert!(second["held_ms"].as_i64().unwrap() > 0, "one writer at a time, here too: {second}");
    let all = platform.call("GET", "/deploy/snapshots", &Value::Null);
    assert_eq!(all["snapshots"], json!([]), "what cannot be restored is not kept for a rollback");
    let taken = snapshot(&platform, &id, "files").await;
    assert!(taken["size_bytes"].as_i64().unwrap() > 1000, "{taken}");
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "keeper", "volumes": ["files"] }));
    until("its row is gone", async || {
        platform.call("GET", "/deploy/volumes", &Value::Null)["volumes"].as_array()?.is_empty().then_some(())
    })
    .await;
    assert_eq!(std::fs::read_to_string(folder.path().join("notes")).unwrap(), "one\n");
    body["name"] = json!("missing");
    body["volumes"][0]["host_path"] = json!("/no/such/folder");
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "engine_refused", "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("/no/such/folder"), "{ended}");
}

/// A disk that is full ends a snapshot with a reason, and nothing of it is left; the application goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_ends_a_snapshot_only() {
    let disk = windlass_testing::small_disk::SmallDisk::mount("16m");
    let folder = disk.path.join("snapshots");
    let platform = Platform::on(Kind::Sqlite, &["--snapshot-dir", folder.to_str().unwrap()]).await;
    let repository = repository(&platform, "keeper", "v1");
    let mut body = writer("keeper", &repository);
    body["pre_run_command"] = json!("test -e /data/large || dd if=/dev/zero of=/data/large bs=1M count=24");
    let (application, host) = (platform.deploy(&body), "keeper.localhost");
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let asked = platform.call("POST", &format!("/deploy/application/{id}/volumes/data/snapshots"), &Value::Null);
    let ended = ended_snapshot(&platform, &id_of(&asked)).await;
    assert_eq!(ended["state"], "failed", "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("No space left"), "{ended}");
    until("nothing is left of it", async || (std::fs::read_dir(&folder).unwrap().count() == 0).then_some(())).await;
    // A deployment that was to take one fails, and what was live serves again.
    body["snapshot_before_deploy"] = json!(true);
    commit(&repository, "v2");
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "disk_full", "{ended}");
    platform.settled().await;
    assert_eq!(platform.visit(host, "/").await, (200, "v1".into()));
    Lines::default().grow(&platform, host).await;
}

/// A line every 200 ms through everything that can happen to an application, at some hundred requests a second.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_writer_goes_on_through_everything() {
    const ROUNDS: usize = 20;
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v0");
    let (mut body, host) = (writer("keeper", &repository), "keeper.localhost");
    body["kept_releases"] = json!(30);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let (began, crowd) = (Instant::now(), Crowd::come(platform.edge().await, host));
    let (mut releases, mut lines) = (Vec::new(), Lines::default());
    for turn in 1..=ROUNDS {
        commit(&repository, &format!("v{turn}"));
        let deployment = newest_deployment(&platform.deploy(&body));
        if turn % 6 == 3 {
            platform.kill_server();
            platform.start_server(None);
        }
        releases.push(id_of(&platform.deployed(&deployment).await));
        lines.check(&platform, host).await;
    }
    for turn in 0..ROUNDS / 4 {
        let back = platform.call(
            "POST",
            "/deploy/application/rollback",
            &json!({ "id": releases[turn * 3 % releases.len()] }),
        );
        platform.deployed(&id_of(&back)).await;
        let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
        platform.deployed(&id_of(&restart)).await;
        lines.check(&platform, host).await;
    }
    let (visits, time) = crowd.go().await;
    let longest = answered_within(&visits, HOLD);
    lines.grow(&platform, host).await;
    assert!(lines.first.ends_with(" v0"), "{}", lines.first);
    let rate = visits.len() as f64 / time.as_secs_f64();
    assert!(rate >= 50.0, "only {rate:.0} requests a second");
    println!(
        "{} lines and {} visits in {:?}; the longest visit took {longest:?}",
        lines.count,
        visits.len(),
        began.elapsed()
    );
    platform.settled().await;
    assert_eq!(volumes_of(&id).len(), 1);
}

/// Whatever a user asks for while visitors wait, one release serves in the end, and no line is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_may_be_called_off() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let (mut body, host) = (writer("keeper", &repository), "keeper.localhost");
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let mut lines = Lines::default();
    lines.check(&platform, host).await;
    let slow = json!({ "WRITE_TO": "/data", "WRITE_EVERY_MS": "200", "START_DELAY_MS": "20000" });
    let quick = body["environment_variables"].clone();
    let crowd = Crowd::come(platform.edge().await, host);

    body["environment_variables"] = slow.clone();
    let cancelled = held_deployment(&platform, &body).await;
    platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": cancelled }));
    assert_eq!(platform.ended(&cancelled).await["status"]["status"], "cancelled");
    assert_eq!(platform.visit(host, "/").await, (200, "v1".into()));
    lines.grow(&platform, host).await;

    // One that is asked for behind it waits, and has its turn.
    let first = held_deployment(&platform, &body).await;
    body["environment_variables"] = quick;
    commit(&repository, "v2");
    let second = newest_deployment(&platform.deploy(&body));
    platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": first }));
    platform.deployed(&second).await;
    assert_eq!(platform.visit(host, "/").await, (200, "v2".into()));
    lines.grow(&platform, host).await;
    answered_within(&crowd.go().await.0, HOLD);

    body["environment_variables"] = slow;
    let stopped = held_deployment(&platform, &body).await;
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    assert_eq!(platform.ended(&stopped).await["status"]["status"], "cancelled");
    platform.settled().await;
    assert_eq!(containers_of(&id), [""; 0]);
    assert_eq!(platform.application(&id)["status"]["status"], "stopped");
    let start = platform.call("POST", "/deploy/application/start", &json!({ "id": id }));
    platform.deployed(&id_of(&start)).await;
    lines.grow(&platform, host).await;
}

/// A deployment for which visitors wait.
async fn held_deployment(platform: &Platform, body: &Value) -> String {
    let deployment = newest_deployment(&platform.deploy(body));
    until("visitors wait for it", async || {
        platform.story(&deployment).contains("The containers before have ended").then_some(())
    })
    .await;
    deployment
}

/// Visitors wait and no job is left that sees to it: the reconciler notices.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_without_a_job_ends() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "keeper", "v1");
    let (body, host) = (writer("keeper", &repository), "keeper.localhost");
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let mut lines = Lines::default();
    lines.check(&platform, host).await;
    die_at(&mut platform, "hold-stopped", &body);
    platform.kill_server();
    let db = platform.database().await;
    let mut tx = db.begin().await.unwrap();
    windlass_store::jobs::keep_only(&mut tx, "none").await.unwrap();
    tx.commit().await.unwrap();
    db.close().await;
    platform.start_server(None);
    until("it serves again", async || (platform.visit(host, "/").await == (200, "v1".into())).then_some(())).await;
    lines.grow(&platform, host).await;
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 1);
}
