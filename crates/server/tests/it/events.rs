//! The live event stream.

use std::time::Duration;

use serde_json::json;
use windlass_api::Role;
use windlass_server::App;
use windlass_store::{Kind, events};
use windlass_testing::{DatabaseLocation, on_both_databases};

use crate::deploys::least;
use crate::follow::{Event, Events};
use crate::support::{Person, TestServer, id_of, kind, server};

on_both_databases!(server: what_happens_is_told, resuming, only_ones_own_organization, a_gap_is_told,
    what_fails_leaves_no_event, events_of_another_server, ends_with_the_server, bad_cursors, members_come_change_and_go,
    api_keys_are_told_to_those_who_may_list_them);
on_both_databases!(kind: ends_with_the_membership, followers_are_bounded, all_followers_are_bounded,
    old_events_are_swept);

impl TestServer {
    pub async fn events(&self, person: &Person, end: &str) -> Events {
        Events::open(self.get(&format!("/events{end}")).by(person)).await
    }
}

impl Events {
    pub async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(self.named().await);
        }
        names
    }

    /// The name of the next one.
    pub async fn named(&mut self) -> String {
        let event = self.next().await.expect("another event");
        assert_eq!((event.name.as_str(), event.data["id"].to_string()), ("", event.id));
        event.data["name"].as_str().unwrap().to_owned()
    }
}

async fn what_happens_is_told(server: TestServer) {
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let shop = server.deploy(&ada, least("shop")).await;
    assert_eq!(events.names(2).await, ["application.created", "deployment.queued"]);
    let deployment = &shop["deployments"][0]["id"];
    server.post("/deploy/application/cancel-deployment", json!({ "id": deployment })).by(&ada).ok().await;
    let Event { data, .. } = events.next().await.unwrap();
    assert_eq!((&data["name"], &data["deployment_id"]), (&json!("deployment.cancelled"), deployment));
    assert_eq!((&data["organization_id"], &data["application_id"]), (&json!(ada.organization_id), &shop["id"]));
    assert_eq!(data["details"], json!({ "application": "shop", "kind": "deploy", "reason": "cancelled by Ada" }));
    let Event { data, .. } = events.next().await.unwrap();
    assert_eq!(data["name"], "application.failed");
    assert_eq!(data["details"], json!({ "application": "shop", "before": "deploying" }));
    let body = json!({ "id": shop["id"], "name": "store" });
    server.put("/deploy/application", body).by(&ada).ok().await;
    assert_eq!(events.names(1).await, ["application.updated"]);
    server.post("/deploy/application/redeploy", json!({ "id": shop["id"] })).by(&ada).ok().await;
    assert_eq!(events.names(2).await, ["deployment.queued", "application.deploying"]);
}

async fn resuming(server: TestServer) {
    let ada = server.admin().await;
    server.deploy(&ada, least("shop")).await;
    let mut all = server.events(&ada, "?after=0").await;
    let first = all.next().await.unwrap();
    let second = all.next().await.unwrap();
    assert_eq!(first.data["name"], "application.created");
    drop(all);
    let resumed = server.get("/events").by(&ada).header("last-event-id", &first.id);
    let mut resumed = Events::open(resumed).await;
    assert_eq!(resumed.next().await.unwrap(), second);
    let mut from_now_on = server.events(&ada, "").await;
    server.deploy(&ada, least("other")).await;
    assert_eq!(from_now_on.names(1).await, ["application.created"]);
}

