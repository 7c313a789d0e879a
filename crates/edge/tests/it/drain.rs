//! Swaps and drains: no request fails, none comes late, and the counts are right.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::app::App;
use crate::support::{DEADLINE, TestEdge, Visitor, get, post, until};

const SWAPS: usize = 200;

fn upgrade() -> Request<Full<Bytes>> {
    let request =
        Request::get("/socket").header("host", "app").header("connection", "upgrade").header("upgrade", "echo");
    request.body(Full::default()).unwrap()
}

/// Opens an upgraded connection, talks, and leaves.
async fn converse(edge: SocketAddr) -> Result<String, String> {
    let mut visitor = Visitor::connect(edge).await;
    let mut answer = visitor.send(upgrade()).await.map_err(|error| error.to_string())?;
    if answer.status() != 101 {
        return Err(format!("status {}", answer.status()));
    }
    let app = answer.headers()["x-app"].to_str().unwrap().to_owned();
    let upgraded = hyper::upgrade::on(&mut answer).await.map_err(|error| error.to_string())?;
    let mut stream = TokioIo::new(upgraded);
    for _ in 0..5 {
        stream.write_all(b"hello").await.map_err(|error| error.to_string())?;
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).await.map_err(|error| error.to_string())?;
        assert_eq!(&heard, b"hello");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok(app)
}

async fn ask(visitor: &mut Visitor, turn: usize) -> Result<(), String> {
    let large = Bytes::from(vec![b'x'; 100_000]);
    let (request, expected) = match turn % 4 {
        0 => (get("/"), None),
        1 => (get("/slow"), None),
        2 => (get("/stream"), None),
        _ => (post("/echo", large.clone()), Some(large)),
    };
    let answer = visitor.send(request).await.map_err(|error| format!("no answer: {error}"))?;
    if answer.status() != 200 {
        return Err(format!("status {}", answer.status()));
    }
    let app = answer.headers()["x-app"].to_str().unwrap().to_owned();
    let body = answer.into_body().collect().await.map_err(|error| format!("half an answer: {error}"))?.to_bytes();
    match expected {
        Some(expected) if body != expected => Err("another body".into()),
        // Every line of an answer is from the instance that began it.
        None if String::from_utf8_lossy(&body).lines().any(|line| line != app) => Err("mixed answers".into()),
        _ => Ok(()),
    }
}

#[derive(Default)]
struct Load {
    stop: AtomicBool,
    done: AtomicUsize,
}

