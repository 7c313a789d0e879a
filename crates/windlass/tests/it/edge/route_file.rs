//! The route file: damaged, half written, and not writable.

use std::net::SocketAddr;

use tokio::task::{JoinSet, LocalSet};
use windlass_durable::{file, kill_point};
use windlass_edge::control::Code;
use windlass_edge::control::client::CallError;
use windlass_edge::routes::RouteSet;

use super::app::App;
use super::load::Visitor;
use super::support::{Edge, Home, everything_to};

async fn get(home: &Home) -> (u16, String) {
    Visitor::new(home.address().await).get("/").await.unwrap()
}

fn text(routes: &RouteSet) -> Vec<u8> {
    serde_json::to_vec(routes).unwrap()
}

#[tokio::test]
async fn a_damaged_file_is_reported_kept_and_healed() {
    let app = App::start("app").await;
    let good = text(&everything_to(app.address));
    let unknown = String::from_utf8(good.clone()).unwrap().replacen("\"version\":1", "\"version\":99", 1);
    let invalid = String::from_utf8(good.clone()).unwrap().replacen("\"host\":\"*\"", "\"host\":\"NOT A HOST\"", 1);
    let cases: [(&str, Vec<u8>); 5] = [
        ("truncated", good[..good.len() / 2].to_vec()),
        ("empty", Vec::new()),
        ("garbage", vec![0xff, 0, 7, b'{']),
        ("unknown version", unknown.into_bytes()),
        ("invalid routes", invalid.into_bytes()),
    ];
    let (here, mut healing) = (LocalSet::new(), JoinSet::new());
    for (name, content) in cases {
        healing.spawn_local_on(heals(name, content, app.address), &here);
    }
    here.run_until(healing.join_all()).await;
}

async fn heals(name: &'static str, content: Vec<u8>, target: SocketAddr) {
    let home = Home::new();
    std::fs::write(home.route_file(), &content).unwrap();
    let first = home.edge().await;
    let kept = home.path().join("routes.json.damaged-1");
    first.logs(&kept.display().to_string()).await;
    assert_eq!(std::fs::read(&kept).unwrap(), content, "{name}");
    is_damaged(&home, name).await;
    // No routes were applied meanwhile, so it is no better after a restart or a hand-over.
    drop(first);
    let mut second = home.edge().await;
    is_damaged(&home, name).await;
    let third = home.hand_over(&mut second).await;
    is_damaged(&home, name).await;
    home.send_to(target).await;
    is_healed(&home, name).await;
    drop(third);
    let _fourth = home.edge().await;
    is_healed(&home, name).await;
}

async fn is_healed(home: &Home, name: &str) {
    assert_eq!(get(home).await, (200, "app".into()), "{name}");
    assert_eq!(home.hello().await.damaged, None, "{name}");
}

async fn is_damaged(home: &Home, name: &str) {
    let (status, page) = get(home).await;
    assert_eq!(status, 503, "{name}: {page}");
    assert!(page.contains("\"error\":\"routes_damaged\""), "{name}: {page}");
    let damaged = home.hello().await.damaged.unwrap_or_default();
    assert!(damaged.contains("routes.json.damaged-1"), "{name}: {damaged:?}");
}

#[tokio::test]
async fn a_crash_leaves_the_old_routes_or_the_new_ones() {
    let (old, new) = (App::start("old").await, App::start("new").await);
    let (before, after) = (everything_to(old.address), everything_to(new.address));
    for point in file::KILL_POINTS {
        let home = Home::new();
        std::fs::write(home.route_file(), text(&before)).unwrap();
        let mut crashing = Edge::spawn(home.command().env(kill_point::VARIABLE, point));
        home.answers_as(crashing.pid()).await;
        assert_eq!(get(&home).await.1, "old");
        home.control().await.apply(after.clone()).await.expect_err("the edge dies");
        crashing.was_killed().await;
        let left = std::fs::read(home.route_file()).unwrap();
        let expected = match left {
            left if left == text(&before) => "old",
            left if left == text(&after) => "new",
            left => panic!("{point}: {}", String::from_utf8_lossy(&left)),
        };
        assert_eq!(expected == "new", point == "replace-after-rename", "{point}");
        let _edge = home.edge().await;
        assert_eq!(get(&home).await, (200, expected.into()), "{point}");
        // Nothing that the crash has left is in the way.
        home.control().await.apply(after.clone()).await.unwrap();
        assert_eq!(std::fs::read(home.route_file()).unwrap(), text(&after), "{point}");
        assert_eq!(get(&home).await.1, "new");
    }
}

/// As with a full disk, which root cannot be refused: the file cannot be made.
#[tokio::test]
async fn routes_that_cannot_be_saved_are_not_served() {
    let (home, old, new) = (Home::new(), App::start("old").await, App::start("new").await);
    let _edge = home.edge().await;
    home.send_to(old.address).await;
    let before = std::fs::read(home.route_file()).unwrap();
    std::fs::create_dir(home.path().join("routes.json.new")).unwrap();
    let refused = home.control().await.apply(everything_to(new.address)).await.unwrap_err();
    assert!(matches!(&refused, CallError::Refused(refusal) if refusal.code == Code::NotSaved), "{refused:?}");
    assert_eq!(get(&home).await.1, "old");
    assert_eq!(std::fs::read(home.route_file()).unwrap(), before);
    std::fs::remove_dir(home.path().join("routes.json.new")).unwrap();
    home.send_to(new.address).await;
    assert_eq!(get(&home).await.1, "new");
}
