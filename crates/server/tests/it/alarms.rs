//! What goes wrong by itself is told once, and so is its end.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{LogStep, LogStream, Role};
use windlass_server::alarms::machine::Machine;
use windlass_server::alarms::{certificates, visitors};
use windlass_server::engine_health::EngineState;
use windlass_server::service::housekeeping;
use windlass_store::Kind;
use windlass_store::logs::Batch;
use windlass_testing::on_both_databases;

use crate::certificates::upload_of_years;
use crate::deploys::least;
use crate::follow::Events;
use crate::logs::Shop;
use crate::sessions::log_in;
use crate::support::{Person, TestServer, id_of, kind};
use crate::traffic::counted;

on_both_databases!(kind: an_engine_that_is_away_for_long, an_engine_that_comes_back_soon, the_machine_is_for_those_who_may_change_it,
    a_disk_with_little_room, what_could_not_be_written_is_told_later, log_lines_that_are_lost, visitors_get_errors,
    each_application_has_its_own_limit, what_is_not_meant_to_run_is_not_unhealthy, an_uploaded_certificate_that_ends);

const SERVER: Uuid = Uuid::from_u128(7);

/// How full the disk of this machine is does not matter.
async fn quiet(kind: Kind) -> TestServer {
    TestServer::with(kind, &[("disk-low-percent", "0")]).await
}

impl TestServer {
    async fn look_after(&self, machine: &mut Machine, seconds: i64) {
        self.app.clock.advance_seconds(seconds);
        machine.look(&self.app).await;
    }

    fn lose_engine(&self) {
        self.app.engine_health.set(EngineState::Unreachable("connection refused".into()));
    }

    fn find_engine(&self) {
        self.app.engine_health.set(EngineState::Well);
    }

