//! The caller and their settings.

use serde_json::json;
use windlass_testing::on_both_databases;

use crate::support::{TestServer, server};

on_both_databases!(server: user_record, settings_records, settings_are_ones_own, default_organization);

async fn user_record(server: TestServer) {
    let admin = server.admin().await;
    let reply = server.get("/user").by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    server.app.clock.advance_seconds(5);
    let renamed = server.patch("/user/name", json!({ "name": " Ada King " })).by(&admin).ok().await;
    assert_eq!(renamed["username"], "Ada King");
    assert_eq!(renamed["updated_at"], "2026-01-01T00:00:05.000000Z");
    assert_eq!(server.get("/user").by(&admin).ok().await, renamed);
}

async fn settings_records(server: TestServer) {
    let admin = server.admin().await;
    let reply = server.get("/user/settings").by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    server.app.clock.advance_seconds(5);
    let reply = server.patch("/user/settings/auto-update", json!({ "auto_update": false })).by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let reply = server.patch("/user/settings/theme", json!({ "theme": "arctic-chill" })).by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let font = json!({ "font_family": "Iosevka", "font_size": 14 });
    server.patch("/user/settings/font", font).by(&admin).ok().await;
    server.patch("/user/settings/font", json!({ "font_size": 15 })).by(&admin).ok().await;
    server.patch("/user/settings/language", json!({ "language": "pt-BR" })).by(&admin).ok().await;
    let settings = server.get("/user/settings").by(&admin).ok().await;
    let kept = ["auto_update", "theme", "font_family", "font_size", "language"].map(|name| settings[name].clone());
    assert_eq!(kept, [json!(false), json!("arctic-chill"), json!("Iosevka"), json!(15), json!("pt-BR")]);
}

async fn settings_are_ones_own(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    server.patch("/user/settings/theme", json!({ "theme": "dark" })).by(&eve).ok().await;
    assert_eq!(server.get("/user/settings").by(&admin).ok().await["theme"], "light");
}

async fn default_organization(server: TestServer) {
    let admin = server.admin().await;
    let second = server.post("/organizations", json!({ "name": "Second" })).by(&admin).ok().await;
    assert_eq!(server.get("/organizations").by(&admin).ok().await["name"], "Analytical Engines");
    server.patch("/user/organization", json!({ "organization_id": second["id"] })).by(&admin).ok().await;
    assert_eq!(server.get("/organizations").by(&admin).ok().await["name"], "Second");
    let reply = server.get("/user/organizations").by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    // Deleting the default one falls back to the oldest that is left.
    server.delete("/organizations").by(&admin).ok().await;
    assert_eq!(server.get("/organizations").by(&admin).ok().await["name"], "Analytical Engines");
}
