//! Uptime checks: when an application is down, what is told of it, and what counts for nothing. What answers stands in for the edge.

use std::time::Duration;

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_edge::Listen;
use windlass_server::engine_health::EngineState;
use windlass_server::service::{self, housekeeping, queue};
use windlass_server::uptime::keeper::Keeper;
use windlass_server::uptime::verdict::Visited;
use windlass_store::jobs::{self, Search};
use windlass_store::{applications, uptime};
use windlass_testing::receiver::{Manner, Receiver};
use windlass_testing::{Kind, on_both_databases};

use crate::deploys::least;
use crate::follow::Events;
use crate::sessions::log_in;
use crate::support::{Person, TestServer, id_of, kind, server};
use crate::walk::{Operation, World};

on_both_databases!(
    server: an_outage_is_told_once, what_is_set_is_asked, what_is_not_meant_to_answer_is_not_down, a_stop_ends_an_outage_without_a_word,
    what_is_being_changed_is_not_judged, a_snapshot_is_no_outage, what_the_edge_says_is_not_the_application,
    an_engine_that_is_gone_says_nothing, without_an_edge_nothing_is_known, an_old_check_is_not_shown_as_fresh,
    a_clock_that_is_set_back_stops_nothing, what_was_changed_meanwhile_does_not_count, a_time_is_taken_once,
    organizations_take_turns, answers_that_do_not_come, history_is_bounded, previews_have_none
);
on_both_databases!(kind: so_many_of_an_organization);

/// A server whose engine is well, an application that is live, and what stands in for the edge.
pub struct Checked {
    pub server: TestServer,
    pub ada: Person,
    pub shop: Uuid,
    pub edge: Receiver,
}

impl Checked {
    pub async fn new(server: TestServer) -> Self {
        server.app.engine_health.set(EngineState::Well);
        let ada = server.admin().await;
        let shop = id_of(&server.running(&ada, least("shop")).await);
        Self { server, ada, shop, edge: Receiver::start() }
    }

    fn path(&self) -> String {
        format!("/deploy/application/{}/uptime", self.shop)
    }

    pub async fn set(&self, body: Value) -> Value {
        self.server.put(&self.path(), body).by(&self.ada).ok().await
    }

    pub async fn uptime(&self) -> Value {
        self.server.get(&self.path()).by(&self.ada).ok().await
    }

    async fn state(&self) -> String {
        self.uptime().await["state"].as_str().unwrap().to_owned()
    }

    /// Results, newest first.
    async fn results(&self) -> Vec<String> {
        let page = self.server.get(&format!("{}/checks", self.path())).by(&self.ada).ok().await;
        page["checks"].as_array().unwrap().iter().map(|one| one["result"].as_str().unwrap().to_owned()).collect()
    }

    pub async fn outages(&self) -> Vec<Value> {
        let page = self.server.get(&format!("{}/outages", self.path())).by(&self.ada).ok().await;
        page["outages"].as_array().unwrap().clone()
    }

    async fn events(&self) -> Events {
        self.server.events(&self.ada, "").await
    }

    /// So much later, all checks are made whose time has come.
    pub async fn pass(&self, seconds: i64) {
        self.server.app.clock.advance_seconds(seconds);
        let edge = Listen { http: vec![self.edge.address()], https: Vec::new() };
        Keeper::default().look_at(&self.server.app, Some(edge)).await.unwrap();
    }

    pub async fn passes(&self, count: usize) {
        for _ in 0..count {
            self.pass(60).await;
        }
    }

    async fn hold(&self, until: Option<Timestamp>) {
        let mut tx = self.server.app.db.begin().await.unwrap();
        applications::set_held_until(&mut tx, self.shop, until).await.unwrap();
        tx.commit().await.unwrap();
    }
}

impl World {
    /// A call about the uptime of an application.
    pub async fn about_uptime(&self, operation: &Operation) -> (String, Value) {
        let id = id_of(&self.running().await);
        let path = operation.path.replace("{application_id}", &id.to_string());
        let settings = json!({
            "enabled": true, "path": "/health?deep=1", "interval_seconds": 300, "expected_status": 204, "timeout_seconds": 5, "failures": 3,
        });
        if operation.id == "update_uptime_check" {
            return (path, settings);
        }
        let own = format!("/deploy/application/{id}/uptime");
        self.server.put(&own, settings).by(self.owner()).ok().await;
        if operation.id.starts_with("list_") {
            let app = &self.server.app;
            let mut conn = app.db.read().await.unwrap();
            let row = uptime::get(&mut conn, id).await.unwrap().unwrap();
            let situation = uptime::situation(&mut conn, id).await.unwrap().unwrap();
            drop(conn);
            app.engine_health.set(EngineState::Well);
            for _ in 0..3 {
                let failed = Visited::Answered { status: 500, page: None, after: Duration::from_millis(7) };
                service::uptime::conclude(app, &row, &situation, &failed).await.unwrap();
            }
            app.engine_health.set(EngineState::NotAsked);
        }
        (path, Value::Null)
    }
}

