//! Members of one organization see nothing of another one, through whatever record.

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::support::{TestServer, server};

on_both_databases!(server: embedded_records_show_shared_organizations_only, foreign_and_unknown_are_the_same);

async fn embedded_records_show_shared_organizations_only(server: TestServer) {
    // Ada and Grace share one organization; each has another that the other must not learn of.
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Admin).await;
    let adas = server
        .post("/organizations", json!({ "name": "Secret of Ada", "description": "for Ada alone" }))
        .by(&ada)
        .ok()
        .await;
    let graces = server.post("/organizations", json!({ "name": "Secret of Grace" })).by(&grace).ok().await;
    for path in [
        "/organizations",
        "/organizations/users",
        "/user",
        "/user/settings",
        "/user/organizations",
        "/organizations/invites",
    ] {
        for (viewer, own, foreign) in [(&ada, &adas, &graces), (&grace, &graces, &adas)] {
            let reply = server.get(path).by(viewer).send().await;
            assert_eq!(reply.status, 200);
            let foreign = [&foreign["id"], &foreign["name"], &membership_of(foreign)["id"]];
            for secret in foreign.map(|value| value.as_str().unwrap()) {
                assert!(!reply.text.contains(secret), "{path} shows {secret}: {}", reply.text);
            }
            if path.starts_with("/user") {
                assert!(reply.text.contains(own["id"].as_str().unwrap()), "{path}");
            }
        }
    }
    // What both share is there.
    let users = server.get("/organizations/users").by(&ada).ok().await;
    for member in users.as_array().unwrap() {
        assert_eq!(member["organization"]["name"], "Analytical Engines");
    }
}

/// The founder's membership in an organization that was just created.
fn membership_of(organization: &Value) -> &Value {
    let memberships = organization["users"][0]["organization_users"].as_array().unwrap();
    memberships.iter().find(|membership| membership["organization_id"] == organization["id"]).unwrap()
}

async fn foreign_and_unknown_are_the_same(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let unknown = "01900000-0000-7000-8000-ffffffffffff";
    let foreign = ada.organization_id.to_string();
    for path in ["/organizations", "/organizations/users", "/organizations/invites"] {
        let a = server.get(&format!("{path}?id={unknown}")).by(&eve).send().await;
        let b = server.get(&format!("{path}?id={foreign}")).by(&eve).send().await;
        assert_eq!((a.status, &a.text), (404, &b.text));
    }
    for id in [unknown, &foreign] {
        server.get("/user").by(&eve).within(id.parse().unwrap()).fails(403, "forbidden").await;
        server.put("/organizations", json!({ "id": id, "name": "Mine now" })).by(&eve).fails(404, "not_found").await;
        server.delete("/organizations").json(json!({ "id": id })).by(&eve).fails(404, "not_found").await;
        server.patch("/user/organization", json!({ "organization_id": id })).by(&eve).fails(404, "not_found").await;
    }
    assert_eq!(server.get("/organizations").by(&ada).ok().await["name"], "Analytical Engines");
}
