//! PostgreSQL is restarted, or does not answer, in the middle of a deployment. Nothing that was answered is lost, and the deployment goes on.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::faulty_way::{FaultyWay, Way};
use windlass_testing::{DatabaseLocation, Kind, testapp};

use super::support::*;

/// How long the database is away.
const AWAY: Duration = Duration::from_secs(4);
/// The longest that the API may take, which is `request-seconds` and a little.
const ANSWERED: Duration = Duration::from_secs(15);

/// A database with a way to it that can be shut.
async fn behind_a_way() -> (FaultyWay, DatabaseLocation) {
    let place = DatabaseLocation::fresh(Kind::Postgres).await;
    let url = place.url.clone().expect("an address");
    let (_, rest) = url.split_once('@').expect("a user");
    let (server, _) = rest.split_once('/').expect("a database");
    let (way, begins) = FaultyWay::to_address(server.parse().expect("an address"));
    let url = url.replacen(server, &begins.to_string(), 1);
    (way, DatabaseLocation { folder: place.folder, url: Some(url) })
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
        ("v2", Way::Refusing, sleep, ""),
        ("v3", Way::Refusing, "", "echo begun $((1 + 1)) && sleep 2"),
        ("v4", Way::Hanging, sleep, ""),
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
        way.set(Way::Open);
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
