//! Keys for programs.

use serde_json::{Value, json};
use windlass_api::{Can, Role};
use windlass_testing::on_both_databases;

use crate::support::{Person, TestServer, id_of, server};

on_both_databases!(server: a_key_acts_for_its_maker, a_key_never_exceeds_its_owner, permissions_taken_away_act_at_once,
    a_key_knows_one_organization, a_key_is_no_ladder, keys_are_revoked_and_expire, others_keys, keys_are_bounded);

/// A key, and the person who uses it.
async fn make(server: &TestServer, person: &Person, body: Value) -> (Value, Person) {
    let created = server.post("/auth/api-keys", body).by(person).ok().await;
    let token = created["key"].as_str().unwrap().to_owned();
    (created["api_key"].clone(), Person { token, ..person.clone() })
}

async fn a_key_acts_for_its_maker(server: TestServer) {
    let ada = server.admin().await;
    let body =
        json!({ "name": "ci", "permissions": ["organization:read", "organization:update"], "expires_in_days": 7 });
    let (record, key) = make(&server, &ada, body).await;
    assert!(key.token.starts_with("wlk_") && key.token.starts_with(record["hint"].as_str().unwrap()));
    assert_eq!(record["expires_at"], "2026-01-08T00:00:00.000000Z");
    assert_eq!(server.get("/organizations").by(&key).ok().await["name"], "Analytical Engines");
    server.put("/organizations", json!({ "name": "Engines" })).by(&key).ok().await;
    // Who is in it takes another permission, also inside the organization's own record.
    assert_eq!(server.get("/organizations").by(&key).ok().await["users"], json!([]));
    let renamed = server.put("/organizations", json!({ "name": "Engines" })).by(&key).ok().await;
    assert_eq!(renamed["users"], json!([]));
    let message = server.get("/organizations/users").by(&key).fails(403, "forbidden").await;
    assert_eq!(message, "This API key lacks the permission member:read.");
    let message = server.get("/user").by(&key).fails(403, "login_required").await;
    assert!(message.contains("API key"), "{message}");

    server.app.clock.advance_seconds(90);
    server.get("/organizations").by(&key).ok().await;
    let listed = server.get("/auth/api-keys").by(&ada).ok().await;
    assert_eq!(listed[0]["last_used_at"], "2026-01-01T00:01:30.000000Z");
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["name"]), (1, &json!("ci")));
    // By default everything that its maker may do, for ninety days.
    let (record, _) = make(&server, &ada, json!({ "name": "all" })).await;
    assert_eq!(record["permissions"], json!(Role::Owner.permissions(true)));
    assert_eq!(record["expires_at"], "2026-04-01T00:01:30.000000Z");
}

async fn a_key_never_exceeds_its_owner(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "grace", Role::Viewer).await;
    let body = json!({ "name": "sly", "permissions": ["organization:read", "organization:update"] });
    let message = server.post("/auth/api-keys", body).by(&viewer).fails(403, "forbidden").await;
    assert_eq!(message, "permissions: you do not have organization:update yourself.");
    let none = json!({ "name": "none", "permissions": [] });
    server.post("/auth/api-keys", none).by(&viewer).fails(400, "invalid_request").await;
    let message = server
        .post("/auth/api-keys", json!({ "name": "x", "permissions": ["deploy:read", "root"] }))
        .by(&viewer)
        .fails(400, "invalid_request")
        .await;
    assert!(message.starts_with("permissions[1]: must be a permission"), "{message}");
    let (record, _) =
        make(&server, &viewer, json!({ "name": "fine", "permissions": ["audit:read", "audit:read"] })).await;
    assert_eq!(record["permissions"], json!(["audit:read"]));
}

