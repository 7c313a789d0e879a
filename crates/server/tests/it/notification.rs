//! Where notifications go.

use axum::http::Method;
use serde_json::{Value, json};
use windlass_api::Role;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{TestServer, id_of, kind, server};
use crate::walk::{WEBHOOK_URL, smtp};

on_both_databases!(server: a_webhook_is_created_and_replaced, a_webhook_is_shown_to_those_who_may_change_it,
    private_addresses_are_refused, the_doubled_prefix, without_credentials_nothing_happens, a_mail_server,
    tenants_have_their_own, the_organization_that_is_named, a_password_belongs_to_its_server, checks_come_in_order);
on_both_databases!(kind: the_operator_can_allow_private_addresses);

async fn a_webhook_is_created_and_replaced(server: TestServer) {
    let ada = server.admin().await;
    let message =
        server.put("/notification/webhook", json!({ "type": "slack" })).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "webhook_url: is required: there is no slack webhook yet");
    let first = json!({ "type": "slack", "webhook_url": WEBHOOK_URL });
    let created = server.put("/notification/webhook", first.clone()).by(&ada).ok().await;
    assert_eq!((&created["is_active"], &created["webhook_url"]), (&json!(true), &json!(WEBHOOK_URL)));
    server.app.clock.advance_seconds(5);
    let paused =
        server.put("/notification/webhook", json!({ "type": "slack", "is_active": false })).by(&ada).ok().await;
    assert_eq!((&paused["id"], &paused["webhook_url"]), (&created["id"], &created["webhook_url"]));
    assert_eq!((&paused["is_active"], &paused["updated_at"]), (&json!(false), &json!("2026-01-01T00:00:05.000000Z")));
    assert_eq!(paused["created_at"], created["created_at"]);
    // The POST creates and never replaces.
    let message = server.post("/notification/webhook", first).by(&ada).fails(409, "already_exists").await;
    assert!(message.starts_with("type: there is a slack webhook already"), "{message}");
    let discord = json!({ "type": "discord", "webhook_url": WEBHOOK_URL, "is_active": false, "colour": "blue" });
    server.post("/notification/webhook", discord).by(&ada).ok().await;
    assert_eq!(server.get("/notification/webhook/discord").by(&ada).ok().await["is_active"], false);
    server.delete("/notification/webhook").json(json!({ "type": "discord" })).by(&ada).ok().await;
    server.get("/notification/webhook/discord").by(&ada).fails(404, "not_found").await;
    server.delete("/notification/webhook").json(json!({ "type": "discord" })).by(&ada).fails(404, "not_found").await;
    let message = server.get("/notification/webhook/pigeon").by(&ada).fails(400, "invalid_request").await;
    assert_eq!(message, "type: must be slack, discord, webhook, teams, telegram or ntfy");
    server.get("/notification/webhook/telegram").by(&ada).fails(404, "not_found").await;
    let telegram = json!({ "type": "telegram", "webhook_url": "https://hooks.example/elsewhere" });
    let message = server.put("/notification/webhook", telegram).by(&ada).fails(400, "invalid_request").await;
    assert!(message.starts_with("webhook_url: must"), "{message}");
}

