//! A service that is held: requests wait for the next table instead of failing.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::header::RETRY_AFTER;
use hyper::{Request, Response};
use tokio::task::JoinSet;
use windlass_edge::routes::{HoldSpec, Notice, RouteSet, Serves};

use crate::app::App;
use crate::support::{DEADLINE, TestEdge, everything, get, post, until};

/// Everything waits, so many requests at once and so long.
#[expect(clippy::disallowed_methods, reason = "the edge has the machine's clock")]
fn held(most_waiting: u32, limit: Duration) -> RouteSet {
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + limit;
    let until_ms = u64::try_from(until.as_millis()).unwrap();
    everything(Serves::Held(HoldSpec { most_waiting, until_ms })).with_version()
}

impl TestEdge {
    /// Waits until so many requests are under way, those that wait among them.
    async fn in_flight(&self, count: u64) {
        let look = async || (self.stats().await.services[0].figures.in_flight == count).then_some(());
        until("so many requests are under way", look).await;
    }

    /// So many requests, each of a visitor of its own.
    async fn requests(&self, count: usize) -> JoinSet<(u16, String)> {
        let mut requests = JoinSet::new();
        for _ in 0..count {
            let mut visitor = self.visitor().await;
            requests.spawn(async move { visitor.get("/").await.unwrap() });
        }
        requests
    }
}

fn told_to_come_again<T>(answer: &Response<T>) -> bool {
    answer.status() == 503 && answer.headers().contains_key(RETRY_AFTER)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_wait_for_the_next_instance() {
    let (edge, old, new) = (TestEdge::start().await, App::start("old").await, App::start("new").await);
    edge.send_to(&[old.address]).await;
    // One is under way in the old instance: it is answered by it.
    let mut early = edge.visitor().await;
    let under_way = tokio::spawn(async move { early.get("/held").await.unwrap() });
    until("it has come", async || (old.requests() == 1).then_some(())).await;
    edge.apply(held(100, DEADLINE)).await;
    let waiting = edge.requests(50).await;
    let mut body = edge.visitor().await;
    let large = Bytes::from(vec![b'x'; 300_000]);
    let sent = post("/echo", large.clone());
    let posted = tokio::spawn(async move { body.send(sent).await.unwrap().into_body().collect().await.unwrap() });
    edge.in_flight(52).await;
    old.let_go(1);
    assert_eq!(under_way.await.unwrap(), (200, "old".into()));
    let drained = edge.drain(old.address, DEADLINE).await;
    assert_eq!((drained.in_flight, drained.finished, drained.cut), (1, 1, 0));
    assert_eq!((old.requests(), new.requests()), (1, 0));
    edge.send_to(&[new.address]).await;
    assert!(waiting.join_all().await.iter().all(|answer| *answer == (200, "new".into())));
    assert_eq!(posted.await.unwrap().to_bytes(), large);
    let figures = edge.stats().await.services[0].figures.clone();
    assert_eq!((figures.held, figures.in_flight, figures.statuses["5xx"]), (51, 0, 0));
    assert!(figures.longest_held_us > 0 && figures.held_us >= figures.longest_held_us);
}

/// Those that find no room, and what would change the protocol, are told at once to come again; the others are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_than_may_wait_are_told_to_come_again() {
    let (edge, app) = (TestEdge::start().await, App::start("app").await);
    edge.apply(held(5, DEADLINE)).await;
    let waiting = edge.requests(5).await;
    edge.in_flight(5).await;
    for request in [get("/"), get("/elsewhere")] {
        assert!(told_to_come_again(&edge.visitor().await.send(request).await.unwrap()));
    }
    assert_eq!(edge.stats().await.services[0].figures.held, 5, "those that are sent away do not wait");
    // Those that leave make room for others.
    drop(waiting);
    edge.in_flight(0).await;
    let waiting = edge.requests(5).await;
    edge.in_flight(5).await;
    let upgrade =
        Request::get("/socket").header("host", "app").header("connection", "upgrade").header("upgrade", "echo");
    assert!(told_to_come_again(&edge.visitor().await.send(upgrade.body(Default::default()).unwrap()).await.unwrap()));
    edge.send_to(&[app.address]).await;
    assert!(waiting.join_all().await.iter().all(|answer| *answer == (200, "app".into())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wait_has_an_end() {
    let edge = TestEdge::start().await;
    let (limit, started) = (Duration::from_millis(400), Instant::now());
    edge.apply(held(5, limit)).await;
    assert!(told_to_come_again(&edge.visitor().await.send(get("/")).await.unwrap()));
    // The moment is kept in whole milliseconds.
    assert!(started.elapsed() + Duration::from_millis(1) >= limit, "{:?}", started.elapsed());
    // Those that come later are told at once.
    let started = Instant::now();
    assert!(told_to_come_again(&edge.visitor().await.send(get("/")).await.unwrap()));
    assert!(started.elapsed() < limit);
}

/// A table that changes something else, or makes the wait longer, lets no request go; one with a page does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_what_ends_the_hold_lets_requests_go() {
    let edge = TestEdge::start().await;
    edge.apply(held(1, DEADLINE)).await;
    let waiting = edge.requests(1).await;
    edge.in_flight(1).await;
    edge.apply(held(1, DEADLINE * 2)).await;
    edge.apply(held(2, DEADLINE)).await;
    edge.in_flight(1).await;
    edge.apply(everything(Serves::Page(Notice::Failed))).await;
    let answers = waiting.join_all().await;
    assert!(answers[0].0 == 503 && answers[0].1.contains("could not be started"), "{answers:?}");
}

/// An edge that stops does not wait for what may take long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_lets_them_go() {
    let edge = TestEdge::start().await;
    edge.apply(held(5, DEADLINE)).await;
    let waiting = edge.requests(3).await;
    edge.in_flight(3).await;
    let started = Instant::now();
    drop(edge);
    assert!(started.elapsed() < DEADLINE / 2, "{:?}", started.elapsed());
    assert!(waiting.join_all().await.iter().all(|(status, _)| *status == 503));
}
