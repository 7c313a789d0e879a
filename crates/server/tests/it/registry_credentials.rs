//! What organizations show to registries of images: for one host each, and never shown again.

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::vault::SealedCell;
use windlass_store::registry_credentials;
use windlass_store::sealed::REGISTRY_PASSWORD;
use windlass_testing::{Kind, on_both_databases};

use crate::support::{TestServer, id_of, kind};

on_both_databases!(
    kind: credentials_come_and_go, what_is_of_another_organization_is_not_there, private_registries_need_a_setting
);

const PATH: &str = "/registry-credentials";
const PASSWORD: &str = "a very secret registry password";
/// So that no test looks a name up.
const PRIVATE: (&str, &str) = ("allow-private-targets", "true");

fn body(host: &str) -> Value {
    json!({ "host": host, "username": "ada", "password": PASSWORD })
}

async fn password(server: &TestServer, id: Uuid) -> String {
    let row = registry_credentials::get(&mut server.app.db.read().await.unwrap(), id).await.unwrap().unwrap();
    let cell = SealedCell { column: REGISTRY_PASSWORD, row: id };
    server.app.vault.open_text(cell, &row.sealed_password).await.unwrap()
}

async fn credentials_come_and_go(kind: Kind) {
    let server = TestServer::with(kind, &[PRIVATE, ("organization-registries", "2")]).await;
    let ada = server.admin().await;
    let post = |body: Value| server.post(PATH, body).by(&ada);
    for (field, value, expected) in [
        ("host", json!("https://registry.example.org"), "host: must have the host of a registry in it"),
        ("host", json!("registry.example.org/team"), "host: must have the host of a registry in it"),
        ("host", json!("registry"), "host: must have the host of a registry in it"),
        ("username", json!(""), "username: must not be empty"),
        ("password", json!(""), "password: must not be empty"),
        ("email", json!("x"), "email: "),
    ] {
        let mut wrong = body("registry.example.org");
        wrong[field] = value;
        let message = post(wrong).fails(400, "invalid_request").await;
        assert!(message.starts_with(expected), "{field}: {message}");
    }
    let made = post(body("Registry.Example.org:5000")).ok().await;
    assert_eq!((&made["host"], &made["username"]), (&json!("registry.example.org:5000"), &json!("ada")));
    assert!(made.get("password").is_none(), "{made}");
    let message = post(body("registry.example.org:5000")).fails(409, "name_taken").await;
    assert_eq!(message, "host: there are credentials for registry.example.org:5000 already. Change those.");
    let hub = post(body("index.docker.io")).ok().await;
    assert_eq!(hub["host"], "docker.io", "it has several names");
    let message = post(body("third.example.org")).fails(409, "conflict").await;
    assert_eq!(message, "An organization can have credentials for 2 registries. Delete some first.");

    let path = format!("{PATH}/{}", id_of(&made));
    let put = |body: Value| server.put(&path, body).by(&ada);
    let message = put(json!({})).fails(400, "invalid_request").await;
    assert!(message.starts_with("password: "), "{message}");
    put(json!({ "host": "other.example.org" })).fails(400, "invalid_request").await;
    assert_eq!(put(json!({ "username": "eve" })).ok().await["username"], "eve");
    assert_eq!(password(&server, id_of(&made)).await, PASSWORD);
    put(json!({ "password": "another one" })).ok().await;
    assert_eq!(password(&server, id_of(&made)).await, "another one");
    let all = server.get(PATH).by(&ada).ok().await;
    let hosts: Vec<_> =
        all["registry_credentials"].as_array().unwrap().iter().map(|one| one["host"].as_str().unwrap()).collect();
    assert_eq!(hosts, ["docker.io", "registry.example.org:5000"]);
    server.delete(&path).by(&ada).ok().await;
    server.get(&path).by(&ada).fails(404, "not_found").await;
    let audit = server.get("/audit/logs?resource_type=registry_credential").by(&ada).ok().await;
    let messages: Vec<_> =
        audit["activities"].as_array().unwrap().iter().map(|entry| entry["message"].as_str().unwrap()).collect();
    assert_eq!(messages[0], "Ada removed the credentials for registry.example.org:5000");
    assert_eq!(messages.len(), 5);
    assert!(!audit.to_string().contains(PASSWORD));
}

async fn what_is_of_another_organization_is_not_there(kind: Kind) {
    let server = TestServer::with(kind, &[PRIVATE]).await;
    let ada = server.admin().await;
    let (eve, viewer) = (server.stranger(&ada, "eve").await, server.join(&ada, "vera", Role::Viewer).await);
    let path = format!("{PATH}/{}", id_of(&server.post(PATH, body("registry.example.org")).by(&ada).ok().await));
    server.get(&path).by(&eve).fails(404, "not_found").await;
    server.put(&path, json!({ "username": "eve" })).by(&eve).fails(404, "not_found").await;
    server.delete(&path).by(&eve).fails(404, "not_found").await;
    assert_eq!(server.get(PATH).by(&eve).ok().await["registry_credentials"], json!([]));
    server.post(PATH, body("registry.example.org")).by(&eve).ok().await;
    server.post(PATH, body("other.example.org")).by(&viewer).fails(403, "forbidden").await;
}

/// Where the engine calls, an organization without host access has nothing to look for.
async fn private_registries_need_a_setting(kind: Kind) {
    let server = TestServer::with(kind, &[]).await;
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    for host in ["127.0.0.1:5000", "[::1]:5000", "localhost:5000", "10.0.0.5", "169.254.169.254"] {
        let message = server.post(PATH, body(host)).by(&eve).fails(400, "invalid_request").await;
        assert!(message.starts_with("host: leads to a private address"), "{host}: {message}");
    }
}
