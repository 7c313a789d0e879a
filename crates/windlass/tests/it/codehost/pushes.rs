//! From a push to served traffic, whatever happens on the way.

use std::io::Read;

use serde_json::{Value, json};
use windlass_server::service::deliveries::KILL_POINTS;
use windlass_testing::Kind;
use windlass_testing::deliveries::{Sample, sample};
use windlass_testing::git::Repository;

use crate::deploy::support::*;

/// What a code host sends when the repository's branch was pushed to.
fn push(repository: &Repository, before: &str, after: &str) -> Sample {
    let mut sample = sample("gitea", "push-branch").with_id(after);
    sample.body["repository"]["clone_url"] = json!(repository.url());
    (sample.body["before"], sample.body["after"]) = (json!(before), json!(after));
    sample.body["head_commit"]["id"] = json!(after);
    sample.body["ref"] = json!(format!("refs/heads/{}", repository.default_branch()));
    sample
}

fn secret(platform: &Platform, id: &str) -> String {
    let webhook = platform.call("GET", &format!("/deploy/application/{id}/webhook"), &Value::Null);
    webhook["secret"].as_str().unwrap().to_owned()
}

/// The answer's status, and what it says; nothing if the server died.
fn deliver(platform: &Platform, sample: &Sample, secret: &str) -> String {
    let bytes = sample.bytes();
    let mut stream = platform.process().send_with("POST", "/webhook", &sample.signed(secret, &bytes), &bytes);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// Those that a push has queued, newest first.
fn pushed(platform: &Platform, id: &str) -> Vec<Value> {
    let application = platform.application(id);
    let all = application["deployments"].as_array().unwrap().iter();
    all.filter(|deployment| deployment["triggered_by"] == "push").cloned().collect()
}

async fn serves(platform: &Platform, host: &str, version: &str) {
    until(&format!("{version} is served"), async || {
        (platform.visit(host, "/").await == (200, version.to_owned())).then_some(())
    })
    .await;
}

/// Between verdict and deployment, and right after both: the code host sends it again, and there is exactly one deployment.
async fn survives_a_crash(kind: Kind) {
    let mut platform = Platform::on(kind, &[]).await;
    let repository = platform.git.repository("shop");
    let mut last = commit(&repository, "first");
    let application = platform.deploy(&body("shop", &repository));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let secret = secret(&platform, &id);
    for (number, point) in KILL_POINTS.into_iter().enumerate() {
        let next = commit(&repository, point);
        let sample = push(&repository, &last, &next);
        platform.kill_server();
        platform.start_server(Some(point));
        assert_eq!(deliver(&platform, &sample, &secret), "", "{point}: it died before it answered");
        platform.wait_for_death();
        platform.start_server(None);
        let answer = deliver(&platform, &sample, &secret);
        assert!(answer.starts_with("HTTP/1.1 200"), "{point}: {answer}");
        serves(&platform, "shop.localhost", point).await;
        let deployments = pushed(&platform, &id);
        assert_eq!(deployments.len(), number + 1, "{point}: {deployments:?}");
        assert_eq!(platform.deployed(&id_of(&deployments[0])).await["commit_hash"], json!(next), "{point}");
        platform.settled().await;
        last = next;
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_crash_makes_no_push_count_twice_or_never_on_sqlite() {
    survives_a_crash(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_makes_no_push_count_twice_or_never_on_postgres() {
    survives_a_crash(Kind::Postgres).await;
}

/// Whichever order the code host reports them in.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_commit_is_what_serves_in_the_end() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("shop");
    let first = commit(&repository, "first");
    let mut body = body("shop", &repository);
    body["environment_variables"] = json!({ "START_DELAY_MS": "3000" });
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let secret = secret(&platform, &id);
    let second = commit(&repository, "second");
    deliver(&platform, &push(&repository, &first, &second), &secret);
    let under_way = id_of(&pushed(&platform, &id)[0]);
    until("it is under way", async || {
        (platform.deployment(&under_way)["status"]["status"] == "deploying").then_some(())
    })
    .await;
    let third = commit(&repository, "third");
    let fourth = commit(&repository, "fourth");
    let fifth = commit(&repository, "fifth");
    for sample in
        [push(&repository, &fourth, &fifth), push(&repository, &second, &third), push(&repository, &third, &fourth)]
    {
        let answer = deliver(&platform, &sample, &secret);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    for deployment in pushed(&platform, &id) {
        platform.ended(&id_of(&deployment)).await;
    }
    serves(&platform, "shop.localhost", "fifth").await;
    let live = pushed(&platform, &id);
    assert_eq!((&live[0]["commit_hash"], &live[0]["status"]["status"]), (&json!(fifth), &json!("deployed")));
}

/// A tag is deployed as it is, though the branch has gone on.
#[tokio::test(flavor = "multi_thread")]
async fn a_tag_is_served() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("shop");
    let tagged = commit(&repository, "tagged");
    repository.tag("v1");
    commit(&repository, "newest");
    let mut body = body("shop", &repository);
    body["tag_pattern"] = json!("v*");
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    serves(&platform, "shop.localhost", "newest").await;
    let mut sample = sample("gitea", "push-tag").with_id("1");
    sample.body["repository"]["clone_url"] = json!(repository.url());
    (sample.body["ref"], sample.body["after"]) = (json!("refs/tags/v1"), json!(tagged));
    sample.body["head_commit"]["id"] = json!(tagged);
    let answer = deliver(&platform, &sample, &secret(&platform, &id));
    assert!(answer.contains("A deployment was queued."), "{answer}");
    serves(&platform, "shop.localhost", "tagged").await;
}
