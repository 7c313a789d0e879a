//! Applications that are made from extensions: reachable, updated without a lost request, gone back on, and removed as any other.

use serde_json::{Value, json};

use super::services::shop;
use super::support::*;
use crate::deploy::crowd::{Crowd, all_answered};
use crate::deploy::support::*;

const HOST: &str = "shop.localhost";
const PASSWORD: &str = "correct-horse-battery";

/// Makes the application, and waits until visitors are served by it. Its id, and the deployment.
async fn made(platform: &Platform, body: &Value) -> (String, Value) {
    let application = platform.call("POST", "/extensions/shop/application", body);
    let deployment = platform.deployed(&newest_deployment(&application)).await;
    (id_of(&application), deployment)
}

fn source(platform: &Platform, id: &str) -> Value {
    platform.call("GET", &format!("/deploy/application/{id}/extension"), &Value::Null)
}

/// The extension's author publishes another text.
fn publish(platform: &Platform, text: &str) {
    platform.call("PUT", "/extensions/shop", &json!({ "yaml_content": text }));
}

fn update(platform: &Platform, id: &str) -> String {
    id_of(&platform.call("POST", &format!("/deploy/application/{id}/extension"), &json!({})))
}

fn container(deployment: &Value, service: &str) -> String {
    let instances = deployment["instances"].as_array().expect("instances");
    let instance = instances.iter().find(|instance| instance["service"] == service);
    instance.unwrap_or_else(|| panic!("{deployment}"))["name"].as_str().expect("a name").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_loses_nothing_and_a_rollback_brings_the_text_back() {
    let platform = Platform::start().await;
    create(&platform, &shop("1.0.0"));
    let (id, first) = made(&platform, &json!({ "domain": HOST, "variables": { "password": PASSWORD } })).await;
    assert_eq!((&first["artifact"], first["instances"].as_array().unwrap().len()), (&json!("services"), 2));
    assert_eq!(first["container_name"], json!(container(&first, "web")), "the one that the domain leads to");
    assert_eq!(platform.visit(HOST, "/").await, (200, "1.0.0".to_owned()));
    assert_eq!(docker(&["exec", &container(&first, "web"), "/bin/sh", "-c", "echo $PASSWORD"]), PASSWORD);
    docker(&["exec", &container(&first, "db"), "/bin/sh", "-c", "echo precious > /data/notes"]);
    let offer = source(&platform, &id);
    assert_eq!((&offer["version"], &offer["has_update"]), (&json!("1.0.0"), &json!(false)), "{offer}");

    let crowd = Crowd::come(platform.edge().await, HOST);
    publish(&platform, &shop("2.0.0"));
    let offer = source(&platform, &id);
    assert_eq!((&offer["version"], &offer["new_version"]), (&json!("1.0.0"), &json!("2.0.0")), "{offer}");
    assert_eq!((&offer["has_update"], &offer["problems"]), (&json!(true), &json!([])), "{offer}");
    let second = platform.deployed(&update(&platform, &id)).await;
    assert_eq!((platform.visit(HOST, "/").await, &second["held_ms"]), ((200, "2.0.0".to_owned()), &json!(0)));
    assert_eq!(container(&second, "db"), container(&first, "db"), "what has not changed goes on");
    assert_eq!(docker(&["exec", &container(&second, "web"), "/bin/sh", "-c", "echo $PASSWORD"]), PASSWORD);
    // Deployed again as it is, it has the text that it has.
    let again = platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    platform.deployed(&id_of(&again)).await;
    assert_eq!(platform.visit(HOST, "/").await, (200, "2.0.0".to_owned()));

    let back = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first["id"] }));
    let back = platform.deployed(&id_of(&back)).await;
    assert_eq!(platform.visit(HOST, "/").await, (200, "1.0.0".to_owned()));
    assert_eq!(docker(&["exec", &container(&back, "db"), "cat", "/data/notes"]), "precious");
    let offer = source(&platform, &id);
    assert_eq!((&offer["version"], &offer["has_update"]), (&json!("1.0.0"), &json!(true)), "{offer}");
    // What was gone back from does not come back by itself.
    let again = platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    platform.deployed(&id_of(&again)).await;
    assert_eq!(platform.visit(HOST, "/").await, (200, "1.0.0".to_owned()));
    all_answered(&crowd.go().await.0);
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 2);
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "shop" }));
    platform.settled().await;
    assert_eq!(containers_of(&id), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_fails_leaves_what_was_there() {
    let platform = Platform::start().await;
    create(&platform, &shop("1.0.0"));
    let (id, _) = made(&platform, &json!({ "domain": HOST, "variables": { "password": PASSWORD } })).await;
    let crowd = Crowd::come(platform.edge().await, HOST);
    let ends = shop("2.0.0").replace("environment: { VERSION: \"2.0.0\",", "environment: { EXIT_CODE: \"3\",");
    publish(&platform, &ends);
    let failed = platform.ended(&update(&platform, &id)).await;
    assert_eq!(
        (&failed["status"]["status"], &failed["failure"]),
        (&json!("failed"), &json!("crashed_at_start")),
        "{failed}"
    );
    assert_eq!(platform.visit(HOST, "/").await, (200, "1.0.0".to_owned()));
    let offer = source(&platform, &id);
    assert_eq!((&offer["version"], &offer["has_update"]), (&json!("1.0.0"), &json!(true)), "it is offered again");
    publish(&platform, &shop("2.0.1"));
    platform.deployed(&update(&platform, &id)).await;
    assert_eq!(platform.visit(HOST, "/").await, (200, "2.0.1".to_owned()));
    all_answered(&crowd.go().await.0);
}

/// With a domain for the second service, which listens as the first one does.
fn with_two_domains(version: &str) -> String {
    let route = "    - { name: more, type: proxy, properties: { action: add, domain: \"data.{{ domain }}\", service: db, port: 8080 } }\n  validate:";
    shop(version).replace("  validate:", route)
}

#[tokio::test(flavor = "multi_thread")]
async fn domains_lead_to_the_services_that_the_text_names() {
    let platform = Platform::start().await;
    create(&platform, &shop("1.0.0"));
    let (id, _) = made(&platform, &json!({ "domain": HOST })).await;
    assert_eq!(platform.visit("data.shop.localhost", "/").await.0, 404);
    publish(&platform, &with_two_domains("2.0.0"));
    let offer = source(&platform, &id);
    assert!(offer["warnings"][0].as_str().is_some_and(|words| words.contains("data.shop.localhost")), "{offer}");
    platform.deployed(&update(&platform, &id)).await;
    assert_eq!(platform.visit(HOST, "/").await, (200, "2.0.0".to_owned()));
    until("the other domain leads to the other service", async || {
        (platform.visit("data.shop.localhost", "/").await == (200, "db".to_owned())).then_some(())
    })
    .await;
    // One that is new has both from the beginning, below the domain that it was given.
    let body = json!({ "name": "other", "domain": "other.localhost" });
    let (_, deployment) = made(&platform, &body).await;
    assert_eq!(platform.visit("other.localhost", "/").await, (200, "2.0.0".to_owned()));
    until("its other domain does too", async || {
        (platform.visit("data.other.localhost", "/").await == (200, "db".to_owned())).then_some(())
    })
    .await;
    let password = docker(&["exec", &container(&deployment, "web"), "/bin/sh", "-c", "echo $PASSWORD"]);
    assert_eq!(password.len(), 48, "it was made up");
}
