//! PostgreSQL is restarted, or does not answer, in the middle of a deployment. Nothing that was answered is lost, and the deployment goes on.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::faulty_proxy::{FaultyProxy, Mode};
use windlass_testing::{DatabaseLocation, Kind, testapp};

use super::engine_lost::is_alone_with;
use super::support::*;

/// How long the database is away.
const AWAY: Duration = Duration::from_secs(4);
/// The longest that the API may take, which is `request-seconds` and a little.
const ANSWERED: Duration = Duration::from_secs(15);

/// A database with a way to it that can be shut.
async fn behind_a_way() -> (FaultyProxy, DatabaseLocation) {
    let place = DatabaseLocation::fresh(Kind::Postgres).await;
    let url = place.url.clone().expect("an address");
    let (_, rest) = url.split_once('@').expect("a user");
    let (server, _) = rest.split_once('/').expect("a database");
    let (way, begins) = FaultyProxy::to_address(server.parse().expect("an address"));
    let url = url.replacen(server, &begins.to_string(), 1);
    (way, DatabaseLocation { folder: place.folder, url: Some(url) })
}

/// As an operator restarts it, and as a crash does.
#[tokio::test(flavor = "multi_thread")]
async fn a_restart_in_the_middle_of_a_deployment() {
    if !is_alone_with("with-postgres", "database_lost::a_restart_in_the_middle_of_a_deployment") {
        return;
    }
    let platform = Platform::on(Kind::Postgres, &[]).await;
    let folder = std::env::var("TEST_POSTGRES_DATA").expect("a server of its own");
    let repository = platform.git.repository("restarted");
    let mut application = Value::Null;
    for (version, mode) in [("v1", "fast"), ("v2", "immediate")] {
        let dockerfile = testapp::dockerfile(&format!("RUN echo begun {version} $((1 + 1)) && sleep 2"));
        repository.commit(&[("Dockerfile", &dockerfile), ("version", version)], version);
        application = platform.deploy(&body("restarted", &repository));
        let deployment = newest_deployment(&application);
        let begun = format!("begun {version} 2");
        until("it has begun", async || platform.story(&deployment).contains(&begun).then_some(())).await;
        restart_postgres(&folder, mode);
        until("it has ended", async || {
            let (status, found) =
                platform.try_call("GET", &format!("/deploy/application/deployments/{deployment}"), &Value::Null);
            assert!(status == 200 || status == 503, "{mode}: {status} {found}");
            (found["data"]["status"]["status"] == "deployed").then_some(())
        })
        .await;
        platform.settled().await;
        assert_eq!(platform.visit("restarted.localhost", "/").await, (200, version.to_owned()));
    }
    assert_eq!(containers_of(&id_of(&application)).len(), 1);
}

/// The server that `scripts/with-postgres` has started, with the same options.
fn restart_postgres(folder: &str, mode: &str) {
    let postgres = std::fs::read_to_string(format!("{folder}/postmaster.opts")).expect("how it was started");
    let bin = std::path::Path::new(postgres.split(' ').next().expect("a program")).parent().expect("a folder");
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]).arg(bin.join("pg_ctl"));
    command.args(["-D", folder, "-m", mode, "-w", "-l", &format!("{folder}/log"), "restart"]);
    let output = command.current_dir("/").output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn in_the_middle_of_a_deployment() {
    let (way, place) = behind_a_way().await;
    let platform = Platform::at(place, &["--request-seconds", "10"]).await;
    let repository = platform.git.repository("steadfast");
    let commit = |version: &str, line: &str| {
        let dockerfile = testapp::dockerfile(&format!("{line}ENV VERSION_IS={version}\n"));
        repository.commit(&[("Dockerfile", &dockerfile), ("version", version)], version);
    };
    commit("v1", "");
    let mut body = body("steadfast", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let sleep = "RUN echo begun $((1 + 1)) && sleep 2\n";
    for (version, away, line, command) in [
        ("v2", Mode::Refusing, sleep, ""),
        ("v3", Mode::Refusing, "", "echo begun $((1 + 1)) && sleep 2"),
        ("v4", Mode::Hanging, sleep, ""),
    ] {
        let before = platform.visit("steadfast.localhost", "/").await.1;
        commit(version, line);
        body["pre_run_command"] = json!(command);
        let deployment = newest_deployment(&platform.deploy(&body));
        until("it has begun", async || platform.story(&deployment).contains("begun 2").then_some(())).await;
        way.set(away);
        way.cut();
        let began = Instant::now();
        while began.elapsed() < AWAY {
            let (status, served) = platform.visit("steadfast.localhost", "/").await;
            assert!(status == 200 && served == before, "{version}: {status} {served}");
            let asked = Instant::now();
            let (status, answer) = platform.try_call("GET", &format!("/deploy/application?id={id}"), &Value::Null);
            assert!(status == 503 && asked.elapsed() < ANSWERED, "{version}: {status} {:?} {answer}", asked.elapsed());
            let (status, answer) = platform.try_call("GET", "/health/ready", &Value::Null);
            assert!(status == 503 && answer["message"].as_str().is_some_and(|words| words.contains("database")));
        }
        way.cut();
        way.set(Mode::Open);
        until("the API answers again", async || {
            let (status, _) = platform.try_call("GET", &format!("/deploy/application?id={id}"), &Value::Null);
            (status == 200).then_some(())
        })
        .await;
        platform.deployed(&deployment).await;
        platform.settled().await;
        assert_eq!(platform.visit("steadfast.localhost", "/").await, (200, version.to_owned()));
        assert_eq!(containers_of(&id).len(), 1, "{version}");
        let story = platform.story(&deployment);
        let runs = story.lines().filter(|line| *line == "begun 2").count();
        assert!(command.is_empty() || runs == 1, "the command ran {runs} times: {story}");
    }
}