async fn an_outage_is_told_once(server: TestServer) {
    let checked = Checked::new(server).await;
    assert_eq!((checked.state().await.as_str(), checked.uptime().await["enabled"].clone()), ("off", json!(false)));
    let set = checked.set(json!({})).await;
    assert_eq!((&set["enabled"], &set["state"], &set["path"]), (&json!(true), &json!("no_recent_check"), &json!("/")));
    let mut events = checked.events().await;
    checked.pass(0).await;
    assert_eq!(checked.state().await, "up");
    checked.edge.always(Manner::status(500));
    checked.passes(1).await;
    assert_eq!(checked.state().await, "up", "one failure is not enough");
    checked.passes(1).await;
    let down = checked.uptime().await;
    assert_eq!((&down["state"], &down["reason"]), (&json!("down"), &json!("it answered with status 500")));
    let told = json!({ "application": "shop", "domain": "shop.localhost", "reason": "it answered with status 500" });
    assert_eq!(events.told("application.down").await, told);
    checked.passes(2).await;
    checked.server.nothing_more(&checked.ada, &mut events).await;
    checked.edge.always(Manner::status(204));
    checked.passes(1).await;
    assert_eq!(checked.state().await, "up");
    let told = json!({ "application": "shop", "domain": "shop.localhost", "lasted": "4 min 0 s" });
    assert_eq!(events.told("application.up").await, told);
    checked.passes(2).await;
    checked.server.nothing_more(&checked.ada, &mut events).await;
    let outages = checked.outages().await;
    assert_eq!(outages.len(), 1);
    assert_eq!(
        (&outages[0]["started_at"], &outages[0]["ended_at"], &outages[0]["recovered"]),
        (&json!("2026-01-01T00:01:00.000000Z"), &json!("2026-01-01T00:05:00.000000Z"), &json!(true))
    );
    assert_eq!(checked.results().await, ["up", "up", "up", "failed", "failed", "failed", "failed", "up"]);
    assert_eq!(
        checked.uptime().await["availability"],
        json!({ "last_24_hours": 50, "last_7_days": 50, "last_30_days": 50 })
    );
    // Page by page.
    let path = format!("{}/checks?limit=5", checked.path());
    let first = checked.server.get(&path).by(&checked.ada).ok().await;
    let next = format!("{path}&before={}", first["next_cursor"].as_str().unwrap());
    let second = checked.server.get(&next).by(&checked.ada).ok().await;
    let sizes = [&first, &second].map(|page| page["checks"].as_array().unwrap().len());
    assert_eq!((sizes, &second["next_cursor"]), ([5, 3], &Value::Null));
    let failed = &second["checks"][0];
    assert_eq!((&failed["status"], failed["answer_ms"].is_i64()), (&json!(500), true));
    let audit = checked.server.get("/audit/logs?resource_type=uptime").by(&checked.ada).ok().await;
    assert_eq!(audit["activities"][0]["message"], "Ada changed the uptime check of shop");
}

async fn what_is_set_is_asked(server: TestServer) {
    let checked = Checked::new(server).await;
    checked
        .set(json!({ "path": "/health?deep=1", "interval_seconds": 300, "expected_status": 404, "failures": 1 }))
        .await;
    checked.edge.always(Manner::status(404));
    checked.pass(0).await;
    assert_eq!(checked.state().await, "up");
    let asked = checked.edge.received().remove(0);
    let host = format!("shop.localhost:{}", checked.edge.address().port());
    assert_eq!((asked.target.as_str(), asked.header("host")), ("/health?deep=1", host.as_str()));
    assert!(asked.header("user-agent").starts_with("windlass-uptime/"), "{asked:?}");
    // Not before its time.
    checked.pass(299).await;
    assert_eq!(checked.edge.count(), 1);
    // A redirect is an answer, and not followed.
    checked.edge.always(Manner::with_header(302, "location", "/elsewhere"));
    checked.pass(1).await;
    assert_eq!((checked.edge.count(), checked.state().await.as_str()), (2, "down"), "it is not the one that is wanted");
    checked.set(json!({ "expected_status": 0 })).await;
    checked.pass(0).await;
    assert_eq!((checked.edge.count(), checked.state().await.as_str()), (3, "up"));
    let off = checked.set(json!({ "enabled": false })).await;
    assert_eq!(
        (&off["state"], &off["next_check_at"], &off["expected_status"]),
        (&json!("off"), &Value::Null, &json!(0))
    );
    checked.pass(3_600).await;
    assert_eq!(checked.edge.count(), 3);
    checked.server.delete(&checked.path()).by(&checked.ada).ok().await;
    checked.server.delete(&checked.path()).by(&checked.ada).fails(404, "not_found").await;
    assert_eq!((checked.results().await, checked.outages().await), (Vec::new(), Vec::new()));
}

