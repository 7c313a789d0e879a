//! Organizations.

use serde_json::json;
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::support::{TestServer, id_of, server, snapshot};

on_both_databases!(server: records, which_organization, updating, deleting, without_any_organization, a_user_has_a_bounded_number, switching_while_deleting);

async fn records(server: TestServer) {
    let admin = server.admin().await;
    server.join(&admin, "grace", Role::Member).await;
    server.app.clock.advance_seconds(60);
    let body = json!({ "name": " Difference Engines ", "description": "Second try" });
    let created = server.post("/organizations", body).by(&admin).send().await;
    snapshot("create_organization_shared", &created.json);
    // Both organizations can see in their audit log that one made the other.
    let new_id = id_of(&created.json["data"]);
    let mut conn = server.app.db.read().await.unwrap();
    for organization in [admin.organization_id, new_id] {
        let entry = windlass_store::audit::before(&mut conn, organization, i64::MAX, 1).await.unwrap().remove(0);
        let said = (entry.action.as_str(), entry.resource.as_str(), entry.resource_id.as_str(), entry.actor.as_str());
        assert_eq!(said, ("create", "organization", new_id.to_string().as_str(), "Ada"));
    }
    drop(conn);
    let reply = server.get("/organizations").by(&admin).send().await;
    snapshot("get_organization_shared", &reply.json);
    let reply = server.get("/organizations/users").by(&admin).send().await;
    snapshot("get_organization_users_shared", &reply.json);
}

async fn which_organization(server: TestServer) {
    let admin = server.admin().await;
    let second = server.post("/organizations", json!({ "name": "Second" })).by(&admin).ok().await["id"].clone();
    let third = server.post("/organizations", json!({ "name": "Third" })).by(&admin).ok().await["id"].clone();
    let (second, third) = (second.as_str().unwrap(), third.as_str().unwrap());
    // The body goes before the query, the query before the header, the header before the default.
    let name = async |call: crate::support::Call<'_>| call.by(&admin).ok().await["name"].clone();
    assert_eq!(name(server.get("/organizations")).await, "Analytical Engines");
    let in_third = |path: &str| server.get(path).within(third.parse().unwrap());
    assert_eq!(name(in_third("/organizations")).await, "Third");
    assert_eq!(name(in_third(&format!("/organizations?id={second}"))).await, "Second");
    let by_body = in_third(&format!("/organizations?id={third}")).json(json!({ "id": second }));
    assert_eq!(name(by_body).await, "Second");
    let renamed =
        server.put(&format!("/organizations?id={third}"), json!({ "name": "The third" })).by(&admin).ok().await;
    assert_eq!(renamed["id"], third);
    let invited = json!({ "email": "x@example.org" });
    let invited = server.post(&format!("/organizations/invite/send?id={third}"), invited).by(&admin).ok().await;
    assert_eq!(invited["invitation"]["organization_id"], third);
    let open = server.get("/organizations/invites").by(&admin).json(json!({ "id": third })).ok().await;
    assert_eq!(open.as_array().unwrap().len(), 1);
    let users = server.get("/organizations/users").by(&admin).json(json!({ "id": second })).ok().await;
    assert_eq!(users[0]["organization_id"], second);
}

async fn updating(server: TestServer) {
    let admin = server.admin().await;
    server.app.clock.advance_seconds(9);
    let updated = server.put("/organizations", json!({ "description": "Weaves patterns" })).by(&admin).ok().await;
    assert_eq!((&updated["name"], &updated["description"]), (&json!("Analytical Engines"), &json!("Weaves patterns")));
    assert_eq!(updated["updated_at"], "2026-01-01T00:00:09.000000Z");
    let updated = server.put("/organizations", json!({ "name": "Engines" })).by(&admin).ok().await;
    assert_eq!((&updated["name"], &updated["description"]), (&json!("Engines"), &json!("Weaves patterns")));
    let message = server.put("/organizations", json!({})).by(&admin).fails(400, "invalid_request").await;
    assert!(message.starts_with("name:"), "{message}");
}

async fn deleting(server: TestServer) {
    let admin = server.admin().await;
    let grace = server.join(&admin, "grace", Role::Admin).await;
    server.delete("/organizations").by(&grace).fails(403, "forbidden").await;
    let message = server.delete("/organizations").by(&admin).fails(409, "organization_not_empty").await;
    assert!(message.contains("1 other member"), "{message}");
    server.post("/organizations/remove-user", json!({ "user_id": grace.user_id })).by(&admin).ok().await;
    server.post("/organizations/invite/send", json!({ "email": "x@example.org" })).by(&admin).ok().await;
    let message = server.delete("/organizations").by(&admin).fails(409, "organization_not_empty").await;
    assert!(message.contains("1 open invitation"), "{message}");
    let invitation = server.get("/organizations/invites").by(&admin).ok().await[0]["id"].clone();
    server.delete(&format!("/organizations/invites/{}", invitation.as_str().unwrap())).by(&admin).ok().await;
    server.delete("/organizations").by(&admin).json(json!({ "id": admin.organization_id })).ok().await;
    let gone = format!("/organizations?id={}", admin.organization_id);
    server.get(&gone).by(&admin).fails(404, "not_found").await;
}

async fn without_any_organization(server: TestServer) {
    let admin = server.admin().await;
    server.delete("/organizations").by(&admin).ok().await;
    let message = server.get("/organizations").by(&admin).fails(404, "not_found").await;
    assert!(message.contains("Create one"), "{message}");
    assert_eq!(server.get("/user").by(&admin).ok().await["organizations"], json!([]));
    server.post("/organizations", json!({ "name": "Again" })).by(&admin).ok().await;
    assert_eq!(server.get("/organizations").by(&admin).ok().await["name"], "Again");
}

async fn a_user_has_a_bounded_number(server: TestServer) {
    let admin = server.admin().await;
    for number in 2..=100 {
        server.post("/organizations", json!({ "name": format!("Number {number}") })).by(&admin).ok().await;
    }
    server.post("/organizations", json!({ "name": "One too many" })).by(&admin).fails(409, "conflict").await;
    assert_eq!(server.get("/user/organizations").by(&admin).ok().await.as_array().unwrap().len(), 100);
}

/// Whatever the order, no caller gets an error that is not theirs, and the default is one that exists.
async fn switching_while_deleting(server: TestServer) {
    let admin = server.admin().await;
    for _ in 0..15 {
        let doomed = server.post("/organizations", json!({ "name": "Doomed" })).by(&admin).ok().await["id"].clone();
        let switch = server.patch("/user/organization", json!({ "organization_id": doomed })).by(&admin).send();
        let delete = server.delete("/organizations").json(json!({ "id": doomed })).by(&admin).send();
        let (switch, delete) = tokio::join!(switch, delete);
        assert!(matches!(switch.status, 200 | 404), "{}", switch.text);
        assert_eq!(delete.status, 200, "{}", delete.text);
        assert_eq!(server.get("/organizations").by(&admin).ok().await["name"], "Analytical Engines");
    }
}
