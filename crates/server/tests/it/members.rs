//! Members and their roles.

use serde_json::json;
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::support::{PASSWORD, TestServer, server};

on_both_databases!(server: a_demotion_takes_back_invitations, roles, the_last_owner_stays, owners_are_changed_by_owners_only, leaving, two_owners_cannot_demote_each_other);

async fn roles(server: TestServer) {
    let admin = server.admin().await;
    let grace = server.join(&admin, "grace", Role::Viewer).await;
    server.app.clock.advance_seconds(7);
    let body = json!({ "user_id": grace.user_id, "role": "member" });
    let reply = server.post("/organizations/update-user-role", body.clone()).by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let message = server.post("/organizations/update-user-role", body).by(&grace).fails(403, "forbidden").await;
    assert!(message.contains("member:update") && message.contains("admin"), "{message}");
    let stranger = server.stranger(&admin, "eve").await;
    let body = json!({ "user_id": stranger.user_id, "role": "viewer" });
    server.post("/organizations/update-user-role", body).by(&admin).fails(404, "not_found").await;
}

async fn the_last_owner_stays(server: TestServer) {
    let admin = server.admin().await;
    let grace = server.join(&admin, "grace", Role::Admin).await;
    let demote = json!({ "user_id": admin.user_id, "role": "admin" });
    server.post("/organizations/update-user-role", demote.clone()).by(&admin).fails(409, "last_owner").await;
    let leave = json!({ "user_id": admin.user_id });
    server.post("/organizations/remove-user", leave).by(&admin).fails(409, "last_owner").await;
    let promote = json!({ "user_id": grace.user_id, "role": "owner" });
    server.post("/organizations/update-user-role", promote).by(&admin).ok().await;
    server.post("/organizations/update-user-role", demote).by(&admin).ok().await;
    let again = json!({ "user_id": grace.user_id, "role": "viewer" });
    server.post("/organizations/update-user-role", again).by(&grace).fails(409, "last_owner").await;
}

async fn owners_are_changed_by_owners_only(server: TestServer) {
    let admin = server.admin().await;
    let grace = server.join(&admin, "grace", Role::Admin).await;
    for (path, body) in [
        ("/organizations/update-user-role", json!({ "user_id": admin.user_id, "role": "viewer" })),
        ("/organizations/update-user-role", json!({ "user_id": grace.user_id, "role": "owner" })),
        ("/organizations/remove-user", json!({ "user_id": admin.user_id })),
        ("/organizations/invite/send", json!({ "email": "x@example.org", "role": "owner" })),
    ] {
        let message = server.post(path, body).by(&grace).fails(403, "forbidden").await;
        assert!(message.contains("owner:update"), "{message}");
    }
}

async fn leaving(server: TestServer) {
    let admin = server.admin().await;
    let grace = server.join(&admin, "grace", Role::Viewer).await;
    server
        .post("/organizations/remove-user", json!({ "user_id": admin.user_id }))
        .by(&grace)
        .fails(403, "forbidden")
        .await;
    server.post("/organizations/remove-user", json!({ "user_id": grace.user_id })).by(&grace).ok().await;
    let users = server.get("/organizations/users").by(&admin).ok().await;
    assert_eq!(users.as_array().unwrap().len(), 1);
}

async fn two_owners_cannot_demote_each_other(server: TestServer) {
    let admin = server.admin().await;
    let grace = server.join(&admin, "grace", Role::Owner).await;
    let demote = |by, of: uuid::Uuid| {
        server.post("/organizations/update-user-role", json!({ "user_id": of, "role": "member" })).by(by).send()
    };
    let (a, b) = tokio::join!(demote(&admin, grace.user_id), demote(&grace, admin.user_id));
    let mut statuses = [a.status, b.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 403], "{} {}", a.text, b.text);
}

/// An owner who becomes an admin has no ownership to give any more, promised or not.
async fn a_demotion_takes_back_invitations(server: TestServer) {
    let ada = server.admin().await;
    let bob = server.join(&ada, "bob", Role::Owner).await;
    let invitation = json!({ "email": "bob2@example.org", "role": "owner" });
    let token = server.post("/organizations/invite/send", invitation).by(&bob).ok().await["token"].clone();
    let demote = json!({ "user_id": bob.user_id, "role": "admin" });
    server.post("/organizations/update-user-role", demote).by(&ada).ok().await;
    let register = json!({ "email": "bob2@example.org", "password": PASSWORD, "token": token });
    server.post("/auth/register", register).fails(404, "not_found").await;
}