async fn only_ones_own_organization(server: TestServer) {
    let ada = server.admin().await;
    let bob = server.stranger(&ada, "bob").await;
    let mut events = server.events(&bob, "?after=0").await;
    server.deploy(&ada, least("shop")).await;
    let theirs = server.deploy(&bob, least("other")).await;
    let Event { data, .. } = events.next().await.unwrap();
    assert_eq!((&data["name"], &data["application_id"]), (&json!("application.created"), &theirs["id"]));
    // An organization that one is not in, and a key that may not read.
    server.get("/events").by(&bob).within(ada.organization_id).fails(403, "forbidden").await;
    let body = json!({ "name": "ci", "permissions": ["audit:read"] });
    let key = server.post("/auth/api-keys", body).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let by_key = server.get("/events").header("authorization", &format!("Bearer {key}"));
    by_key.fails(403, "forbidden").await;
    let viewer = server.join(&ada, "vera", Role::Viewer).await;
    let seen = server.get("/events?after=0").by(&viewer).within(ada.organization_id);
    let names = Events::open(seen).await.names(3).await;
    assert_eq!(names, ["member.added", "member.removed", "application.created"], "of Bob, who is a stranger now");
}

async fn a_gap_is_told(server: TestServer) {
    let ada = server.admin().await;
    for name in ["one", "two", "three"] {
        server.deploy(&ada, least(name)).await;
    }
    let mut tx = server.app.db.begin().await.unwrap();
    let later = server.app.now().plus_seconds(1);
    assert_eq!(events::forget_before(&mut tx, later, 4).await.unwrap(), 4);
    tx.commit().await.unwrap();
    let mut behind = Events::open(server.get("/events").by(&ada).header("last-event-id", "1")).await;
    let gap = behind.next().await.unwrap();
    assert_eq!((gap.name.as_str(), gap.id.as_str()), ("gap", "4"));
    assert_eq!(behind.names(2).await, ["application.created", "deployment.queued"]);
    // 0 asks for what there is.
    assert_eq!(server.events(&ada, "?after=0").await.names(1).await, ["application.created"]);
    // One from the future belongs to a database that was put back to an earlier time.
    let mut ahead = Events::open(server.get("/events").by(&ada).header("last-event-id", "999")).await;
    assert_eq!(ahead.next().await.unwrap().name, "gap");
}

/// The event is part of the change.
async fn what_fails_leaves_no_event(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("shop");
    body["port"] = json!(99_999);
    server.post("/deploy/application", body).by(&ada).fails(400, "invalid_request").await;
    assert_eq!(events::last_seq(&mut server.app.db.read().await.unwrap()).await.unwrap(), 0);
}

