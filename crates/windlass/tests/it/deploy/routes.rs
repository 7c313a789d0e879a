//! The edge's table belongs to the server that has applications.

use std::path::Path;
use std::process::{Command, Stdio};

use windlass_edge::control::client::Client;
use windlass_edge::routes::{Owner, RouteSet};

use super::support::*;
use crate::process::{run, windlass};

async fn deployed_shop() -> Platform {
    let platform = Platform::start().await;
    let repository = repository(&platform, "shop", "one");
    platform.deployed(&newest_deployment(&platform.deploy(&body("shop", &repository)))).await;
    platform
}

#[tokio::test(flavor = "multi_thread")]
async fn routes_by_hand_do_not_take_applications_offline() {
    let platform = deployed_shop().await;
    let file = platform.place.folder.path().join("by-hand.json");
    std::fs::write(&file, serde_json::to_string(&RouteSet::default()).unwrap()).unwrap();
    let applied = run(windlass().args(["routes", "apply"]).arg(&file).arg("--data-dir").arg(platform.data_dir()));
    assert_eq!(applied.status.code(), Some(1));
    let problem = String::from_utf8(applied.stderr).unwrap();
    assert!(problem.contains("applications of a Windlass server"), "{problem}");
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "one".into()));
}

/// A process that claims to be the server, or an edge that lost its table in some way that we did not think of.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_not_the_rows_is_put_right() {
    let platform = deployed_shop().await;
    let mut edge = Client::connect(&platform.data_dir()).await.unwrap();
    // The server may put it right before the visitor comes.
    until("a visitor has seen the empty table", async || {
        edge.apply(RouteSet { owner: Owner::Server, ..RouteSet::default() }).await.unwrap();
        (platform.visit("shop.localhost", "/").await.0 == 404).then_some(())
    })
    .await;
    until("the application is served again", async || {
        (platform.visit("shop.localhost", "/").await == (200, "one".into())).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_takes_away_the_route_that_was_added_to_the_machine() {
    let pool = "10.161.0.0/16";
    let mut platform = Platform::on(windlass_testing::Kind::Sqlite, &["--network-pool", pool]).await;
    let repository = repository(&platform, "routed", "one");
    platform.deployed(&newest_deployment(&platform.deploy(&body("routed", &repository)))).await;
    platform.settled().await;
    assert!(unreachable_routes().contains(pool));
    stop(&platform.data_dir());
    platform.wait_for_end();
    assert!(!unreachable_routes().contains(pool));
    // And it is there again with the server.
    platform.start_server(None);
    until("the route is back", async || unreachable_routes().contains(pool).then_some(())).await;
    stop(&platform.data_dir());
    platform.wait_for_end();
}

fn stop(data_dir: &Path) {
    assert!(run(windlass().args(["stop", "--data-dir"]).arg(data_dir)).status.success());
}

fn unreachable_routes() -> String {
    let output = Command::new("ip").args(["route", "show", "type", "unreachable"]).stdin(Stdio::null()).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}