fn start_load(edge: SocketAddr, load: &Arc<Load>) -> JoinSet<Vec<String>> {
    let mut visitors = JoinSet::new();
    for number in 0..16 {
        let load = load.clone();
        visitors.spawn(async move {
            let mut failures = Vec::new();
            let mut visitor = Visitor::connect(edge).await;
            let mut turn = number;
            while !load.stop.load(Ordering::SeqCst) {
                turn += 1;
                if let Err(failure) = ask(&mut visitor, turn).await {
                    failures.push(failure);
                    visitor = Visitor::connect(edge).await;
                }
                load.done.fetch_add(1, Ordering::SeqCst);
            }
            failures
        });
    }
    for _ in 0..4 {
        let load = load.clone();
        visitors.spawn(async move {
            let mut failures = Vec::new();
            while !load.stop.load(Ordering::SeqCst) {
                failures.extend(converse(edge).await.err());
                load.done.fetch_add(1, Ordering::SeqCst);
            }
            failures
        });
    }
    visitors
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_swaps_under_load_lose_nothing() {
    let edge = TestEdge::start().await;
    let mut current = App::start("release-0").await;
    edge.send_to(&[current.address]).await;
    let load = Arc::new(Load::default());
    let visitors = start_load(edge.address, &load);
    for swap in 1..=SWAPS {
        let before = load.done.load(Ordering::SeqCst);
        let next = App::start(&format!("release-{swap}")).await;
        edge.send_to(&[next.address]).await;
        let at_swap = current.requests();
        let drained = edge.drain(current.address, DEADLINE).await;
        let after_drain = current.requests();
        assert_eq!(drained.cut, 0, "swap {swap}");
        assert_eq!(drained.finished, drained.in_flight, "swap {swap}");
        // A request that comes after the swap entered before it, and is one of those that were in flight.
        assert!(after_drain - at_swap <= drained.in_flight as usize, "swap {swap}: {drained:?}");
        assert_eq!(current.seen.active.load(Ordering::SeqCst), 0, "swap {swap}: a request is still in");
        // The old instance ends here: a request that came late now would fail.
        current = next;
        until("requests go on", async || (load.done.load(Ordering::SeqCst) > before).then_some(())).await;
    }
    load.stop.store(true, Ordering::SeqCst);
    let failures: Vec<String> = visitors.join_all().await.into_iter().flatten().collect();
    assert_eq!(failures, [""; 0], "of {} requests", load.done.load(Ordering::SeqCst));
    // A visitor may see the end of its answer before the edge has counted it.
    until("nothing is in flight", async || {
        let stats = edge.stats().await;
        (stats.services[0].figures.upgrades == 0 && stats.services[0].figures.in_flight == 0).then_some(())
    })
    .await;
    assert_eq!(edge.stats().await.services[0].figures.failures.values().sum::<u64>(), 0);
}

/// Requests that are held, streams without end and upgraded connections, each kind known in number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_counts_exactly_what_finished_and_what_was_cut() {
    let edge = TestEdge::start().await;
    let (old, new) = (App::start("old").await, App::start("new").await);
    edge.send_to(&[old.address]).await;
    let mut held = JoinSet::new();
    for _ in 0..7 {
        let mut visitor = edge.visitor().await;
        held.spawn(async move { visitor.get("/held").await });
    }
    let mut endless = JoinSet::new();
    for _ in 0..3 {
        let mut visitor = edge.visitor().await;
        endless.spawn(async move { visitor.get("/endless").await });
    }
    let mut sockets = Vec::new();
    for _ in 0..2 {
        let mut answer = edge.visitor().await.send(upgrade()).await.unwrap();
        sockets.push(TokioIo::new(hyper::upgrade::on(&mut answer).await.unwrap()));
    }
    let active = || old.seen.active.load(Ordering::SeqCst);
    until("all twelve are in", async || (active() == 12).then_some(())).await;
    edge.send_to(&[new.address]).await;
    // New requests go to the new instance at once, on connections that are open already too.
    assert_eq!(edge.visitor().await.get("/").await.unwrap(), (200, "new".into()));
    let draining = edge.drain(old.address, Duration::from_secs(1));
    let finishing = async {
        old.let_go(5);
        let mut finished = 0;
        while finished < 5 {
            assert_eq!(held.join_next().await.unwrap().unwrap().unwrap(), (200, "old".into()));
            finished += 1;
        }
    };
    let (drained, ()) = tokio::join!(draining, finishing);
    assert_eq!((drained.in_flight, drained.finished, drained.cut), (12, 5, 7));
    // Visitors whose requests were cut know it: none of them takes half an answer for a whole one.
    for visitor in held.join_all().await {
        assert_eq!(visitor.unwrap().0, 502);
    }
    for visitor in endless.join_all().await {
        assert!(visitor.is_err(), "{visitor:?}");
    }
    for mut socket in sockets {
        let _ = socket.write_all(b"still there?").await;
        let mut rest = Vec::new();
        let read = tokio::time::timeout(DEADLINE, socket.read_to_end(&mut rest)).await.expect("it ends");
        assert!(read.is_err() || rest.is_empty());
    }
    until("no request is in any more", async || (active() == 0).then_some(())).await;
    assert_eq!(
        edge.drain(old.address, Duration::from_secs(1)).await,
        drained,
        "a caller that asks again hears the same"
    );
    // The same instance comes back and leaves again: what was before is not counted twice.
    edge.send_to(&[old.address]).await;
    edge.send_to(&[new.address]).await;
    assert_eq!(edge.drain(old.address, Duration::from_secs(1)).await.in_flight, 0);
}

#[tokio::test]
async fn a_target_that_still_gets_requests_cannot_be_drained() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    edge.send_to(&[app.address]).await;
    let drain = windlass_edge::control::Drain { service: "app".into(), address: app.address, deadline_ms: 10 };
    let refused = edge.control().await.drain(drain).await.unwrap_err();
    assert!(refused.to_string().contains("still gets requests"), "{refused}");
    assert_eq!(edge.visitor().await.get("/").await.unwrap().0, 200);
}
