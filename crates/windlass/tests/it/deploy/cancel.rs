//! A deployment can be called off at each of its steps, within seconds, and nothing of it remains.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::git::Repository;
use windlass_testing::{Kind, testapp};

use super::crash::no_trace_of_fetching;
use super::crowd::{Crowd, all_answered};
use super::support::*;
use super::visitor::Visitor;

/// How long a deployment may take to end after it was called off.
const LIMIT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn one_that_waits_for_its_turn() {
    let platform = Platform::on(Kind::Sqlite, &["--parallel-deployments", "1"]).await;
    let (first, second) = (repository(&platform, "first", "one"), repository(&platform, "second", "one"));
    platform.git.hang();
    let busy = newest_deployment(&platform.deploy(&body("first", &first)));
    until("the first is under way", async || {
        (platform.deployment(&busy)["status"]["status"] == "cloning").then_some(())
    })
    .await;
    let waiting = newest_deployment(&platform.deploy(&body("second", &second)));
    let answer = platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": waiting }));
    assert_eq!(answer["status"]["status"], "cancelled");
    platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": busy }));
    assert_eq!(platform.ended(&busy).await["status"]["status"], "cancelled");
}

/// Either it was called off, and what was there before serves; or it was too late, and the new one serves.
#[tokio::test(flavor = "multi_thread")]
async fn around_the_switch_and_during_the_drain() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "calm", "v0");
    let body = body("calm", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let crowd = Crowd::come(platform.edge().await, "calm.localhost");
    let mut serving = "v0".to_owned();
    for turn in 1..=6_u32 {
        let version = format!("v{turn}");
        commit(&repository, &version);
        let deployment = newest_deployment(&platform.deploy(&body));
        until("its container starts", async || {
            platform.story(&deployment).contains("Starting container").then_some(())
        })
        .await;
        tokio::time::sleep(turn * Duration::from_millis(80)).await;
        let (status, answer) =
            platform.try_call("POST", "/deploy/application/cancel-deployment", &json!({ "id": deployment }));
        let ended = platform.ended(&deployment).await;
        match ended["status"]["status"].as_str() {
            Some("cancelled") => assert_eq!(status, 200, "{turn}: {answer}"),
            Some("deployed") => {
                assert_eq!(status, 409, "{turn}: {answer}");
                serving = version;
            }
            other => panic!("{turn}: {other:?}"),
        }
        platform.settled().await;
        assert_eq!(platform.visit("calm.localhost", "/").await, (200, serving.clone()), "{turn}");
        assert_eq!(containers_of(&id).len(), 1, "{turn}");
    }

    // What is replaced finishes what it has begun, whatever is asked for.
    let edge = platform.edge().await;
    let slow = tokio::spawn(async move { Visitor::new(edge, "calm.localhost").get("/slow?ms=4000").await });
    commit(&repository, "last");
    let deployment = newest_deployment(&platform.deploy(&body));
    platform.deployed(&deployment).await;
    let (status, answer) =
        platform.try_call("POST", "/deploy/application/cancel-deployment", &json!({ "id": deployment }));
    assert_eq!(status, 409, "{answer}");
    assert_eq!(slow.await.unwrap(), Ok((200, serving)));
    platform.settled().await;
    assert_eq!(platform.visit("calm.localhost", "/").await, (200, "last".into()));
    assert_eq!(containers_of(&id).len(), 1);
    all_answered(&crowd.go().await.0);
}

