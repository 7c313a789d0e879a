//! One edge per data folder.

use std::time::{Duration, Instant};

use super::app::App;
use super::load::Visitor;
use super::support::{Edge, Home, everything_to, until};
use crate::process::run;

#[tokio::test]
async fn a_second_edge_names_the_first() {
    let home = Home::new();
    let first = home.edge().await;
    let second = run(&mut home.command());
    assert_eq!(second.status.code(), Some(1));
    let problem = String::from_utf8(second.stderr).unwrap();
    assert!(problem.contains(&format!("process {}.", first.pid())), "{problem}");
    assert_eq!(home.hello().await.pid, first.pid());
}

#[tokio::test]
async fn of_eight_that_start_at_once_one_survives() {
    let home = Home::new();
    for _ in 0..3 {
        let mut edges: Vec<Edge> = (0..8).map(|_| Edge::spawn(&mut home.command())).collect();
        let mut survivors = until("seven give up", async || {
            let running: Vec<usize> = (0..edges.len()).filter(|index| !edges[*index].has_ended()).collect();
            (running.len() <= 1).then_some(running)
        })
        .await;
        let survivor = edges.remove(survivors.pop().expect("one survives"));
        assert_eq!(home.answers_as(survivor.pid()).await.pid, survivor.pid());
        for mut edge in edges {
            assert_eq!(edge.ended().await.code(), Some(1));
            edge.logs(&format!("process {}.", survivor.pid())).await;
        }
    }
}

/// With nothing but its route file: no server, no database.
#[tokio::test]
async fn serves_alone_within_a_second() {
    let (home, app) = (Home::new(), App::start("app").await);
    std::fs::write(home.route_file(), serde_json::to_vec(&everything_to(app.address)).unwrap()).unwrap();
    let mut shortest = Duration::MAX;
    // More than once, because other tests may have the processor.
    for _ in 0..5 {
        let started = Instant::now();
        let edge = home.edge().await;
        assert_eq!(Visitor::new(home.address().await).get("/").await.unwrap(), (200, "app".into()));
        shortest = shortest.min(started.elapsed());
        drop(edge);
    }
    assert!(shortest < Duration::from_secs(1), "it took {shortest:?}");
}