/// Only PostgreSQL is shared, and no server tells another what it writes.
async fn events_of_another_server(server: TestServer) {
    if server.place.url.is_none() {
        return;
    }
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let other = server.place.open().await;
    let mut tx = other.begin().await.unwrap();
    let event = events::NewEvent {
        name: windlass_api::EventName::ApplicationCrashed,
        organization_id: ada.organization_id,
        application_id: None,
        deployment_id: None,
        details: "{}".into(),
        created_at: server.app.now(),
    };
    events::append(&mut tx, &[event]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(events.names(1).await, ["application.crashed"]);
}

async fn ends_with_the_server(server: TestServer) {
    let ada = server.admin().await;
    let events = server.events(&ada, "").await;
    server.app.stopping.send_replace(true);
    events.ends().await;
}

async fn ends_with_the_membership(kind: Kind) {
    let tune = |app: &mut App| app.searches.heartbeat = Duration::from_millis(100);
    let server = TestServer::tuned(DatabaseLocation::fresh(kind).await, &[], tune).await;
    let ada = server.admin().await;
    let vera = server.join(&ada, "vera", Role::Viewer).await;
    let call = server.get("/events").by(&vera).within(ada.organization_id);
    let events = Events::open(call).await;
    server.post("/organizations/remove-user", json!({ "user_id": vera.user_id })).by(&ada).ok().await;
    events.ends().await;
}

async fn followers_are_bounded(kind: Kind) {
    let server = TestServer::with(kind, &[("event-followers", "1")]).await;
    let ada = server.admin().await;
    let first = server.events(&ada, "").await;
    let message = server.get("/events").by(&ada).fails(429, "rate_limited").await;
    assert_eq!(message, "Events are followed 1 times at once in this organization, or by you, which is the limit.");
    // A user has no more of them in another organization of theirs, and does not use up what is another user's.
    let other = server.post("/organizations", json!({ "name": "other" })).by(&ada).ok().await;
    server.get("/events").by(&ada).within(id_of(&other)).fails(429, "rate_limited").await;
    let bob = server.stranger(&ada, "bob").await;
    let _second = Events::open(server.get("/events").by(&bob).within(bob.organization_id)).await;
    drop(first);
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while server.get("/events").by(&ada).open().await.status() != 200 {
        assert!(std::time::Instant::now() < deadline, "the place stays taken");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Others find a connection to the server, however many organizations follow.
async fn all_followers_are_bounded(kind: Kind) {
    let server = TestServer::with(kind, &[("max-connections", "8")]).await;
    let ada = server.admin().await;
    let (_first, _second) = (server.events(&ada, "").await, server.events(&ada, "").await);
    let message = server.get("/events").by(&ada).fails(429, "rate_limited").await;
    assert_eq!(message, "This server has as many followers as it can take. Try again later.");
}

async fn old_events_are_swept(kind: Kind) {
    let server = TestServer::with(kind, &[("event-days", "2")]).await;
    let ada = server.admin().await;
    let shop = server.deploy(&ada, least("shop")).await;
    server.app.clock.advance_seconds(86_400);
    server.put("/deploy/application", json!({ "id": shop["id"], "name": "store" })).by(&ada).ok().await;
    let kept = async || {
        windlass_server::service::housekeeping::sweep(&server.app).await.unwrap();
        events::after(&mut server.app.db.read().await.unwrap(), 0, 10).await.unwrap().len()
    };
    assert_eq!(kept().await, 3);
    server.app.clock.advance_seconds(86_401);
    assert_eq!(kept().await, 1);
}

async fn bad_cursors(server: TestServer) {
    let ada = server.admin().await;
    for bad in ["x", "-1", "1.5", "9223372036854775808"] {
        let message = server.get(&format!("/events?after={bad}")).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with("after: must be the id of an event"), "{message}");
        let call = server.get("/events").by(&ada).header("last-event-id", bad);
        assert_eq!(call.fails(400, "invalid_request").await, "last-event-id: must be the id of an event");
    }
}

async fn members_come_change_and_go(server: TestServer) {
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let bob = server.join(&ada, "bob", Role::Viewer).await;
    let Event { data, .. } = events.next().await.unwrap();
    assert_eq!((&data["name"], &data["application_id"]), (&json!("member.added"), &json!(null)));
    assert_eq!(data["details"], json!({ "member": "bob", "role": "viewer", "by": "bob" }));
    let change = |role: &str| json!({ "user_id": bob.user_id, "role": role });
    // The same role again is no change.
    for role in ["admin", "admin"] {
        server.post("/organizations/update-user-role", change(role)).by(&ada).ok().await;
    }
    let Event { data, .. } = events.next().await.unwrap();
    assert_eq!(data["name"], "member.role_changed");
    assert_eq!(data["details"], json!({ "member": "bob", "before": "viewer", "role": "admin", "by": "Ada" }));
    server.post("/organizations/remove-user", json!({ "user_id": bob.user_id })).by(&ada).ok().await;
    let Event { data, .. } = events.next().await.unwrap();
    assert_eq!(data["name"], "member.removed");
    assert_eq!(data["details"], json!({ "member": "bob", "by": "Ada" }));
}

async fn api_keys_are_told_to_those_who_may_list_them(server: TestServer) {
    let ada = server.admin().await;
    let vera = server.join(&ada, "vera", Role::Viewer).await;
    let (mut of_ada, mut of_vera) = (server.events(&ada, "").await, server.events(&vera, "").await);
    let made = server.post("/auth/api-keys", json!({ "name": "ci", "expires_in_days": 1 })).by(&vera).ok().await;
    let Event { data, .. } = of_ada.next().await.unwrap();
    assert_eq!(data["name"], "api_key.created");
    let until = &made["api_key"]["expires_at"];
    assert_eq!(data["details"], json!({ "key": "ci", "member": "vera", "until": until }));
    server.deploy(&ada, least("shop")).await;
    assert_eq!(of_vera.names(1).await, ["application.created"], "she may not list keys");
}
