//! The machine's clock is set forward and back by an hour while a deployment is under way.

use std::path::PathBuf;

use serde_json::Value;
use windlass_testing::faulty_proxy::{FaultyProxy, Mode};
use windlass_testing::{DatabaseLocation, Kind, testapp};

use super::support::*;
use crate::clock::Clock;

/// Ids of the deployments, newest first.
fn listed(platform: &Platform, application: &str) -> Vec<String> {
    let deployments = platform.application(application)["deployments"].clone();
    deployments.as_array().expect("deployments").iter().map(id_of).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn forward_and_back() {
    let clock = Clock::new();
    let engine = std::env::var("DOCKER_HOST").expect("an engine of our own");
    let (way, socket) = FaultyProxy::to_socket(&PathBuf::from(engine.trim_start_matches("unix://")));
    let place = DatabaseLocation::fresh(Kind::Sqlite).await;
    let arguments = ["--docker-socket", socket.to_str().expect("a path")];
    let mut platform = Platform::in_environment(place, &arguments, &clock.environment()).await;
    let repository = platform.git.repository("punctual");
    let body = body("punctual", &repository);
    let mut ids: Vec<String> = Vec::new();
    let mut application = String::new();
    for (version, offset) in [("v1", 0), ("v2", 3_600), ("v3", 0), ("v4", -3_600)] {
        let dockerfile = testapp::dockerfile(&format!("RUN echo begun $((1 + 1)) && sleep 2\nENV IS={version}\n"));
        repository.commit(&[("Dockerfile", &dockerfile), ("version", version)], version);
        let deployed = platform.deploy(&body);
        application = id_of(&deployed);
        let deployment = newest_deployment(&deployed);
        ids.insert(0, deployment.clone());
        assert_eq!(listed(&platform, &application), ids, "{version} is the newest");
        until("it builds", async || platform.story(&deployment).contains("begun 2").then_some(())).await;
        // It is put back to be tried again in some seconds, by a clock that is then another.
        way.set(Mode::Refusing);
        way.cut();
        until("it waits", async || platform.story(&deployment).contains("Interrupted").then_some(())).await;
        clock.set(offset);
        platform.log_in();
        way.set(Mode::Open);
        platform.deployed(&deployment).await;
        platform.settled().await;
        assert_eq!(platform.visit("punctual.localhost", "/").await, (200, version.to_owned()));
    }
    // The same after a restart of the server, which knows nothing of the time before.
    platform.kill_server();
    platform.start_server(None);
    platform.log_in();
    let restart = platform.call("POST", "/deploy/application/restart", &serde_json::json!({ "id": application }));
    platform.deployed(&id_of(&restart)).await;
    ids.insert(0, id_of(&restart));
    assert_eq!(listed(&platform, &application), ids, "the restart is the newest");
    assert_eq!(platform.try_call("GET", "/health/ready", &Value::Null).0, 200);
}
