//! Pull requests: each is served by itself, told so where it was made, and leaves nothing behind.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_server::reports::COMMENT_KILL_POINTS;
use windlass_testing::gitea::Gitea;
use windlass_testing::{Kind, testapp};

use super::forge::Forge;
use super::gitea::{Connected, PRIVATE};
use super::real_gitea::RealGitea;
use crate::deploy::support::*;

/// An application whose pull requests get previews, with what previews get of its variables and what they do not.
async fn previewed<'a>(platform: &'a Platform, forge: &'a Forge, forks: bool) -> Connected<'a> {
    let connected = Connected::new(platform, forge).await;
    let shared = json!({
        "variables": { "OPEN": "shared", "KEY": "shared-secret", "URL": "//${{shared.KEY}}@db" }, "secret_names": ["KEY"],
    });
    platform.call("PUT", "/variables/shared", &shared);
    let body = json!({
        "id": connected.application, "previews": true, "preview_forks": forks,
        "environment_variables": { "OPEN": "open", "KEY": "very-secret", "MARKED": "marked-secret", "URL": "${{shared.URL}}" },
        "build_variables": { "BUILD_KEY": "build-secret", "BUILD_URL": "${{shared.URL}}" },
        "preview_variables": { "OPEN": "for previews", "TEST_KEY": "test-secret", "TEST_URL": "${{shared.URL}}", "SHARED": "${{shared.OPEN}}" },
        "secret_names": ["KEY", "MARKED", "BUILD_KEY", "TEST_KEY"], "preview_secret_names": ["MARKED"],
        "volumes": [{ "name": "data", "path": "/data", "shared": true }],
    });
    platform.call("PUT", "/deploy/application", &body);
    connected.hook("POST");
    connected
}

fn previews(connected: &Connected<'_>) -> Vec<Value> {
    let path = format!("/deploy/application/{}/previews", connected.application);
    connected.platform.call("GET", &path, &Value::Null)["previews"].as_array().unwrap().clone()
}

/// Waits until the pull request's preview serves this version.
async fn serves(connected: &Connected<'_>, number: u64, version: &str) -> Value {
    until(&format!("the preview of {number} serves {version}"), async || {
        let all = previews(connected);
        let preview = all.into_iter().find(|preview| preview["pull_request"] == number)?;
        let answer = connected.platform.visit(preview["domain"].as_str().unwrap(), "/").await;
        (answer == (200, version.to_owned())).then_some(preview)
    })
    .await
}

/// Waits until the only comment says so.
async fn says(forge: &Forge, full_name: &str, number: u64, words: &str) {
    until(&format!("the comment says {words}"), async || {
        let comments = forge.comments(full_name, number);
        assert!(comments.len() < 2, "{comments:?}");
        comments.first()?.contains(words).then_some(())
    })
    .await;
}

async fn environment(platform: &Platform, preview: &Value) -> Value {
    let (status, text) = platform.visit(preview["domain"].as_str().unwrap(), "/env").await;
    assert_eq!(status, 200);
    serde_json::from_str(&text).unwrap()
}

async fn walk(forge: &Forge) {
    let platform = Platform::on(Kind::Sqlite, &PRIVATE).await;
    let connected = previewed(&platform, forge, false).await;
    let name = &connected.checkout.full_name;
    connected.checkout.push_to("blue", "", "blue");
    let number = forge.open_pull_request(name, "blue");
    let preview = serves(&connected, number, "blue").await;
    assert_eq!(preview["domain"], json!(format!("shop-pr-{number}.localhost")));
    let seen = environment(&platform, &preview).await;
    assert_eq!((&seen["OPEN"], &seen["MARKED"]), (&json!("for previews"), &json!("marked-secret")));
    assert_eq!((&seen["KEY"], &seen["TEST_KEY"]), (&Value::Null, &json!("test-secret")));
    assert_eq!((&seen["URL"], &seen["TEST_URL"]), (&Value::Null, &json!("//shared-secret@db")));
    says(forge, name, number, &format!("is at {}", preview["url"].as_str().unwrap())).await;

    let second = connected.checkout.push_to("blue", "", "bluer");
    let again = serves(&connected, number, "bluer").await;
    assert_eq!((&again["id"], &again["commit_hash"]), (&preview["id"], &json!(second)));
    says(forge, name, number, &second[..12]).await;
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "first".to_owned()), "the application itself");

    connected.checkout.push_to("blue", "ENV EXIT_CODE=3", "broken");
    says(forge, name, number, "could not be deployed: crashed_at_start").await;
    serves(&connected, number, "bluer").await;

    // Other tests use the engine too.
    let label = format!("label=windlass.app={}", id_of(&preview));
    let volumes = || docker(&["volume", "ls", "-q", "--filter", &label]).lines().count();
    assert_eq!(volumes(), 1);
    forge.close_pull_request(name, number);
    ended(&connected, &preview).await;
    says(forge, name, number, "It was removed.").await;
    until("its volume is gone", async || (volumes() == 0).then_some(())).await;
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "first".to_owned()));
}

