//! What goes wrong with the machine is told once, and so is its end.

use std::sync::mpsc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use windlass_api::{LogStep, LogStream, Role};
use windlass_server::alarms::machine::Machine;
use windlass_server::disk::Disks;
use windlass_server::service::housekeeping;
use windlass_store::Kind;
use windlass_store::logs::Batch;
use windlass_testing::{DatabaseLocation, on_both_databases};

use crate::alarms::{FakeDisks, SERVER, quiet};
use crate::logs::Shop;
use crate::support::{TestServer, kind};

on_both_databases!(kind: an_engine_that_is_away_for_long, an_engine_that_comes_back_soon,
    a_clock_that_was_ahead_silences_nothing, a_disk_that_hangs_silences_nothing,
    the_machine_is_for_those_who_may_change_it, a_disk_with_little_room, what_could_not_be_written_is_told_later,
    log_lines_that_are_lost);

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
    // The times before do not count.
    server.lose_engine();
    for seconds in [0, 59] {
        server.look_after(&mut machine, seconds).await;
    }
    server.nothing_more(&ada, &mut events).await;
    server.look_after(&mut machine, 1).await;
    events.told("engine.lost").await;
}

/// It was a day ahead when the server began, and was set back while something was wrong.
async fn a_clock_that_was_ahead_silences_nothing(kind: Kind) {
    const DAY: i64 = 86_400;
    let disks = FakeDisks::with(5, 50);
    let server = TestServer::tuned(DatabaseLocation::fresh(kind).await, &[], |app| app.disks = disks.asked()).await;
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    server.look_after(&mut machine, DAY).await;
    assert_eq!(events.told("disk.low").await["disk"], "data folder");
    disks.set(50, 50);
    server.look_after(&mut machine, 60).await;
    events.told("disk.recovered").await;
    server.lose_engine();
    server.look_after(&mut machine, 0).await;
    disks.set(5, 50);
    server.look_after(&mut machine, -DAY).await;
    assert_eq!(events.told("disk.low").await["disk"], "data folder");
    server.look_after(&mut machine, 59).await;
    server.nothing_more(&ada, &mut events).await;
    server.look_after(&mut machine, 1).await;
    events.told("engine.lost").await;
}

async fn a_disk_that_hangs_silences_nothing(kind: Kind) {
    let (go_on, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let place = DatabaseLocation::fresh(kind).await;
    let server = TestServer::tuned(place, &[], |app| {
        app.disks = Disks::asking(Duration::from_millis(50), move |_| {
            // Until the test has ended.
            let _ = gate.lock().recv();
            None
        });
    })
    .await;
    let ada = server.admin().await;
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    server.lose_engine();
    for seconds in [0, 30, 30] {
        let looking = server.look_after(&mut machine, seconds);
        tokio::time::timeout(Duration::from_secs(20), looking).await.expect("it waits for the disk");
    }
    events.told("engine.lost").await;
    drop(go_on);
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
    let (place, disks) = (DatabaseLocation::fresh(kind).await, FakeDisks::with(10, 50));
    let server = TestServer::tuned(place, &[("disk-low-percent", "10")], |app| app.disks = disks.asked()).await;
    let ada = server.admin().await;
    server.app.engine_health.set_folder("/engine/root".into());
    let mut events = server.events(&ada, "").await;
    let mut machine = Machine::new(SERVER);
    server.look_after(&mut machine, 0).await;
    server.nothing_more(&ada, &mut events).await;
    disks.set(9, 50);
    for _ in 0..2 {
        server.look_after(&mut machine, 5).await;
    }
    let disk = |of: &str, free: &str| json!({ "disk": of, "free": free, "size": "100.0 GiB", "server": SERVER });
    assert_eq!(events.told("disk.low").await, disk("data folder", "9.0 GiB"));
    server.nothing_more(&ada, &mut events).await;
    // A little more is not enough, and the other disk is told by itself.
    disks.set(11, 9);
    server.look_after(&mut machine, 60).await;
    assert_eq!(events.told("disk.low").await, disk("container engine", "9.0 GiB"));
    server.nothing_more(&ada, &mut events).await;
    disks.set(12, 9);
    server.look_after(&mut machine, 5).await;
    assert_eq!(events.told("disk.recovered").await, disk("data folder", "12.0 GiB"));
    server.nothing_more(&ada, &mut events).await;
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
