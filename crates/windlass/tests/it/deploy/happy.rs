//! What a user sees when all goes well.

use serde_json::json;

use super::support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_becomes_an_application_that_is_served() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "hello", "one");
    let application = platform.deploy(&body("hello", &repository));
    assert_eq!(application["domain"], "hello.localhost");
    let first = newest_deployment(&application);
    let deployment = platform.deployed(&first).await;
    assert_eq!(deployment["container_status"], "running");
    assert_eq!(platform.visit("hello.localhost", "/").await, (200, "one".into()));

    let hash = commit(&repository, "two");
    let again = platform.deploy(&json!({ "name": "hello", "repository": repository.url() }));
    let deployment = platform.deployed(&newest_deployment(&again)).await;
    assert_eq!(deployment["commit_hash"], hash);
    assert_eq!(platform.visit("hello.localhost", "/").await, (200, "two".into()));
    platform.settled().await;
    assert_eq!(containers_of(&id_of(&again)).len(), 1);
    assert_eq!(platform.deployment(&first)["container_status"], "removed");
    assert_eq!(images_of(&id_of(&again)).len(), 2);
    assert_eq!(platform.application(&id_of(&again))["status"]["status"], "running");
    let entries = platform.call("GET", "/audit/logs?resource_type=deployment", &json!(null));
    let told =
        entries["activities"].as_array().unwrap().iter().filter(|entry| entry["message"] == "windlass deployed hello");
    assert_eq!(told.count(), 2, "{entries}");
}