/// Waits until nothing of it is left.
async fn ended(connected: &Connected<'_>, preview: &Value) {
    let platform = connected.platform;
    until("nothing of the preview is left", async || {
        let id = id_of(preview);
        let path = format!("/deploy/application?id={id}");
        let is_gone = platform.try_call("GET", &path, &Value::Null).0 == 404;
        (is_gone && containers_of(&id).is_empty() && images_of(&id).is_empty()).then_some(())
    })
    .await;
    assert_eq!(previews(connected), [] as [Value; 0]);
    assert_eq!(platform.visit(preview["domain"].as_str().unwrap(), "/").await.0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_is_served_and_told_until_it_is_closed() {
    let gitea = Gitea::start();
    walk(&Forge::of(&gitea)).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_pull_request_is_served_and_told_until_it_is_closed_with_a_real_gitea() {
    let gitea = RealGitea::start();
    walk(&gitea.forge).await;
}

/// The names of the networks that an application's containers are in.
fn networks_of(id: &str) -> Vec<String> {
    let names = "{{range $name, $_ := .NetworkSettings.Networks}}{{$name}} {{end}}";
    let all = containers_of(id).into_iter().map(|container| docker(&["inspect", "--format", names, &container]));
    all.flat_map(|line| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// What a fork's code can look at, while it is built and while it runs, has no secret in it; and the organization's containers are
/// not in its network.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_reads_no_secret() {
    let gitea = Gitea::start();
    let forge = Forge::of(&gitea);
    let platform = Platform::on(Kind::Sqlite, &PRIVATE).await;
    let connected = previewed(&platform, &forge, true).await;
    let name = &connected.checkout.full_name;
    let fork = gitea.fork(name);
    let greedy = "ARG BUILD_KEY=nothing\nARG KEY=nothing\nARG BUILD_URL=nothing\nENV SEEN=$BUILD_KEY SEEN_TOO=$KEY SEEN_URL=$BUILD_URL";
    gitea.push(&fork, "greedy", &[("Dockerfile", &testapp::dockerfile(greedy)), ("version", "greedy")]);
    let number = gitea.open_pull_request(name, &format!("{}:greedy", Gitea::OTHER_USER), "Take it");
    let preview = serves(&connected, number, "greedy").await;
    assert_eq!(preview["is_fork"], true);
    let seen = environment(&platform, &preview).await;
    let text = seen.to_string();
    for secret in ["very-secret", "marked-secret", "build-secret", "test-secret", "shared-secret", &forge.token] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    assert_eq!((&seen["SEEN"], &seen["SEEN_TOO"]), (&json!("nothing"), &json!("nothing")));
    assert_eq!((&seen["SEEN_URL"], &seen["URL"]), (&json!("nothing"), &Value::Null));
    assert_eq!(seen["OPEN"], "for previews", "what is open and set for previews");
    assert_eq!(seen["SHARED"], "shared", "the same by a reference");
    let (theirs, ours) = (networks_of(&id_of(&preview)), networks_of(&connected.application));
    assert!(!theirs.is_empty() && !ours.is_empty(), "{theirs:?} {ours:?}");
    assert!(theirs.iter().all(|network| !ours.contains(network)), "{theirs:?} {ours:?}");
    // Also when the reconciler has to make its container again.
    docker(&["rm", "--force", &containers_of(&id_of(&preview))[0]]);
    until("there is a container again", async || (!containers_of(&id_of(&preview)).is_empty()).then_some(())).await;
    serves(&connected, number, "greedy").await;
    assert_eq!(networks_of(&id_of(&preview)), theirs);
    gitea.close_pull_request(name, number);
    ended(&connected, &preview).await;
    // Sooner than the reconciler looks for networks.
    until_within(Duration::from_secs(20), "its network is gone", async || {
        let all = docker(&["network", "ls", "--format", "{{.Name}}"]);
        theirs.iter().all(|network| !all.lines().any(|line| line == network)).then_some(())
    })
    .await;
}

/// A server that dies before or after it writes the comment writes one in the end, not two.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_makes_no_second_comment() {
    let gitea = Gitea::start();
    let forge = Forge::of(&gitea);
    let mut platform = Platform::on(Kind::Sqlite, &PRIVATE).await;
    let Connected { application, checkout, .. } = previewed(&platform, &forge, false).await;
    let path = format!("/deploy/application/{application}/webhook/register");
    for point in COMMENT_KILL_POINTS {
        platform.settled().await;
        platform.kill_server();
        platform.start_server(Some(point));
        // It has another port now.
        platform.call("POST", &path, &Value::Null);
        checkout.push_to(point, "", point);
        let number = forge.open_pull_request(&checkout.full_name, point);
        platform.wait_for_death();
        platform.start_server(None);
        says(&forge, &checkout.full_name, number, "is at http").await;
        assert_eq!(platform.visit(&format!("shop-pr-{number}.localhost"), "/").await, (200, point.to_owned()));
    }
}