async fn what_is_not_meant_to_answer_is_not_down(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1 })).await;
    let new = id_of(&checked.server.deploy(&checked.ada, least("new")).await);
    let path = format!("/deploy/application/{new}/uptime");
    checked.server.put(&path, json!({ "failures": 1 })).by(&checked.ada).ok().await;
    checked.server.post("/deploy/application/stop", json!({ "id": checked.shop })).by(&checked.ada).ok().await;
    checked.edge.always(Manner::status(503));
    let mut events = checked.events().await;
    checked.passes(3).await;
    assert_eq!(checked.edge.count(), 0, "neither is asked");
    assert_eq!(checked.state().await, "paused");
    let never = checked.server.get(&path).by(&checked.ada).ok().await;
    assert_eq!((&never["state"], &never["availability"]["last_24_hours"]), (&json!("not_live"), &Value::Null));
    checked.server.nothing_more(&checked.ada, &mut events).await;
    assert_eq!(checked.outages().await, Vec::<Value>::new());
}

async fn a_stop_ends_an_outage_without_a_word(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1 })).await;
    checked.edge.always(Manner::status(500));
    checked.pass(0).await;
    assert_eq!(checked.state().await, "down");
    checked.server.post("/deploy/application/stop", json!({ "id": checked.shop })).by(&checked.ada).ok().await;
    assert_eq!(checked.state().await, "paused", "at once, without another check");
    let mut events = checked.events().await;
    checked.passes(2).await;
    let outages = checked.outages().await;
    assert_eq!((outages.len(), &outages[0]["recovered"]), (1, &json!(false)));
    assert!(outages[0]["ended_at"].is_string(), "{outages:?}");
    checked.server.nothing_more(&checked.ada, &mut events).await;
}

async fn what_is_being_changed_is_not_judged(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1 })).await;
    let mut events = checked.events().await;
    checked.edge.always(Manner::status(502));
    checked.hold(Some(checked.server.app.now().plus_seconds(60))).await;
    checked.passes(3).await;
    assert_eq!((checked.state().await.as_str(), checked.edge.count()), ("paused", 0));
    checked.server.nothing_more(&checked.ada, &mut events).await;
    checked.hold(None).await;
    checked.passes(1).await;
    assert_eq!(checked.state().await, "down");
    events.told("application.down").await;
    // An outage lasts through a deployment, and is not told again after it.
    checked.hold(Some(checked.server.app.now().plus_seconds(60))).await;
    checked.passes(1).await;
    assert_eq!(checked.state().await, "paused");
    checked.hold(None).await;
    checked.passes(1).await;
    assert_eq!((checked.state().await.as_str(), checked.outages().await.len()), ("down", 1));
    checked.server.nothing_more(&checked.ada, &mut events).await;
}

async fn a_snapshot_is_no_outage(server: TestServer) {
    let checked = Checked::new(server).await;
    let mut body = least("data");
    body["volumes"] = json!([{ "name": "data", "path": "/data" }]);
    let id = id_of(&checked.server.running(&checked.ada, body).await);
    checked.server.use_volumes(id).await;
    let checked = Checked { shop: id, ..checked };
    checked.set(json!({ "failures": 1 })).await;
    let path = format!("/deploy/application/{id}/volumes/data/snapshots");
    checked.server.post(&path, Value::Null).by(&checked.ada).ok().await;
    let app = &checked.server.app;
    let situation = async || uptime::situation(&mut app.db.read().await.unwrap(), id).await.unwrap().unwrap();
    assert!(!situation().await.has_snapshot, "it waits for its turn");
    let mut tx = app.db.begin().await.unwrap();
    let search = Search { kinds: &[queue::SNAPSHOT], sharing: &[queue::SNAPSHOT], share: 100 };
    let claimed = jobs::claim(&mut tx, &search, Uuid::from_u128(77), app.now(), 3_600).await.unwrap();
    assert!(claimed.is_some());
    tx.commit().await.unwrap();
    assert!(situation().await.has_snapshot);
    checked.edge.always(Manner::status(503));
    checked.passes(2).await;
    assert_eq!((checked.state().await.as_str(), checked.outages().await.len()), ("paused", 0));
}

