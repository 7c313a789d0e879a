//! Invitations.

use serde_json::json;
use windlass_api::Role;
use windlass_testing::on_both_databases;

use crate::support::{TestServer, server};

on_both_databases!(server: an_expired_invitation_is_in_nobodys_way, who_leaves_takes_their_invitations_along, invite_and_accept, a_second_invitation_replaces_the_first, invitations_expire, for_somebody_else);

async fn invite_and_accept(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let body = json!({ "email": "Eve@example.org", "role": "admin" });
    let reply = server.post("/organizations/invite/send", body.clone()).by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let token = reply.json["data"]["token"].clone();
    let reply = server.get("/organizations/invites").by(&admin).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let reply = server.post("/organizations/invite/accept", json!({ "token": token })).by(&eve).send().await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(server.get("/organizations/invites").by(&admin).ok().await, json!([]));
    server.post("/organizations/invite/accept", json!({ "token": token })).by(&eve).fails(404, "not_found").await;
    server.post("/organizations/invite/send", body).by(&admin).fails(409, "already_member").await;
    // Joining one more organization does not change where one acts by default.
    assert_eq!(server.get("/organizations").by(&eve).ok().await["name"], "eve's own");
}

async fn a_second_invitation_replaces_the_first(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let body = json!({ "email": "eve@example.org" });
    let first = server.post("/organizations/invite/send", body.clone()).by(&admin).ok().await;
    let second = server.post("/organizations/invite/send", body).by(&admin).ok().await;
    assert_eq!(server.get("/organizations/invites").by(&admin).ok().await.as_array().unwrap().len(), 1);
    let accept = |token: &serde_json::Value| server.post("/organizations/invite/accept", json!({ "token": token }));
    accept(&first["token"]).by(&eve).fails(404, "not_found").await;
    accept(&second["token"]).by(&eve).ok().await;
}

async fn invitations_expire(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let token = server.post("/organizations/invite/send", json!({ "email": "eve@example.org" })).by(&admin).ok().await
        ["token"]
        .clone();
    server.app.clock.advance_seconds(6 * 86_400);
    let eve = server.post("/auth/refresh", json!({})).by(&eve).ok().await["access_token"].clone();
    server.app.clock.advance_seconds(86_400);
    let call = server.post("/organizations/invite/accept", json!({ "token": token }));
    call.header("authorization", &format!("Bearer {}", eve.as_str().unwrap())).fails(404, "not_found").await;
}

async fn for_somebody_else(server: TestServer) {
    let admin = server.admin().await;
    let eve = server.stranger(&admin, "eve").await;
    let token = server
        .post("/organizations/invite/send", json!({ "email": "mallory@example.org" }))
        .by(&admin)
        .ok()
        .await["token"]
        .clone();
    let call = server.post("/organizations/invite/accept", json!({ "token": token }));
    call.by(&eve).fails(403, "invitation_for_another_address").await;
    let grace = server.join(&admin, "grace", Role::Member).await;
    let message = server
        .post("/organizations/invite/send", json!({ "email": "x@example.org" }))
        .by(&grace)
        .fails(403, "forbidden")
        .await;
    assert!(message.contains("member:create"), "{message}");
}

async fn an_expired_invitation_is_in_nobodys_way(server: TestServer) {
    let admin = server.admin().await;
    server.post("/organizations/invite/send", json!({ "email": "x@example.org" })).by(&admin).ok().await;
    server.app.clock.advance_seconds(6 * 86_400);
    let token = server.post("/auth/refresh", json!({})).by(&admin).ok().await["access_token"].clone();
    server.app.clock.advance_seconds(86_400);
    let bearer = format!("Bearer {}", token.as_str().unwrap());
    let open = server.get("/organizations/invites").header("authorization", &bearer).ok().await;
    assert_eq!(open, json!([]));
    server.delete("/organizations").header("authorization", &bearer).ok().await;
}

async fn who_leaves_takes_their_invitations_along(server: TestServer) {
    let admin = server.admin().await;
    let organization = admin.organization_id;
    for change in ["remove", "demote"] {
        let grace = server.join(&admin, &format!("grace-{change}"), Role::Admin).await;
        let body = json!({ "email": "second-address@example.org", "role": "admin" });
        server.post("/organizations/invite/send", body).by(&grace).ok().await;
        let of_admin = json!({ "email": format!("friend-{change}@example.org") });
        server.post("/organizations/invite/send", of_admin).by(&admin).ok().await;
        let body = json!({ "user_id": grace.user_id, "organization_id": organization, "role": "member" });
        if change == "demote" {
            server.post("/organizations/update-user-role", body).by(&admin).ok().await;
        } else {
            server.post("/organizations/remove-user", json!({ "user_id": grace.user_id })).by(&admin).ok().await;
        }
        let open = server.get("/organizations/invites").by(&admin).ok().await;
        let open: Vec<_> = open.as_array().unwrap().iter().map(|invitation| invitation["email"].clone()).collect();
        assert!(!open.contains(&json!("second-address@example.org")), "{change}: {open:?}");
        assert!(open.contains(&json!(format!("friend-{change}@example.org"))), "{change}: {open:?}");
    }
}
