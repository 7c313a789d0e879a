//! The whole way with an app of GitHub: made with one click, its private repository deployed with a token for that one fetch, its pushes
//! served, its commits told what became of them.

use std::io::{Read, Write};

use serde_json::{Value, json};
use windlass_testing::Kind;
use windlass_testing::deliveries::{Sample, sample};
use windlass_testing::git::Repository;
use windlass_testing::github::GitHub;

use crate::deploy::support::*;

const SHOP: &str = "team/shop";

/// A page as a browser gets it, with its head. `address` is whole.
fn browse(platform: &Platform, address: &str) -> String {
    let (_, rest) = address.split_once("://").expect("a scheme");
    let path = &rest[rest.find('/').expect("a path")..];
    let mut stream = platform.process().connect();
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The value of the attribute that comes first after `before`.
fn attribute(html: &str, before: &str, name: &str) -> String {
    let (_, rest) = html.split_once(before).expect("the element");
    let (_, rest) = rest.split_once(&format!("{name}=\"")).expect("the attribute");
    rest.split_once('"').expect("its end").0.replace("&quot;", "\"").replace("&amp;", "&")
}

/// The connection that the app has become.
fn connect(platform: &Platform, github: &GitHub) -> String {
    let body = json!({ "name": "GitHub", "base_url": github.url() });
    let made = platform.call("POST", "/connections/github-apps", &body);
    let page = browse(platform, made["link"].as_str().unwrap());
    let (form, manifest) = (attribute(&page, "<form", "action"), attribute(&page, "name=\"manifest\"", "value"));
    let answer = browse(platform, &github.make_app(&form, &manifest));
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    id_of(&platform.call("GET", "/connections", &Value::Null)["connections"][0])
}

/// What the app sends when the branch was pushed to.
fn push(repository: &Repository, before: &str, after: &str) -> Sample {
    let mut sample = sample("github", "push-branch-app").with_id(after);
    for field in ["clone_url", "ssh_url", "git_url", "html_url"] {
        sample.body["repository"][field] = json!(repository.url());
    }
    (sample.body["before"], sample.body["after"]) = (json!(before), json!(after));
    sample.body["head_commit"]["id"] = json!(after);
    sample
}

fn deliver(platform: &Platform, sample: &Sample) -> String {
    let bytes = sample.bytes();
    let headers = sample.signed(GitHub::WEBHOOK_SECRET, &bytes);
    let mut answer = String::new();
    let mut stream = platform.process().send_with("POST", "/webhook", &headers, &bytes);
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

async fn reported(github: &GitHub, commit: &str, state: &str) {
    until(&format!("{commit} is told to be a {state}"), async || {
        (github.statuses(commit).last()?["state"] == state).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_app_fetches_with_a_token_for_each_fetch() {
    let github = GitHub::start();
    let repository = github.add_repository(SHOP);
    let first = commit(&repository.git, "first");
    let platform = Platform::on(Kind::Sqlite, &["--allow-private-targets", "true"]).await;
    let connection = connect(&platform, &github);
    let mut body = body("shop", &repository.git);
    body["connection_id"] = json!(connection);

    let application = platform.deploy(&body);
    let id = id_of(&application);
    let told = platform.ended(&newest_deployment(&application)).await.to_string();
    assert!(told.contains("repository_unreachable") && told.contains("is not installed for team/shop"), "{told}");
    assert_eq!(github.minted().len(), 0);

    github.install("team", &[SHOP]);
    platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id, "force": true }));
    platform.deployed(&newest_deployment(&platform.application(&id))).await;
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "first".to_owned()));
    reported(&github, &first, "success").await;
    let fetched = github.minted().len();
    assert!(github.minted().iter().all(|minted| minted.asked_for == ["shop"]), "{:?}", github.minted());

    let second = commit(&repository.git, "second");
    let answer = deliver(&platform, &push(&repository.git, &first, &second));
    assert!(answer.contains("A deployment was queued."), "{answer}");
    reported(&github, &second, "success").await;
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "second".to_owned()));
    assert!(github.minted().len() > fetched, "no token is used again");
    let tokens: std::collections::BTreeSet<_> = github.minted().into_iter().map(|minted| minted.token).collect();
    assert_eq!(tokens.len(), github.minted().len());
}
