//! Connections to code hosts: tried before they are saved, for one organization and one host.

use axum::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_testing::gitea::Gitea;
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::SSH_KEY;
use crate::support::{Person, TestServer, id_of, kind};

on_both_databases!(
    kind: a_connection_is_tried_before_it_is_saved, connections_belong_to_one_organization_and_one_host, calls_are_limited,
    private_code_hosts_need_a_setting, keys_that_were_made_here_give_way_to_others
);

const PRIVATE: (&str, &str) = ("allow-private-targets", "true");

fn gitea() -> Gitea {
    let gitea = Gitea::start();
    gitea.add_repository("shop");
    gitea
}

fn body(gitea: &Gitea, name: &str) -> Value {
    json!({ "name": name, "host": "gitea", "base_url": gitea.url(), "token": Gitea::TOKEN })
}

async fn connect(server: &TestServer, person: &Person, gitea: &Gitea) -> Uuid {
    id_of(&server.post("/connections", body(gitea, "Gitea")).by(person).ok().await)
}

async fn a_connection_is_tried_before_it_is_saved(kind: Kind) {
    let (server, gitea) = (TestServer::with(kind, &[PRIVATE, ("organization-connections", "2")]).await, gitea());
    let admin = server.admin().await;
    let post = |body: Value| server.post("/connections", body).by(&admin);
    let mut wrong = body(&gitea, "Gitea");
    wrong["token"] = json!("no-token-of-this-host");
    let message = post(wrong).fails(400, "invalid_request").await;
    assert!(message.starts_with("token: The code host does not accept the token"), "{message}");
    for (field, value, beginning) in [
        ("base_url", json!(""), "base_url: Give the address of the code host"),
        ("base_url", json!("ftp://git.example.org"), "base_url: The address of the code host must be one on the web"),
        ("base_url", json!("http://ada:x@127.0.0.1"), "base_url: "),
        ("host", json!("subversion"), "host: must be github, gitlab"),
        ("token", json!("with a space"), "token: The token must not be empty or contain spaces"),
        ("username", json!("a:b"), "username: "),
        ("workspace", json!("../x"), "workspace: "),
    ] {
        let mut wrong = body(&gitea, "Gitea");
        wrong[field] = value;
        let message = post(wrong).fails(400, "invalid_request").await;
        assert!(message.starts_with(beginning), "{field}: {message}");
    }
    gitea.fail(503);
    let message = post(body(&gitea, "Gitea")).fails(502, "code_host_failed").await;
    assert!(message.contains("status 503"), "{message}");
    gitea.go_on();
    assert_eq!(server.get("/connections").by(&admin).ok().await["connections"], json!([]), "nothing was saved");

    let made = post(body(&gitea, "Gitea")).ok().await;
    assert_eq!((&made["account"], &made["host"]), (&json!("ada"), &json!("gitea")));
    assert!(made.get("token").is_none(), "{made}");
    post(body(&gitea, "Gitea")).fails(409, "name_taken").await;
    post(body(&gitea, "Other")).ok().await;
    let message = post(body(&gitea, "Third")).fails(409, "conflict").await;
    assert_eq!(message, "An organization can have 2 connections. Delete one first.");
    let path = format!("/connections/{}", id_of(&made));
    let put = |body: Value| server.put(&path, body).by(&admin);
    put(json!({ "token": "wrong-token" })).fails(400, "invalid_request").await;
    put(json!({ "name": "Other" })).fails(409, "name_taken").await;
    // The token that is there still works.
    assert_eq!(put(json!({ "name": "Forge" })).ok().await["name"], "Forge");
    let found = server.get(&format!("{path}/repositories?search=SHO")).by(&admin).ok().await;
    assert_eq!(found["repositories"][0]["full_name"], "ada/shop");
    let none = server.get(&format!("{path}/repositories?search=none")).by(&admin).ok().await;
    assert_eq!((&none["repositories"], &none["next_page"]), (&json!([]), &Value::Null));
    let message =
        server.get(&format!("{path}/branches?repository=../x")).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("repository: "), "{message}");
    server.get(&format!("{path}/tags?repository=ada/none")).by(&admin).fails(502, "code_host_failed").await;
}