    /// It says what has become of a line a moment after it was given up.
    async fn until_the_writer_is_well(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.app.logs.problem().is_some() {
            assert!(Instant::now() < deadline, "the writer stays unwell");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// What is told of another change is the next event.
    pub async fn nothing_more(&self, person: &Person, events: &mut Events) {
        let name = format!("mark-{}", self.app.now().micros());
        self.deploy(person, least(&name)).await;
        assert_eq!(events.names(2).await, ["application.created", "deployment.queued"]);
    }
}

impl Events {
    pub async fn told(&mut self, name: &str) -> Value {
        let event = self.next().await.expect("another event");
        assert_eq!(event.data["name"], name, "{}", event.data);
        event.data["details"].clone()
    }
}

async fn an_engine_that_is_away_for_long(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    server.lose_engine();
    for seconds in [0, 59] {
        server.look_after(&mut machine, seconds).await;
    }
    server.nothing_more(&ada, &mut events).await;
    server.look_after(&mut machine, 1).await;
    let told = json!({ "reason": "connection refused", "server": SERVER });
    assert_eq!(events.told("engine.lost").await, told);
    // It is told once, also when the server was started again meanwhile.
    let mut machine = Machine::new(SERVER);
    for seconds in [0, 60, 60] {
        server.look_after(&mut machine, seconds).await;
    }
    server.nothing_more(&ada, &mut events).await;
    server.find_engine();
    server.look_after(&mut machine, 0).await;
    assert_eq!(events.told("engine.recovered").await, json!({ "server": SERVER }));
    server.look_after(&mut machine, 5).await;
    server.nothing_more(&ada, &mut events).await;
    // What is well for long leaves nothing behind.
    server.app.clock.advance_seconds(2 * 86_400);
    housekeeping::sweep(&server.app).await.unwrap();
    assert_eq!(server.place.execute("delete from alarms").await, 0);
}

async fn an_engine_that_comes_back_soon(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    for _ in 0..5 {
        server.lose_engine();
        server.look_after(&mut machine, 30).await;
        server.find_engine();
        server.look_after(&mut machine, 30).await;
    }
    server.nothing_more(&ada, &mut events).await;
}

async fn the_machine_is_for_those_who_may_change_it(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let bob = server.stranger(&ada, "bob").await;
    let vera = server.join(&ada, "vera", Role::Member).await;
    let (mut of_ada, mut of_bob) = (server.events(&ada, "").await, server.events(&bob, "").await);
    let mut of_vera = server.events(&vera, "").await;
    let mut machine = Machine::new(SERVER);
    server.lose_engine();
    for seconds in [0, 60] {
        server.look_after(&mut machine, seconds).await;
    }
    of_ada.told("engine.lost").await;
    server.nothing_more(&bob, &mut of_bob).await;
    server.nothing_more(&ada, &mut of_vera).await;
}

async fn a_disk_with_little_room(kind: Kind) {
    let server = TestServer::with(kind, &[("disk-low-percent", "100")]).await;
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    for seconds in [0, 5] {
        server.look_after(&mut machine, seconds).await;
    }
    let told = events.told("disk.low").await;
    assert_eq!((&told["disk"], &told["server"]), (&json!("data folder"), &json!(SERVER)));
    assert!(told["free"].as_str().unwrap().ends_with(" GiB") && told["size"].as_str().unwrap().ends_with(" GiB"));
    server.nothing_more(&ada, &mut events).await;
    // The next start has another limit.
    let server = TestServer::on(server.place, &[("disk-low-percent", "1")]).await;
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    server.look_after(&mut machine, 65).await;
    assert_eq!(events.told("disk.recovered").await["disk"], "data folder");
}

async fn what_could_not_be_written_is_told_later(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    server.lose_engine();
    server.look_after(&mut machine, 0).await;
    server.place.execute("alter table alarms rename to hidden").await;
    server.look_after(&mut machine, 60).await;
    server.find_engine();
    server.look_after(&mut machine, 5).await;
    server.place.execute("alter table hidden rename to alarms").await;
    server.look_after(&mut machine, 5).await;
    events.told("engine.lost").await;
    // Not twice within a minute.
    server.look_after(&mut machine, 59).await;
    server.nothing_more(&ada, &mut events).await;
    server.look_after(&mut machine, 1).await;
    events.told("engine.recovered").await;
}

async fn log_lines_that_are_lost(kind: Kind) {
    let shop = Shop::new(quiet(kind).await).await;
    let server = &shop.server;
    let mut events = server.events(&shop.ada, "").await;
    let heads = match kind {
        Kind::Sqlite => {
            format!("attach '{}' as logs; alter table logs.", server.place.folder.path().join("logs.db").display())
        }
        Kind::Postgres => "alter table ".to_owned(),
    };
    let write = async || {
        let lines = vec![server.line(LogStream::Stdout, LogStep::Run, "a line".to_owned())];
        let batch = Batch { application_id: shop.application, deployment_id: shop.deployment, lines, progress: None };
        let written = tokio::time::timeout(Duration::from_secs(30), server.app.logs.write(batch));
        written.await.expect("in time").is_ok()
    };
    let mut machine = Machine::new(SERVER);
    server.look_after(&mut machine, 0).await;
    server.place.execute(&format!("{heads}log_heads rename to hidden")).await;
    for seconds in [0, 30, 30] {
        server.app.clock.advance_seconds(seconds);
        assert!(!write().await);
        server.until_the_writer_is_well().await;
        server.look_after(&mut machine, 0).await;
    }
    let told = events.told("logs.stopped").await;
    assert!(told["reason"].as_str().unwrap().contains("could not be stored"), "{told}");
    server.place.execute(&format!("{heads}hidden rename to log_heads")).await;
    assert!(write().await);
    server.until_the_writer_is_well().await;
    server.look_after(&mut machine, 59).await;
    server.nothing_more(&shop.ada, &mut events).await;
    server.look_after(&mut machine, 1).await;
    assert_eq!(events.told("logs.recovered").await, json!({ "server": SERVER }));
}

async fn visitors_get_errors(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let mut events = server.events(&ada, "").await;
    server.count(&shop, 0, counted(19, 19)).await;
    visitors::look(&server.app).await.unwrap();
    server.nothing_more(&ada, &mut events).await;
    server.count(&shop, 0, counted(2, 2)).await;
    for _ in 0..2 {
        visitors::look(&server.app).await.unwrap();
    }
    let event = events.next().await.unwrap().data;
    assert_eq!((&event["name"], &event["application_id"]), (&json!("application.unhealthy"), &shop["id"]));
    let details = json!({ "application": "shop", "errors": "21", "requests": "21", "percent": "100", "seconds": "60" });
    assert_eq!(event["details"], details);
    // Fewer errors, but not few; then none at all, and only some requests.
    server.app.clock.advance_seconds(60);
    server.count(&shop, 0, counted(100, 30)).await;
    visitors::look(&server.app).await.unwrap();
    server.app.clock.advance_seconds(120);
    visitors::look(&server.app).await.unwrap();
    server.nothing_more(&ada, &mut events).await;
    server.count(&shop, 0, counted(3, 0)).await;
    server.app.clock.advance_seconds(60);
    for _ in 0..2 {
        visitors::look(&server.app).await.unwrap();
    }
    let details = json!({ "application": "shop", "errors": "0", "requests": "3", "percent": "0", "seconds": "60" });
    assert_eq!(events.told("application.recovered").await, details);
    server.nothing_more(&ada, &mut events).await;
}

async fn each_application_has_its_own_limit(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let mut all = Vec::new();
    for (name, percent, seconds) in [("strict", 5, 300), ("usual", 50, 60), ("never", 0, 60)] {
        let mut body = least(name);
        (body["error_rate_percent"], body["error_rate_seconds"]) = (json!(percent), json!(seconds));
        let application = server.running(&ada, body).await;
        assert_eq!(application["settings"]["error_rate_percent"], percent);
        all.push(application);
    }
    let mut events = server.events(&ada, "").await;
    for application in &all {
        server.count(application, 4, counted(90, 0)).await;
        server.count(application, 0, counted(10, 9)).await;
    }
    visitors::look(&server.app).await.unwrap();
    let details =
        json!({ "application": "strict", "errors": "9", "requests": "100", "percent": "9", "seconds": "300" });
    assert_eq!(events.told("application.unhealthy").await, details);
    // It acts at once, and waits for no deploy.
    let change = json!({ "id": all[2]["id"], "error_rate_percent": 1 });
    let changed = server.put("/deploy/application", change).by(&ada).ok().await;
    assert_eq!(changed["pending_fields"], json!([]));
    assert_eq!(events.names(1).await, ["application.updated"]);
    server.count(&all[2], 0, counted(10, 0)).await;
    visitors::look(&server.app).await.unwrap();
    assert_eq!(events.told("application.unhealthy").await["application"], "never");
}

async fn what_is_not_meant_to_run_is_not_unhealthy(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let (waiting, shop) = (server.deploy(&ada, least("waiting")).await, server.running(&ada, least("shop")).await);
    let mut events = server.events(&ada, "").await;
    for application in [&waiting, &shop] {
        server.count(application, 0, counted(100, 100)).await;
    }
    visitors::look(&server.app).await.unwrap();
    assert_eq!(events.told("application.unhealthy").await["application"], "shop");
    // What was stopped is not told to have recovered.
    let stop = format!("update applications set wanted = 'stopped' where name = '{}'", "shop");
    server.place.execute(&stop).await;
    visitors::look(&server.app).await.unwrap();
    assert_eq!(server.place.execute("delete from alarms").await, 0);
    server.nothing_more(&ada, &mut events).await;
    assert_eq!(id_of(&shop), id_of(&server.application(&ada, &shop["id"]).await));
}

async fn an_uploaded_certificate_that_ends(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let mut shop = least("shop");
    shop["domain"] = json!("shop.example.org");
    server.deploy(&ada, shop).await;
    upload_of_years(&server, &ada, &["shop.example.org", "www.example.org"], 2026).await;
    // It ends with the year.
    server.app.clock.advance_seconds(356 * 86_400);
    let ada = log_in(&server, &ada).await;
    let mut events = server.events(&ada, "").await;
    certificates::look(&server.app).await.unwrap();
    server.nothing_more(&ada, &mut events).await;
    server.app.clock.advance_seconds(2 * 86_400);
    for _ in 0..2 {
        certificates::look(&server.app).await.unwrap();
    }
    let told = events.told("certificate.failed").await;
    assert_eq!(told["domain"], "shop.example.org");
    assert!(told["reason"].as_str().unwrap().ends_with("Upload another one."), "{told}");
    server.nothing_more(&ada, &mut events).await;
    upload_of_years(&server, &ada, &["shop.example.org"], 2028).await;
    server.app.clock.advance_seconds(60);
    for _ in 0..2 {
        certificates::look(&server.app).await.unwrap();
    }
    assert_eq!(events.told("certificate.recovered").await, json!({ "domain": "shop.example.org, www.example.org" }));
    server.nothing_more(&ada, &mut events).await;
}
