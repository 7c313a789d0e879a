//! What goes wrong by itself is told once, and so is its end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;
use tokio::task::JoinHandle;
use uuid::Uuid;
use windlass_server::alarms::machine::Machine;
use windlass_server::alarms::{self, certificates, visitors};
use windlass_server::disk::{Disks, Space};
use windlass_server::engine_health::EngineState;
use windlass_server::holder::Holder;
use windlass_server::host::Host;
use windlass_store::Kind;
use windlass_testing::{DatabaseLocation, on_both_databases};

use crate::certificates::upload_of_years;
use crate::deploys::least;
use crate::follow::Events;
use crate::sessions::log_in;
use crate::support::{Person, TestServer, id_of, kind};
use crate::traffic::counted;

on_both_databases!(kind: the_loop_looks_at_all_of_it, visitors_get_errors, each_application_has_its_own_limit,
    what_is_not_meant_to_run_is_not_unhealthy, an_uploaded_certificate_that_ends, a_certificate_that_is_not_served_any_more);

pub const SERVER: Uuid = Uuid::from_u128(7);

const GIB: u64 = 1 << 30;

/// A machine whose disks have 100 GiB each, of which so many are free: that of the data folder, and that of what is below `/engine`.
#[derive(Clone, Default)]
pub struct FakeDisks(Arc<Mutex<(u64, u64)>>);

impl FakeDisks {
    pub fn with(data: u64, engine: u64) -> Self {
        let disks = Self::default();
        disks.set(data, engine);
        disks
    }

    pub fn set(&self, data: u64, engine: u64) {
        *self.0.lock() = (data, engine);
    }

    pub fn asked(&self) -> Disks {
        let disks = self.clone();
        Disks::asking(Duration::from_secs(20), move |folder| {
            let (data, engine) = *disks.0.lock();
            let (free, disk_id) = if folder.starts_with("/engine") { (engine, 2) } else { (data, 1) };
            Some(Space { free: free * GIB, whole: 100 * GIB, disk_id })
        })
    }
}

/// How full the disk of this machine is does not matter.
pub async fn quiet(kind: Kind) -> TestServer {
    TestServer::with(kind, &[("disk-low-percent", "0")]).await
}

impl TestServer {
    pub async fn look_after(&self, machine: &mut Machine, seconds: i64) {
        self.app.clock.advance_seconds(seconds);
        machine.look(&self.app).await;
    }

    pub fn lose_engine(&self) {
        self.app.engine_health.set(EngineState::Unreachable("connection refused".into()));
    }

    pub fn find_engine(&self) {
        self.app.engine_health.set(EngineState::Well);
    }

    /// It says what has become of a line a moment after it was given up.
    pub async fn until_the_writer_is_well(&self) {
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

/// All that the server itself does: it looks at the engine's disk, the visitors and the certificates, again and again, and needs no figures.
async fn the_loop_looks_at_all_of_it(kind: Kind) {
    let (place, disks) = (DatabaseLocation::fresh(kind).await, FakeDisks::with(50, 5));
    let socket = place.folder.path().join("engine.sock");
    let engine = answer_as_engine(&socket);
    let settings = [("figures-seconds", "0"), ("docker-socket", socket.to_str().unwrap())];
    let server = TestServer::tuned(place, &settings, |app| app.disks = disks.asked()).await;
    let ada = server.admin().await;
    let mut body = least("shop");
    body["domain"] = json!("shop.example.org");
    let shop = server.running(&ada, body).await;
    upload_of_years(&server, &ada, &["shop.example.org"], 2026).await;
    server.app.clock.advance_seconds(363 * 86_400);
    let ada = log_in(&server, &ada).await;
    server.count(&shop, 0, counted(100, 100)).await;
    server.find_engine();
    let mut events = server.events(&ada, "").await;
    let holder = Holder::of(&mut server.app.db.read().await.unwrap(), server.place.folder.path()).await.unwrap();
    let host = Arc::new(Host::new(server.app.clone(), Uuid::from_u128(1), SERVER, holder));
    let alarms = tokio::spawn(alarms::run(host));
    assert_eq!(events.told("disk.low").await["disk"], "container engine");
    assert_eq!(events.told("application.unhealthy").await["application"], "shop");
    assert_eq!(events.told("certificate.failed").await["domain"], "shop.example.org");
    // The next look is some seconds later.
    disks.set(50, 50);
    server.app.clock.advance_seconds(60);
    assert_eq!(events.told("disk.recovered").await["disk"], "container engine");
    alarms.abort();
    engine.abort();
}

/// Of a container engine no more than what it says of itself.
fn answer_as_engine(socket: &Path) -> JoinHandle<()> {
    let listener = UnixListener::bind(socket).expect("a free path");
    tokio::spawn(async move {
        while let Ok((mut caller, _)) = listener.accept().await {
            let (mut head, mut part) = (Vec::new(), [0; 1024]);
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match caller.read(&mut part).await {
                    Ok(0) | Err(_) => break,
                    Ok(some) => head.extend_from_slice(&part[..some]),
                }
            }
            let body = match String::from_utf8_lossy(&head).contains("/info ") {
                true => json!({ "ID": "e", "DockerRootDir": "/engine/root", "SystemTime": "2026-01-01T00:00:00Z" }),
                false => json!({ "Version": "28.0.0", "ApiVersion": "1.48", "Arch": "amd64" }),
            };
            let body = body.to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            // A caller that has left wants none.
            let _ = caller.write_all(answer.as_bytes()).await;
        }
    })
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
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.contains("ends at 2026-12-31") && reason.ends_with("Upload another one."), "{told}");
    server.nothing_more(&ada, &mut events).await;
    upload_of_years(&server, &ada, &["shop.example.org"], 2028).await;
    server.app.clock.advance_seconds(60);
    for _ in 0..2 {
        certificates::look(&server.app).await.unwrap();
    }
    assert_eq!(
        events.told("certificate.recovered").await,
        json!({ "domain": "shop.example.org" }),
        "none is served at www"
    );
    server.nothing_more(&ada, &mut events).await;
}

async fn a_certificate_that_is_not_served_any_more(kind: Kind) {
    let server = quiet(kind).await;
    let ada = server.admin().await;
    let mut shop = least("shop");
    shop["domain"] = json!("shop.example.org");
    server.deploy(&ada, shop).await;
    upload_of_years(&server, &ada, &["shop.example.org"], 2026).await;
    // The year has ended, and no server looked before.
    server.app.clock.advance_seconds(370 * 86_400);
    let ada = log_in(&server, &ada).await;
    let mut events = server.events(&ada, "").await;
    certificates::look(&server.app).await.unwrap();
    let told = events.told("certificate.failed").await;
    let reason = told["reason"].as_str().unwrap();
    assert!(reason.contains("ended at 2026-12-31") && reason.contains("Browsers refuse it"), "{told}");
    // Nothing is in its place, so nothing is in order again.
    let moved = "update applications set domain = 'other.example.org' where domain = 'shop.example.org'";
    assert_eq!(server.place.execute(moved).await, 1);
    server.app.clock.advance_seconds(60);
    certificates::look(&server.app).await.unwrap();
    server.nothing_more(&ada, &mut events).await;
    assert_eq!(server.place.execute("delete from alarms").await, 0);
}