async fn what_the_edge_says_is_not_the_application(server: TestServer) {
    let checked = Checked::new(server).await;
    let mut events = checked.events().await;
    for (status, page, state) in [
        (403, "forbidden", "blocked"),
        (429, "too_many_requests", "blocked"),
        (401, "sign_in_required", "blocked"),
        (503, "maintenance", "paused"),
        (503, "held", "paused"),
    ] {
        // Not even where that status is the one that is wanted.
        checked.set(json!({ "failures": 1, "expected_status": status })).await;
        checked.edge.always(Manner::with_header(status, "x-windlass-page", page));
        checked.passes(2).await;
        assert_eq!(checked.state().await, state, "{page}");
    }
    checked.server.nothing_more(&checked.ada, &mut events).await;
    assert!(checked.results().await.iter().all(|result| result == "blocked" || result == "paused"));
    // The same from the application itself counts.
    checked.set(json!({ "expected_status": 403 })).await;
    checked.edge.always(Manner::status(403));
    checked.passes(1).await;
    assert_eq!(checked.state().await, "up");
}

async fn an_engine_that_is_gone_says_nothing(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1 })).await;
    let mut events = checked.events().await;
    checked.server.app.engine_health.set(EngineState::Unreachable("connection refused".into()));
    checked.edge.always(Manner::status(502));
    checked.passes(3).await;
    assert_eq!((checked.state().await.as_str(), checked.edge.count()), ("unknown", 0));
    checked.server.nothing_more(&checked.ada, &mut events).await;
    checked.server.app.engine_health.set(EngineState::Well);
    checked.passes(1).await;
    assert_eq!(checked.state().await, "down");
}

async fn without_an_edge_nothing_is_known(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1 })).await;
    for edge in [None, Some(Listen::default())] {
        checked.server.app.clock.advance_seconds(60);
        Keeper::default().look_at(&checked.server.app, edge).await.unwrap();
        let uptime = checked.uptime().await;
        assert_eq!(uptime["state"], "unknown", "{uptime}");
        assert!(uptime["reason"].as_str().unwrap().contains("the edge does not"), "{uptime}");
    }
}

async fn an_old_check_is_not_shown_as_fresh(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({})).await;
    checked.pass(0).await;
    assert_eq!(checked.state().await, "up");
    checked.server.app.clock.advance_seconds(190);
    assert_eq!(checked.state().await, "up");
    checked.server.app.clock.advance_seconds(1);
    let old = checked.uptime().await;
    assert_eq!((&old["state"], &old["since"]), (&json!("no_recent_check"), &Value::Null));
}

async fn a_clock_that_is_set_back_stops_nothing(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({})).await;
    checked.pass(0).await;
    checked.pass(-86_400).await;
    assert_eq!(checked.edge.count(), 2, "a day earlier it is checked too");
    assert_eq!(checked.state().await, "up");
    checked.pass(59).await;
    assert_eq!(checked.edge.count(), 2);
    checked.pass(1).await;
    assert_eq!(checked.edge.count(), 3, "and in its time again");
}

async fn what_was_changed_meanwhile_does_not_count(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1 })).await;
    let app = &checked.server.app;
    let mut conn = app.db.read().await.unwrap();
    let before = uptime::get(&mut conn, checked.shop).await.unwrap().unwrap();
    let situation = uptime::situation(&mut conn, checked.shop).await.unwrap().unwrap();
    drop(conn);
    let failed = Visited::NotAnswered("nothing came".into());
    checked.set(json!({ "path": "/other" })).await;
    service::uptime::conclude(app, &before, &situation, &failed).await.unwrap();
    assert_eq!((checked.results().await, checked.state().await.as_str()), (Vec::new(), "no_recent_check"));
    // What became live while it was asked.
    let row = uptime::get(&mut app.db.read().await.unwrap(), checked.shop).await.unwrap().unwrap();
    let earlier = uptime::Situation { live_deployment_id: Some(Uuid::from_u128(1)), ..situation };
    service::uptime::conclude(app, &row, &earlier, &failed).await.unwrap();
    assert_eq!((checked.results().await, checked.outages().await.len()), (vec!["paused".to_owned()], 0));
}

/// As two servers would that share a database.
async fn a_time_is_taken_once(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({})).await;
    let app = &checked.server.app;
    let due = uptime::due(&mut app.db.read().await.unwrap(), app.now(), 10).await.unwrap();
    assert_eq!(due.len(), 1);
    for expected in [true, false] {
        let mut tx = app.db.begin().await.unwrap();
        let taken = uptime::take_time(&mut tx, &due[0], app.now()).await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(taken.is_some(), expected);
    }
    assert_eq!(uptime::due(&mut app.db.read().await.unwrap(), app.now(), 10).await.unwrap().len(), 0);
}