/// The worker hears of it while it stores the deployment's next state, which is not stored then.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn at_the_instant_of_a_commit() {
    let platform = Platform::on(Kind::Postgres, &[]).await;
    let repository = repository(&platform, "calm", "one");
    let body = body("calm", &repository);
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    platform.settled().await;
    // Each commit takes a second: first the one of the cancel, for which the worker waits, and then the worker's.
    let slow = "create function be_slow() returns trigger language plpgsql as \
                $$ begin perform pg_sleep(1); return new; end $$;
                create trigger slow_entries before insert on audit_entries for each row execute function be_slow();
                create trigger slow_events before insert on events for each row execute function be_slow();";
    platform.place.execute(slow).await;
    for turn in 0..3 {
        let deployment = newest_deployment(&platform.deploy(&body));
        until("it is under way", async || {
            (platform.deployment(&deployment)["status"]["status"] == "cloning").then_some(())
        })
        .await;
        platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": deployment }));
        let asked = Instant::now();
        let ended = platform.ended(&deployment).await;
        assert_eq!(ended["status"]["status"], "cancelled", "{turn}: {}", platform.story(&deployment));
        assert!(asked.elapsed() < 3 * LIMIT, "{turn}: it took {:?}", asked.elapsed());
    }
    platform.settled().await;
    assert_eq!(platform.visit("calm.localhost", "/").await, (200, "one".into()));
}

/// Run by itself: what is called off is removed by the engine, which takes longer beside other tests.
mod timed {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn at_each_step() {
        let platform = Platform::start().await;
        let repository = repository(&platform, "calm", "one");
        let usual = body("calm", &repository);
        let application = platform.deploy(&usual);
        platform.deployed(&newest_deployment(&application)).await;
        platform.settled().await;

        // Fetching: the repository's server does not answer.
        platform.git.hang();
        call_off(&platform, &usual, "Fetching").await;
        platform.git.go_on();

        // Building: a step that takes long.
        commit_with(&repository, "RUN echo building slowly && sleep 300\n");
        call_off(&platform, &usual, "building slowly").await;

        // Before the start: a command that takes long.
        commit_with(&repository, "");
        let mut with_command = usual.clone();
        with_command["pre_run_command"] = json!("echo running slowly; sleep 300");
        call_off(&platform, &with_command, "running slowly").await;

        // Starting: an application that does not listen.
        let mut unhealthy = usual.clone();
        unhealthy["pre_run_command"] = json!("true");
        unhealthy["environment_variables"] = json!({ "START_DELAY_MS": "300000" });
        unhealthy["health_seconds"] = json!(300);
        call_off(&platform, &unhealthy, "Starting container").await;
    }

    fn commit_with(repository: &Repository, line: &str) {
        repository.commit(&[("Dockerfile", &testapp::dockerfile(line)), ("version", "two")], line);
    }

    /// Deploys, waits until a line of the log shows that it has come that far, and cancels.
    async fn call_off(platform: &Platform, body: &Value, sign: &str) {
        let application = platform.deploy(body);
        let (id, deployment) = (id_of(&application), newest_deployment(&application));
        let images = images_of(&id).len();
        until(sign, async || platform.story(&deployment).contains(sign).then_some(())).await;
        let asked = Instant::now();
        platform.call("POST", "/deploy/application/cancel-deployment", &json!({ "id": deployment }));
        let ended = platform.ended(&deployment).await;
        assert_eq!(ended["status"]["status"], "cancelled", "{sign}");
        assert!(asked.elapsed() < LIMIT, "{sign}: it took {:?}", asked.elapsed());
        assert_eq!(containers_of(&id).len(), 1, "{sign}");
        assert!(images_of(&id).len() <= images, "{sign}");
        no_trace_of_fetching(platform, sign);
        no_build_goes_on(sign).await;
        assert_eq!(platform.visit("calm.localhost", "/").await, (200, "one".into()), "{sign}");
        assert_eq!(platform.application(&id)["status"]["status"], "running", "{sign}");
        platform.settled().await;
    }

    async fn no_build_goes_on(when: &str) {
        until(&format!("{when}: the step of the build ends"), async || {
            let mut all = std::fs::read_dir("/proc").unwrap().flatten();
            let sleeps = all.any(|process| {
                std::fs::read(process.path().join("cmdline")).is_ok_and(|text| text.starts_with(b"sleep\x00300"))
            });
            (!sleeps).then_some(())
        })
        .await;
    }
}
