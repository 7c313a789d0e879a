//! A database whose disk is full says so, and goes on when there is room again.

use std::os::unix::fs::chown;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use windlass_store::Kind;
use windlass_testing::small_disk::SmallDisk;
use windlass_testing::{DatabaseLocation, on_both_databases};

use crate::support::{Person, TestServer, kind};

on_both_databases!(kind: it_is_told_and_passes);

/// Changes that certainly do not fit into what the database has in reserve.
const MANY: usize = 3_000;
/// The user that PostgreSQL runs as when the tests run as root.
const UNPRIVILEGED_USER: u32 = 65_534;

async fn it_is_told_and_passes(kind: Kind) {
    let disk = Arc::new(SmallDisk::mount("64m"));
    let place = place_on(&disk, kind).await;
    let local = tokio::task::LocalSet::new();
    let outcome = local.run_until(local.spawn_local(fills_up(disk.clone(), place))).await;
    if kind == Kind::Postgres {
        leave().await;
    }
    outcome.expect("a full disk is told and passes");
}

async fn fills_up(disk: Arc<SmallDisk>, place: DatabaseLocation) {
    let folder = place.folder.path().to_owned();
    let server = TestServer::tuned(place, &[], |app| app.config.data_dir = folder).await;
    let ada = server.admin().await;
    server.get("/health/ready").ok().await;
    let ballast = disk.fill(0);
    let message = change_until_refused(&server, &ada).await;
    assert_eq!(message, "The disk of the database is full: free some space, then try again.");
    let message = server.get("/health/ready").fails(503, "unavailable").await;
    assert_eq!(message, "Not ready: database: its disk is full, so nothing can be changed: free some space");
    // Reading goes on.
    server.get("/organizations").by(&ada).ok().await;
    std::fs::remove_file(ballast).unwrap();
    change(&server, &ada, 0).await.unwrap();
    // What a try of the data folder has shown counts for a moment.
    let deadline = tokio::time::Instant::now() + Duration::from_secs(30);
    while server.get("/health/ready").send().await.status != 200 {
        assert!(tokio::time::Instant::now() < deadline, "it stays unready");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn change(server: &TestServer, person: &Person, number: usize) -> Result<(), String> {
    let body = json!({ "description": format!("{number} {}", "x".repeat(400)) });
    let reply = server.put("/organizations", body).by(person).send().await;
    match (reply.status, reply.json["error"].as_str()) {
        (200, None) => Ok(()),
        (503, Some("disk_full")) => Err(reply.json["message"].as_str().unwrap().to_owned()),
        _ => panic!("{}", reply.text),
    }
}

async fn change_until_refused(server: &TestServer, person: &Person) -> String {
    for number in 0..MANY {
        if let Err(message) = change(server, person, number).await {
            return message;
        }
    }
    panic!("{MANY} changes found room on a full disk");
}

/// SQLite in a folder of the disk, or a database of PostgreSQL's that is on it.
async fn place_on(disk: &SmallDisk, kind: Kind) -> DatabaseLocation {
    let folder = tempfile::tempdir_in(&disk.path).unwrap();
    if kind == Kind::Sqlite {
        return DatabaseLocation { folder, url: None };
    }
    let tables = disk.path.join("tables");
    std::fs::create_dir(&tables).unwrap();
    chown(&tables, Some(UNPRIVILEGED_USER), None).unwrap();
    let (postgres, name) = (postgres(), name());
    postgres.execute(&format!("create tablespace {name} location '{}'", tables.display())).await;
    postgres.execute(&format!("create database {name} tablespace {name}")).await;
    let server = postgres.url.expect("an address");
    let (address, _) = server.rsplit_once('/').expect("the name of a database");
    DatabaseLocation { folder, url: Some(format!("{address}/{name}")) }
}

/// Before the disk goes: PostgreSQL still has something to write to it, and would fail in other tests' names.
async fn leave() {
    let (postgres, name) = (postgres(), name());
    postgres.execute(&format!("drop database {name} with (force)")).await;
    postgres.execute(&format!("drop tablespace {name}")).await;
}

/// The server for all tests.
fn postgres() -> DatabaseLocation {
    let url = std::env::var(windlass_testing::URL_VARIABLE).expect("a PostgreSQL server for tests");
    DatabaseLocation { folder: tempfile::tempdir().unwrap(), url: Some(url) }
}

fn name() -> String {
    format!("full_disk_{}", std::process::id())
}