async fn permissions_taken_away_act_at_once(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Admin).await;
    let (_, key) = make(&server, &grace, json!({ "name": "ci" })).await;
    let rename = |name: &str| json!({ "name": name });
    let change = |role: &str| json!({ "user_id": grace.user_id, "role": role });
    for caller in [&grace, &key] {
        server.put("/organizations", rename("A")).by(caller).ok().await;
    }
    server.post("/organizations/update-user-role", change("viewer")).by(&ada).ok().await;
    for caller in [&grace, &key] {
        server.put("/organizations", rename("B")).by(caller).fails(403, "forbidden").await;
        server.get("/organizations").by(caller).ok().await;
    }
    // Given back, it works again: the key's own list has not changed.
    server.post("/organizations/update-user-role", change("admin")).by(&ada).ok().await;
    for caller in [&grace, &key] {
        server.put("/organizations", rename("C")).by(caller).ok().await;
    }
    server.post("/organizations/remove-user", json!({ "user_id": grace.user_id })).by(&ada).ok().await;
    server.get("/organizations").by(&key).fails(401, "unauthenticated").await;
    server.get("/organizations").by(&grace).fails(404, "not_found").await;
    assert_eq!(server.get("/auth/api-keys").by(&grace).ok().await, json!([]));
}

async fn a_key_knows_one_organization(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Admin).await;
    let other = id_of(&server.post("/organizations", json!({ "name": "Elsewhere" })).by(&ada).ok().await);
    let invitation = json!({ "email": grace.email, "organization_id": other });
    let token = server.post("/organizations/invite/send", invitation).by(&ada).ok().await["token"].clone();
    server.post("/organizations/invite/accept", json!({ "token": token })).by(&grace).ok().await;
    let (_, key) = make(&server, &ada, json!({ "name": "ci" })).await;

    let body = json!({ "name": "Taken", "id": other });
    server.put("/organizations", body).by(&key).fails(404, "not_found").await;
    server.get(&format!("/organizations?id={other}")).by(&key).fails(404, "not_found").await;
    let message = server.get("/organizations").by(&key).within(other).fails(403, "forbidden").await;
    assert!(message.contains("another organization"), "{message}");
    server.get("/organizations").by(&key).within(ada.organization_id).ok().await;
    // Its maker's other organizations do not show, not even those shared with the people in the answer.
    for path in ["/organizations", "/organizations/users"] {
        let reply = server.get(path).by(&key).send().await;
        assert!(!reply.text.contains("Elsewhere") && !reply.text.contains(&other.to_string()), "{}", reply.text);
    }
    let change = json!({ "user_id": grace.user_id, "role": "member" });
    let reply = server.post("/organizations/update-user-role", change.clone()).by(&ada).send().await;
    assert!(reply.text.contains(&other.to_string()), "a login sees them: {}", reply.text);
    let reply = server.post("/organizations/update-user-role", change).by(&key).send().await;
    assert!(reply.status == 200 && !reply.text.contains("Elsewhere"), "{}", reply.text);
    // The default organization of a login does not matter to the key.
    server.patch("/user/organization", json!({ "organization_id": other })).by(&ada).ok().await;
    assert_eq!(id_of(&server.get("/organizations").by(&key).ok().await), ada.organization_id);
}

