//! What admins of the installation see and do, and the passwords that users set with their help.

use serde_json::json;
use windlass_api::Role;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{PASSWORD, TestServer, id_of, kind, server};

on_both_databases!(server: only_admins_of_the_installation_see_it, users_are_found, a_link_sets_a_password_once,
    a_link_expires_and_is_replaced, an_audit_log_is_verified);
on_both_databases!(kind: settings_are_shown_without_secrets);

const NEW_PASSWORD: &str = "a wholly different one";

async fn only_admins_of_the_installation_see_it(server: TestServer) {
    let ada = server.admin().await;
    // The owner of an organization is not an admin of the installation.
    let grace = server.join(&ada, "grace", Role::Owner).await;
    let seen = server.get("/instance").by(&ada).ok().await;
    assert_eq!((&seen["users"], &seen["organizations"], &seen["applications"]), (&json!(2), &json!(1), &json!(0)));
    assert!(seen["disk"]["free_bytes"].as_i64().unwrap() > 0, "{seen}");
    for path in ["/instance", "/instance/users"] {
        server.get(path).by(&grace).fails(403, "forbidden").await;
        server.get(path).fails(401, "unauthenticated").await;
    }
    let reset = format!("/instance/users/{}/password-reset", ada.user_id);
    server.post(&reset, json!({})).by(&grace).fails(403, "forbidden").await;
}

async fn settings_are_shown_without_secrets(kind: Kind) {
    let server = TestServer::with(kind, &[("login-attempts", "17"), ("cors-origins", "https://a.example.org")]).await;
    let ada = server.admin().await;
    let seen = server.get("/instance").by(&ada).ok().await;
    let settings = seen["settings"].as_array().unwrap();
    let named = |name: &str| settings.iter().find(|setting| setting["name"] == name).unwrap();
    assert_eq!(
        (&named("login-attempts")["value"], &named("login-attempts")["is_default"]),
        (&json!("17"), &json!(false))
    );
    assert_eq!(named("cors-origins")["value"], "https://a.example.org");
    assert_eq!(named("body-limit-kib")["is_default"], true);
    assert_eq!(seen["database"], if kind == Kind::Sqlite { "sqlite" } else { "postgres" });
    let url = named("database-url")["value"].as_str().unwrap();
    assert!(["", "********"].contains(&url), "the database's password is shown: {url}");
}

async fn users_are_found(server: TestServer) {
    let ada = server.admin().await;
    for name in ["grace", "Gr%ce", "linus"] {
        server.join(&ada, name, Role::Viewer).await;
    }
    let umlaut = server.join(&ada, "umlaut", Role::Viewer).await;
    server.patch("/user/name", json!({ "name": "Übel" })).by(&umlaut).ok().await;
    let found = async |query: &str| {
        let data = server.get(&format!("/instance/users?{query}")).by(&ada).ok().await;
        let names = data["users"].as_array().unwrap().iter().map(|user| user["username"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), data["pagination"]["total_count"].as_i64().unwrap())
    };
    let (mut names, count) = found("").await;
    names.sort_unstable();
    assert_eq!((names.len(), count), (5, 5), "{names:?}");
    assert_eq!(found("search=GRACE").await, (vec!["grace".to_owned()], 1));
    assert_eq!(found("search=r%25").await, (vec!["Gr%ce".to_owned()], 1));
    assert_eq!(found("search=%C3%9Cbel").await, (vec!["Übel".to_owned()], 1));
    let ada = server.get("/instance/users?search=ada").by(&ada).ok().await["users"][0].clone();
    assert_eq!((&ada["type"], &ada["organizations"]), (&json!("admin"), &json!(1)));
}

async fn a_link_sets_a_password_once(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Viewer).await;
    let made = server.post(&format!("/instance/users/{}/password-reset", grace.user_id), json!({})).by(&ada).ok().await;
    let token = made["token"].as_str().unwrap();
    assert!(made["link"].as_str().unwrap().ends_with(&format!("/#reset={token}")), "{made}");
    let reset = |password: &str| server.post("/auth/reset-password", json!({ "token": token, "password": password }));
    // What is refused does not use the link up.
    let problem = reset("short").fails(400, "invalid_request").await;
    assert!(problem.starts_with("password: "), "{problem}");
    server.get("/user").by(&grace).ok().await;
    let (one, other) = tokio::join!(reset(NEW_PASSWORD).send(), reset("yet another password").send());
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404], "a link works once");
    server.get("/user").by(&grace).fails(401, "unauthenticated").await;
    let log_in = |password: &str| server.post("/auth/login", json!({ "email": grace.email, "password": password }));
    log_in(PASSWORD).fails(401, "invalid_credentials").await;
    log_in(if one.status == 200 { NEW_PASSWORD } else { "yet another password" }).ok().await;
    let entries = server.get("/audit/logs?scope=instance&page_size=100").by(&ada).ok().await.to_string();
    assert!(entries.contains("Ada made a link with which grace@example.org can set a new password"), "{entries}");
    assert!(entries.contains("grace set a new password by a link"), "{entries}");
}

async fn a_link_expires_and_is_replaced(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Viewer).await;
    let path = format!("/instance/users/{}/password-reset", grace.user_id);
    let reset = |token: &serde_json::Value| {
        server.post("/auth/reset-password", json!({ "token": token, "password": NEW_PASSWORD }))
    };
    let first = server.post(&path, json!({})).by(&ada).ok().await["token"].clone();
    let second = server.post(&path, json!({})).by(&ada).ok().await["token"].clone();
    reset(&first).fails(404, "not_found").await;
    server.app.clock.advance_seconds(30 * 60);
    reset(&second).fails(404, "not_found").await;
    server.get("/user").by(&grace).ok().await;
    // Another password ends the link, whichever way it was set.
    let grace = server.post("/auth/login", json!({ "email": grace.email, "password": PASSWORD })).ok().await;
    let grace = crate::support::Person { token: grace["access_token"].as_str().unwrap().to_owned(), ..ada.clone() };
    let third = server.post(&path, json!({})).by(&ada).ok().await["token"].clone();
    let change = json!({ "current_password": PASSWORD, "new_password": "changed in time" });
    server.post("/auth/password", change).by(&grace).ok().await;
    reset(&third).fails(404, "not_found").await;
    let unknown = format!("/instance/users/{}/password-reset", server.app.new_id());
    server.post(&unknown, json!({})).by(&ada).fails(404, "not_found").await;
}

async fn an_audit_log_is_verified(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Admin).await;
    let eve = server.stranger(&ada, "eve").await;
    let whole = server.get("/audit/verify").by(&grace).ok().await;
    assert_eq!(whole, json!({ "entries": 7, "broken_at": null, "problem": "" }));
    server.get(&format!("/audit/verify?id={}", ada.organization_id)).by(&eve).fails(404, "not_found").await;
    let others = server.post("/organizations", json!({ "name": "Others" })).by(&grace).ok().await;
    let change = "update audit_entries set message = 'nothing' where message like '%invited grace%'";
    server.place.execute(change).await;
    let broken = server.get("/audit/verify").by(&grace).ok().await;
    assert_eq!((&broken["entries"], &broken["broken_at"]), (&json!(1), &json!(2)), "{broken}");
    // Another organization's is whole.
    let verified = server.get("/audit/verify").by(&grace).within(id_of(&others)).ok().await;
    assert_eq!((&verified["entries"], &verified["broken_at"]), (&json!(1), &json!(null)));
    let _walk = server.app.audit_walks.acquire().await.unwrap();
    server.get("/audit/verify").by(&grace).fails(429, "rate_limited").await;
}