async fn connections_belong_to_one_organization_and_one_host(kind: Kind) {
    let (server, gitea) = (TestServer::with(kind, &[PRIVATE]).await, gitea());
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let id = connect(&server, &admin, &gitea).await;
    let application = |repository: &str| json!({ "name": "Shop", "repository": repository, "connection_id": id });
    let shop = format!("{}/ada/shop.git", gitea.url());
    for path in ["", "/repositories", "/branches?repository=ada/shop", "/tags?repository=ada/shop"] {
        server.get(&format!("/connections/{id}{path}")).by(&eve).fails(404, "not_found").await;
    }
    let message = server.post("/deploy/application", application(&shop)).by(&eve).fails(400, "invalid_request").await;
    assert_eq!(message, "connection_id: is no connection of this organization");
    for elsewhere in ["https://git.example.org/ada/shop.git", "git@git.example.org:ada/shop.git"] {
        let call = server.post("/deploy/application", application(elsewhere)).by(&admin);
        let message = call.fails(400, "invalid_request").await;
        assert!(message.starts_with("connection_id: Gitea leads to http://127.0.0.1:"), "{message}");
    }
    let made = server.running(&admin, application(&shop)).await;
    assert_eq!(made["connection_id"], json!(id));
    let message = server.delete(&format!("/connections/{id}")).by(&admin).fails(409, "conflict").await;
    assert!(message.starts_with("Applications use this connection: Shop."), "{message}");
    let path = format!("/deploy/application/{}/webhook/register", id_of(&made));
    let registered = server.call(Method::POST, &path).by(&admin).ok().await;
    assert_eq!(registered["is_registered"], true);
    // Again, as after a change of the secret: the one before is gone.
    server.call(Method::POST, &path).by(&admin).ok().await;
    assert_eq!(gitea.hooks().len(), 1);
    // When the code host fails in between, nothing is said to be registered.
    gitea.fail(500);
    server.call(Method::POST, &path).by(&admin).fails(502, "code_host_failed").await;
    gitea.go_on();
    let update = json!({ "id": made["id"], "connection_id": "" });
    let updated = server.put("/deploy/application", update).by(&admin).ok().await;
    assert_eq!(updated["connection_id"], Value::Null);
    server.call(Method::POST, &path).by(&admin).fails(409, "conflict").await;
    server.delete(&format!("/connections/{id}")).by(&admin).ok().await;
    server.get(&format!("/connections/{id}")).by(&admin).fails(404, "not_found").await;
}

async fn calls_are_limited(kind: Kind) {
    let (server, gitea) = (TestServer::with(kind, &[PRIVATE, ("connection-calls", "3")]).await, gitea());
    let admin = server.admin().await;
    let path = format!("/connections/{}/repositories", connect(&server, &admin, &gitea).await);
    for _ in 0..2 {
        server.get(&path).by(&admin).ok().await;
    }
    server.get(&path).by(&admin).fails(429, "rate_limited").await;
    // Each organization for itself.
    let eve = server.stranger(&admin, "eve").await;
    connect(&server, &eve, &gitea).await;
}

async fn private_code_hosts_need_a_setting(kind: Kind) {
    let (server, gitea) = (TestServer::with(kind, &[]).await, gitea());
    let admin = server.admin().await;
    let message = server.post("/connections", body(&gitea, "Gitea")).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("base_url: leads to a private address"), "{message}");
}

async fn keys_that_were_made_here_give_way_to_others(kind: Kind) {
    let (server, gitea) = (TestServer::with(kind, &[PRIVATE]).await, gitea());
    let admin = server.admin().await;
    let id = connect(&server, &admin, &gitea).await;
    let body = json!({ "name": "Shop", "repository": "ssh://git@127.0.0.1:2222/ada/shop.git", "connection_id": id });
    let made = server.running(&admin, body).await;
    let path = format!("/deploy/application/{}/deploy-key", id_of(&made));
    server.get(&path).by(&admin).fails(404, "not_found").await;
    let first = server.call(Method::POST, &path).by(&admin).ok().await;
    let second = server.call(Method::POST, &path).by(&admin).ok().await;
    assert!(first["public_key"] != second["public_key"] && second["is_registered"] == true, "{second}");
    assert_eq!(server.application(&admin, &made["id"]).await["has_repository_credentials"], true);
    // The caller's own key takes its place, and is not taken away by mistake.
    let update = json!({ "id": made["id"], "repository_ssh_key": SSH_KEY });
    server.put("/deploy/application", update).by(&admin).ok().await;
    server.delete(&path).by(&admin).fails(404, "not_found").await;
    let message = server.call(Method::POST, &path).by(&admin).fails(409, "conflict").await;
    assert_eq!(message, "Shop has a repository_ssh_key of its own. Remove that first.");
    let update = json!({ "id": made["id"], "repository_ssh_key": "" });
    server.put("/deploy/application", update).by(&admin).ok().await;
    server.call(Method::POST, &path).by(&admin).ok().await;
    server.delete(&path).by(&admin).ok().await;
    assert_eq!(server.application(&admin, &made["id"]).await["has_repository_credentials"], false);
    let https = json!({ "name": "Web", "repository": format!("{}/ada/shop.git", gitea.url()) });
    let https = server.running(&admin, https).await;
    let path = format!("/deploy/application/{}/deploy-key", id_of(&https));
    server.call(Method::POST, &path).by(&admin).fails(409, "conflict").await;
}