/// What a key may hand on is what it has.
async fn a_key_is_no_ladder(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Viewer).await;
    let few =
        json!({ "name": "few", "permissions": ["organization:read", "member:read", "member:create", "member:update"] });
    let (_, key) = make(&server, &ada, few).await;
    for role in ["admin", "member", "viewer"] {
        let invitation = json!({ "email": "x@example.org", "role": role });
        server.post("/organizations/invite/send", invitation).by(&key).fails(403, "forbidden").await;
        let change = json!({ "user_id": grace.user_id, "role": role });
        server.post("/organizations/update-user-role", change).by(&key).fails(403, "forbidden").await;
    }
    let all: Vec<_> = Role::Admin.permissions(true).into_iter().map(Can::as_str).collect();
    let (_, key) = make(&server, &ada, json!({ "name": "admin", "permissions": all })).await;
    let owner = json!({ "email": "x@example.org", "role": "owner" });
    let message = server.post("/organizations/invite/send", owner).by(&key).fails(403, "forbidden").await;
    assert!(message.contains("owner:update"), "{message}");
    let admin = json!({ "email": "x@example.org", "role": "admin" });
    server.post("/organizations/invite/send", admin.clone()).by(&key).ok().await;
    // This organization has host access, so its admins may do one thing more than those of others.
    let less: Vec<_> = Role::Admin.permissions(false).into_iter().map(Can::as_str).collect();
    let (_, key) = make(&server, &ada, json!({ "name": "less", "permissions": less })).await;
    let message = server.post("/organizations/invite/send", admin).by(&key).fails(403, "forbidden").await;
    assert!(message.contains("extension:host"), "{message}");
    // Nor does a program take its maker out of the organization just because people may leave.
    let (_, reader) = make(&server, &grace, json!({ "name": "reader" })).await;
    let leave = json!({ "user_id": grace.user_id });
    server.post("/organizations/remove-user", leave.clone()).by(&reader).fails(403, "forbidden").await;
    server.post("/organizations/remove-user", leave).by(&grace).ok().await;
}

async fn keys_are_revoked_and_expire(server: TestServer) {
    let ada = server.admin().await;
    let (first, key) = make(&server, &ada, json!({ "name": "a", "expires_in_days": 1 })).await;
    let (_, other) = make(&server, &ada, json!({ "name": "b", "expires_in_days": 1 })).await;
    let path = format!("/auth/api-keys/{}", first["id"].as_str().unwrap());
    server.delete(&path).by(&ada).ok().await;
    server.delete(&path).by(&ada).fails(404, "not_found").await;
    let message = server.get("/organizations").by(&key).fails(401, "unauthenticated").await;
    assert!(message.contains("API key"), "{message}");
    server.app.clock.advance_seconds(86_399);
    server.get("/organizations").by(&other).ok().await;
    server.app.clock.advance_seconds(1);
    server.get("/organizations").by(&other).fails(401, "unauthenticated").await;
    // Still listed, so that people see why; a month later it is gone.
    assert_eq!(server.get("/auth/api-keys").by(&ada).ok().await.as_array().unwrap().len(), 1);
    server.app.clock.advance_seconds(30 * 86_400);
    windlass_server::service::housekeeping::sweep(&server.app).await.unwrap();
    let body = json!({ "email": ada.email, "password": crate::support::PASSWORD });
    let token = server.post("/auth/login", body).ok().await["access_token"].as_str().unwrap().to_owned();
    assert_eq!(server.get("/auth/api-keys").by(&Person { token, ..ada }).ok().await, json!([]));
}

async fn others_keys(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "grace", Role::Member).await;
    let (record, key) = make(&server, &grace, json!({ "name": "hers", "permissions": ["organization:read"] })).await;
    let path = format!("/organizations/api-keys/{}", record["id"].as_str().unwrap());
    let own = format!("/auth/api-keys/{}", record["id"].as_str().unwrap());
    server.get("/organizations/api-keys").by(&grace).fails(403, "forbidden").await;
    server.delete(&path).by(&grace).fails(403, "forbidden").await;
    server.delete(&own).by(&ada).fails(404, "not_found").await;
    assert_eq!(server.get("/auth/api-keys").by(&ada).ok().await, json!([]));
    let listed = server.get("/organizations/api-keys").by(&ada).ok().await;
    assert_eq!((&listed[0]["name"], &listed[0]["user_id"]), (&json!("hers"), &json!(grace.user_id)));
    server.delete(&path).by(&ada).ok().await;
    server.get("/organizations").by(&key).fails(401, "unauthenticated").await;
}

async fn keys_are_bounded(server: TestServer) {
    let ada = server.admin().await;
    for number in 0..50 {
        make(&server, &ada, json!({ "name": number.to_string() })).await;
    }
    let message = server.post("/auth/api-keys", json!({ "name": "one more" })).by(&ada).fails(409, "conflict").await;
    assert!(message.contains("50 API keys"), "{message}");
}