async fn organizations_take_turns(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({})).await;
    let (server, ada) = (&checked.server, &checked.ada);
    for name in ["two", "three"] {
        let id = id_of(&server.running(ada, least(name)).await);
        server.put(&format!("/deploy/application/{id}/uptime"), json!({})).by(ada).ok().await;
    }
    let eve = server.stranger(ada, "eve").await;
    server.app.clock.advance_seconds(1);
    let theirs = id_of(&server.running(&eve, least("theirs")).await);
    server.put(&format!("/deploy/application/{theirs}/uptime"), json!({})).by(&eve).ok().await;
    let due = uptime::due(&mut server.app.db.read().await.unwrap(), server.app.now(), 2).await.unwrap();
    let whose: Vec<_> = due.iter().map(|due| due.organization_id).collect();
    assert_eq!(whose, [ada.organization_id, eve.organization_id], "hers comes before the second of the others");
    server.get(&checked.path()).by(&eve).fails(404, "not_found").await;
    server.put(&checked.path(), json!({})).by(&eve).fails(404, "not_found").await;
}

async fn answers_that_do_not_come(server: TestServer) {
    let checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1, "timeout_seconds": 1 })).await;
    for (manner, words) in [(Manner::Hang, "took more than 1 s"), (Manner::Close, "closed the connection")] {
        checked.edge.always(manner);
        checked.passes(1).await;
        let uptime = checked.uptime().await;
        assert_eq!(uptime["state"], "down");
        assert!(uptime["reason"].as_str().unwrap().contains(words), "{uptime}");
    }
    // However long the body is that is begun: it is not read.
    checked.edge.always(Manner::Answer { status: 200, headers: Vec::new(), body: vec![b'x'; 4 << 20] });
    checked.passes(1).await;
    assert_eq!(checked.state().await, "up");
}

async fn history_is_bounded(server: TestServer) {
    let mut checked = Checked::new(server).await;
    checked.set(json!({ "failures": 1 })).await;
    checked.edge.then(Manner::status(500));
    checked.passes(2).await;
    assert_eq!((checked.results().await.len(), checked.outages().await.len()), (2, 1));
    checked.server.app.clock.advance_seconds(2 * 86_400);
    housekeeping::sweep(&checked.server.app).await.unwrap();
    assert_eq!((checked.results().await.len(), checked.outages().await.len()), (0, 1));
    let later = checked.uptime().await["availability"].clone();
    assert_eq!(later, json!({ "last_24_hours": null, "last_7_days": 50, "last_30_days": 50 }));
    checked.server.app.clock.advance_seconds(90 * 86_400);
    housekeeping::sweep(&checked.server.app).await.unwrap();
    checked.ada = log_in(&checked.server, &checked.ada).await;
    assert_eq!(checked.outages().await.len(), 0);
    assert_eq!(checked.server.place.execute("delete from uptime_hours").await, 0, "nothing is left to delete");
}

async fn previews_have_none(server: TestServer) {
    let ada = server.admin().await;
    let mut body = least("shop");
    body["previews"] = json!(true);
    let shop = id_of(&server.running(&ada, body).await);
    server.put(&format!("/deploy/application/{shop}/uptime"), json!({})).by(&ada).ok().await;
    let preview = server.preview(&ada, shop, 7).await;
    let path = format!("/deploy/application/{}/uptime", preview["id"].as_str().unwrap());
    server.put(&path, json!({})).by(&ada).fails(409, "conflict").await;
    assert_eq!(server.get(&path).by(&ada).ok().await["state"], "off", "it has not its application's");
}

async fn so_many_of_an_organization(kind: Kind) {
    let server = TestServer::with(kind, &[("organization-uptime-checks", "1")]).await;
    let checked = Checked::new(server).await;
    checked.set(json!({})).await;
    let second = id_of(&checked.server.running(&checked.ada, least("second")).await);
    let path = format!("/deploy/application/{second}/uptime");
    let message = checked.server.put(&path, json!({})).by(&checked.ada).fails(409, "conflict").await;
    assert!(message.contains("organization-uptime-checks"), "{message}");
    // One that is off takes no room.
    checked.server.put(&path, json!({ "enabled": false })).by(&checked.ada).ok().await;
    checked.set(json!({ "enabled": false })).await;
    checked.server.put(&path, json!({ "enabled": true })).by(&checked.ada).ok().await;
}