async fn a_webhook_is_shown_to_those_who_may_change_it(server: TestServer) {
    let ada = server.admin().await;
    let body = json!({ "type": "webhook", "webhook_url": "https://hooks.example:8443/very-secret-path?and=query" });
    server.put("/notification/webhook", body).by(&ada).ok().await;
    let viewer = server.join(&ada, "viewer", Role::Viewer).await;
    let member = server.join(&ada, "member", Role::Member).await;
    let seen = server.get("/notification/webhook/webhook").by(&viewer).ok().await["webhook_url"].clone();
    assert_eq!(seen, "https://hooks.example:8443/********");
    let seen = server.get("/notification/webhook/webhook").by(&member).ok().await["webhook_url"].clone();
    assert_eq!(seen, "https://hooks.example:8443/very-secret-path?and=query");
    // However it is written: a browser takes a backslash for a slash.
    let body = json!({ "type": "slack", "webhook_url": "https:\\\\hooks.example\\very-secret-backslash" });
    server.put("/notification/webhook", body).by(&ada).ok().await;
    let seen = server.get("/notification/webhook/slack").by(&viewer).ok().await["webhook_url"].clone();
    assert_eq!(seen, "https://hooks.example/********");
    // An API key that may only read is a reader too, also one that an owner made.
    let key = json!({ "name": "reader", "permissions": ["webhook:read"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let call = server.get("/notification/webhook/webhook").header("authorization", &format!("Bearer {key}"));
    assert_eq!(call.ok().await["webhook_url"], "https://hooks.example:8443/********");
}

async fn private_addresses_are_refused(server: TestServer) {
    let ada = server.admin().await;
    for url in [
        "http://127.0.0.1/x",
        "http://127.1/x",
        "http://0x7f.0.0.1/x",
        "http://2130706433/x",
        "http://017700000001/x",
        "http://localhost/x",
        "http://LOCALHOST:8080/x",
        "http://10.0.0.1/x",
        "http://192.168.1.1:9000/x",
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/x",
        "http://[::ffff:10.0.0.1]/x",
        "http://[fd00::1]/x",
        "http://[fe80::1]/x",
        "http://0.0.0.0/x",
        "http://localhost./x",
        "http://localhost../x",
        "http://foo.localhost/x",
        "http://127.0.0.1../x",
        "http://./x",
        "http://hooks.example:0/x",
        "http://[2620::200:5efe:127.0.0.1]/x",
        "https://user:hunter2@hooks.example/x",
        "https://user@hooks.example/x",
        "ftp://hooks.example/x",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "hooks.example/x",
        "http://",
        "https://exa mple/x",
    ] {
        for method in [Method::PUT, Method::POST] {
            let body = json!({ "type": "slack", "webhook_url": url });
            let call = server.call(method, "/notification/webhook").json(body).by(&ada);
            let message = call.fails(400, "invalid_request").await;
            assert!(message.starts_with("webhook_url: "), "{url}: {message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }
    for host in ["127.0.0.1", "localhost", "10.1.2.3", "::1"] {
        let mut body = smtp();
        body["host"] = json!(host);
        let message = server.post("/notification/smtp", body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with("host: leads to a private address"), "{host}: {message}");
    }
    for host in ["10.1.", "0x7f.1", "localhost.", "foo.localhost", "-", "_", "a..b", "mail example"] {
        let mut body = smtp();
        body["host"] = json!(host);
        let message = server.post("/notification/smtp", body).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with("host: "), "{host}: {message}");
    }
    server.get("/notification/webhook/slack").by(&ada).fails(404, "not_found").await;
    server.get("/notification/smtp").by(&ada).fails(404, "not_found").await;
}

async fn the_operator_can_allow_private_addresses(kind: Kind) {
    let server = TestServer::with(kind, &[("allow-private-targets", "true")]).await;
    let ada = server.admin().await;
    for url in ["http://127.0.0.1:9000/x", "http://LocalHost", "https://10.0.0.1/x?y#z"] {
        let saved =
            server.put("/notification/webhook", json!({ "type": "slack", "webhook_url": url })).by(&ada).ok().await;
        assert_eq!(saved["webhook_url"], url, "kept as it was written");
    }
    let message = server
        .put("/notification/webhook", json!({ "type": "slack", "webhook_url": "ftp://127.0.0.1/x" }))
        .by(&ada)
        .fails(400, "invalid_request")
        .await;
    assert!(message.contains("https:// or http://"), "{message}");
}

/// `POST /notification/webhook` and `DELETE /notification/smtp` have a second path.
async fn the_doubled_prefix(server: TestServer) {
    let ada = server.admin().await;
    let body = json!({ "type": "slack", "webhook_url": WEBHOOK_URL });
    let created = server.call_raw(Method::POST, "/api/v1/api/v1/notification/webhook").json(body).by(&ada).send().await;
    assert_eq!(created.json, json!({ "status": "success", "message": "Webhook created", "data": null, "error": "" }));
    server.post("/notification/smtp", smtp()).by(&ada).ok().await;
    let path = "/api/v1/api/v1/notification/smtp";
    let deleted = server.call_raw(Method::DELETE, path).by(&ada).send().await;
    assert_eq!((deleted.status, &deleted.json["error"]), (200, &json!("")));
    server.get("/notification/smtp").by(&ada).fails(404, "not_found").await;
    server.call_raw(Method::DELETE, path).fails(401, "unauthenticated").await;
    server.call_raw(Method::GET, "/api/v1/api/v1/organizations").by(&ada).fails(404, "not_found").await;
}

async fn without_credentials_nothing_happens(server: TestServer) {
    let ada = server.admin().await;
    server.post("/notification/smtp", smtp()).by(&ada).ok().await;
    let webhook = json!({ "type": "slack", "webhook_url": WEBHOOK_URL });
    let reply = server.post("/notification/webhook", webhook).send().await;
    assert_eq!(
        (reply.status, &reply.json["error"], &reply.json["data"]),
        (401, &json!("unauthenticated"), &Value::Null)
    );
    let reply = server.delete("/notification/smtp").send().await;
    assert_eq!((reply.status, &reply.json["error"]), (401, &json!("unauthenticated")));
    server.get("/notification/webhook/slack").by(&ada).fails(404, "not_found").await;
    server.get("/notification/smtp").by(&ada).ok().await;
}

async fn a_mail_server(server: TestServer) {
    let ada = server.admin().await;
    let least = json!({ "host": "Mail.Example", "from_email": "Ops@Example.org" });
    let created = server.post("/notification/smtp", least).by(&ada).ok().await;
    assert_eq!((&created["host"], &created["port"]), (&json!("mail.example"), &json!(587)));
    assert_eq!((&created["security"], &created["has_password"]), (&json!("starttls"), &json!(false)));
    server.post("/notification/smtp", smtp()).by(&ada).fails(409, "already_exists").await;
    let update = json!({ "id": created["id"], "password": "a very secret password", "security": "tls", "port": 465 });
    let updated = server.put("/notification/smtp", update).by(&ada).ok().await;
    assert_eq!((&updated["has_password"], &updated["from_email"]), (&json!(true), &json!("ops@example.org")));
    let updated = server.put("/notification/smtp", json!({ "from_name": "Ops" })).by(&ada).ok().await;
    assert_eq!((&updated["has_password"], &updated["port"]), (&json!(true), &json!(465)));
    let updated = server.put("/notification/smtp", json!({ "password": "" })).by(&ada).ok().await;
    assert_eq!(updated["has_password"], false);
    server.put("/notification/smtp", json!({ "id": ada.user_id, "port": 25 })).by(&ada).fails(404, "not_found").await;
    let path = format!("/notification/smtp?id={}", ada.organization_id);
    assert_eq!(server.get(&path).by(&ada).ok().await, updated);

    server.delete("/notification/smtp").json(json!({ "id": ada.user_id })).by(&ada).fails(404, "not_found").await;
    let reply = server.delete("/notification/smtp").json(json!({ "id": updated["id"] })).by(&ada).send().await;
    assert_eq!(reply.json["message"], "SMTP configuration deleted");
    for body in [json!({}), json!({ "id": updated["id"] }), json!({ "anything": 1 })] {
        let reply = server.delete("/notification/smtp").json(body).by(&ada).send().await;
        assert_eq!((reply.status, &reply.json["message"]), (200, &json!("There was no SMTP configuration to delete")));
    }
    server.put("/notification/smtp", json!({ "port": 25 })).by(&ada).fails(404, "not_found").await;
}

/// The organization is the one that is named, wherever it is named.
async fn the_organization_that_is_named(server: TestServer) {
    let ada = server.admin().await;
    let other = id_of(&server.post("/organizations", json!({ "name": "Other" })).by(&ada).ok().await);
    let at_home = |path: &'static str| server.get(path).by(&ada).within(ada.organization_id);
    let elsewhere = |path: &'static str| server.get(path).by(&ada).within(other);
    let query = |path: &str| format!("{path}?id={other}");
    let webhook = json!({ "type": "slack", "webhook_url": WEBHOOK_URL });
    let mut named = webhook.clone();
    named["organization_id"] = json!(other);
    server.put("/notification/webhook", named.clone()).by(&ada).ok().await;
    server.put(&query("/notification/webhook"), webhook.clone()).by(&ada).ok().await;
    server.post(&query("/notification/webhook"), webhook).by(&ada).fails(409, "already_exists").await;
    server.post("/notification/webhook", named).by(&ada).fails(409, "already_exists").await;
    elsewhere("/notification/webhook/slack").ok().await;
    server.get(&query("/notification/webhook/slack")).by(&ada).ok().await;
    at_home("/notification/webhook/slack").fails(404, "not_found").await;
    let delete = json!({ "type": "slack", "organization_id": other });
    server.delete("/notification/webhook").json(delete).by(&ada).ok().await;
    elsewhere("/notification/webhook/slack").fails(404, "not_found").await;

    server.post("/notification/smtp", smtp()).by(&ada).ok().await;
    server.post(&query("/notification/smtp"), smtp()).by(&ada).ok().await;
    server.put(&query("/notification/smtp"), json!({ "from_name": "There" })).by(&ada).ok().await;
    assert_eq!(at_home("/notification/smtp").ok().await["from_name"], "Operations");
    server.delete(&query("/notification/smtp")).by(&ada).ok().await;
    elsewhere("/notification/smtp").fails(404, "not_found").await;
    at_home("/notification/smtp").ok().await;
    server.delete("/notification/smtp").json(json!({ "organization_id": other })).by(&ada).ok().await;
    at_home("/notification/smtp").ok().await;
    let logs = server.get(&query("/audit/logs")).by(&ada).ok().await;
    assert_eq!(logs["activities"][0]["message"], "Ada removed the mail server mail.example");
}

/// A member who may change where a password goes must not be able to have it sent to themselves.
async fn a_password_belongs_to_its_server(server: TestServer) {
    let ada = server.admin().await;
    server.post("/notification/smtp", smtp()).by(&ada).ok().await;
    for change in [json!({ "host": "evil.example" }), json!({ "port": 25 }), json!({ "security": "none" })] {
        let message = server.put("/notification/smtp", change.clone()).by(&ada).fails(400, "invalid_request").await;
        assert_eq!(message, "password: is needed again when host, port or security changes");
        let mut with_password = change.clone();
        with_password["password"] = json!("another secret password");
        server.put("/notification/smtp", with_password).by(&ada).ok().await;
    }
    server.put("/notification/smtp", json!({ "port": 25, "from_name": "Same port" })).by(&ada).ok().await;
    server.put("/notification/smtp", json!({ "host": "third.example", "password": "" })).by(&ada).ok().await;
    server.put("/notification/smtp", json!({ "host": "fourth.example" })).by(&ada).ok().await;
}

/// Checked in the order that holds everywhere: malformed ids, existence, permission, body.
async fn checks_come_in_order(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "viewer", Role::Viewer).await;
    let id = id_of(&server.post("/notification/smtp", smtp()).by(&ada).ok().await);
    server.put("/notification/smtp", json!({ "id": "17" })).by(&viewer).fails(400, "invalid_request").await;
    server.put("/notification/smtp", json!({ "id": ada.user_id, "port": 0 })).by(&viewer).fails(404, "not_found").await;
    server.put("/notification/smtp", json!({ "id": ada.user_id, "port": 0 })).by(&ada).fails(404, "not_found").await;
    server.put("/notification/smtp", json!({ "id": id, "port": 0 })).by(&viewer).fails(403, "forbidden").await;
    server.put("/notification/smtp", json!({ "id": id, "port": 0 })).by(&ada).fails(400, "invalid_request").await;
    for nothing in [json!({}), json!({ "id": id })] {
        let message = server.put("/notification/smtp", nothing).by(&ada).fails(400, "invalid_request").await;
        assert!(message.contains("give it or another field"), "{message}");
    }
    server.delete("/notification/smtp").json(json!({ "id": "17" })).by(&viewer).fails(400, "invalid_request").await;
    server.delete("/notification/smtp").json(json!({ "id": ada.user_id })).by(&viewer).fails(404, "not_found").await;
    // Creating needs the permission to create, by whatever method.
    let key = json!({ "name": "changer", "permissions": ["webhook:update"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let with_key =
        |body: Value| server.put("/notification/webhook", body).header("authorization", &format!("Bearer {key}"));
    let webhook = json!({ "type": "slack", "webhook_url": WEBHOOK_URL });
    let message = with_key(webhook.clone()).fails(403, "forbidden").await;
    assert!(message.contains("webhook:create"), "{message}");
    server.put("/notification/webhook", webhook.clone()).by(&ada).ok().await;
    with_key(webhook).ok().await;
}

async fn tenants_have_their_own(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let id = id_of(&server.post("/notification/smtp", smtp()).by(&ada).ok().await);
    server.put("/notification/webhook", json!({ "type": "slack", "webhook_url": WEBHOOK_URL })).by(&ada).ok().await;
    server.get("/notification/smtp").by(&eve).fails(404, "not_found").await;
    server.get("/notification/webhook/slack").by(&eve).fails(404, "not_found").await;
    let path = format!("/notification/smtp?id={}", ada.organization_id);
    server.get(&path).by(&eve).fails(404, "not_found").await;
    server.put("/notification/smtp", json!({ "id": id, "port": 25 })).by(&eve).fails(404, "not_found").await;
    server.delete("/notification/smtp").json(json!({ "id": id })).by(&eve).ok().await;
    server.get("/notification/smtp").by(&ada).ok().await;
}
