//! Upgrades that are refused, half done or abused.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_edge::counters::Cause;
use windlass_edge::routes::Limits;

use crate::protocol::wire::{FINE, Recorder, Stage, ends, is_quiet, is_well, limited, recovers, say, statuses};
use crate::support::{TestEdge, read_all, read_head};

const UPGRADE: &str = "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";

/// Both ends of a tunnel through the edge.
async fn tunnel(stage: &Stage, edge: &TestEdge) -> (TcpStream, TcpStream) {
    let mut visitor = say(edge, UPGRADE).await;
    let mut target = stage.accept().await;
    let head = read_head(&mut target).await;
    assert!(head.contains("connection: upgrade\r\n") && head.contains("upgrade: echo\r\n"), "{head}");
    target.write_all(SWITCH.as_bytes()).await.unwrap();
    assert!(read_head(&mut visitor).await.starts_with("HTTP/1.1 101"));
    (visitor, target)
}

async fn hears(stream: &mut TcpStream, text: &str) {
    let mut heard = vec![0; text.len()];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(String::from_utf8_lossy(&heard), text);
}

/// The target does not want to change: an ordinary answer, and the connections go on.
#[tokio::test]
async fn a_refused_upgrade_is_an_ordinary_answer() {
    for status in ["200 OK", "400 Bad Request", "426 Upgrade Required"] {
        let (stage, edge) = Stage::with_edge().await;
        let mut visitor = say(&edge, UPGRADE).await;
        let mut target = stage.accept().await;
        read_head(&mut target).await;
        let answer = format!("HTTP/1.1 {status}\r\nupgrade: echo\r\ncontent-length: 2\r\n\r\nno");
        target.write_all(answer.as_bytes()).await.unwrap();
        assert!(read_head(&mut visitor).await.starts_with(&format!("HTTP/1.1 {status}")));
        hears(&mut visitor, "no").await;
        is_quiet(&edge).await;
        visitor.write_all(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.unwrap();
        read_head(&mut target).await;
        target.write_all(FINE.as_bytes()).await.unwrap();
        assert!(read_all(&mut visitor).await.ends_with("fine"), "{status}");
        recovers(&edge).await;
    }
}

#[tokio::test]
async fn a_target_that_leaves_after_the_upgrade_ends_the_tunnel() {
    let (stage, edge) = Stage::with_edge().await;
    let (mut visitor, target) = tunnel(&stage, &edge).await;
    drop(target);
    assert!(ends(&mut visitor).await.is_empty());
    drop(visitor);
    recovers(&edge).await;
}

/// What the target says right behind its 101 belongs to the tunnel.
#[tokio::test]
async fn bytes_behind_the_101_go_through_the_tunnel() {
    let (stage, edge) = Stage::with_edge().await;
    let mut visitor = say(&edge, UPGRADE).await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    target.write_all(format!("{SWITCH}hello").as_bytes()).await.unwrap();
    drop(target);
    let answer = read_all(&mut visitor).await;
    assert!(answer.starts_with("HTTP/1.1 101") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    drop(visitor);
    recovers(&edge).await;
}

/// What the visitor says right behind its request waits for the answer to it, and goes through the tunnel.
#[tokio::test]
async fn bytes_behind_the_upgrade_request_go_through_the_tunnel() {
    let (stage, edge) = Stage::with_edge().await;
    let behind = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut visitor = say(&edge, format!("{UPGRADE}{behind}")).await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    target.write_all(SWITCH.as_bytes()).await.unwrap();
    assert!(read_head(&mut visitor).await.starts_with("HTTP/1.1 101"));
    hears(&mut target, behind).await;
    target.write_all(b"heard").await.unwrap();
    hears(&mut visitor, "heard").await;
    assert_eq!(edge.stats().await.services[0].figures.requests, 1, "it was not taken for a request");
    drop((visitor, target));
    recovers(&edge).await;
}

/// If the upgrade is refused they are the next request, and answered after it.
#[tokio::test]
async fn bytes_behind_a_refused_upgrade_are_the_next_request() {
    let (target, edge) = Recorder::with_edge().await;
    let mut visitor = say(&edge, format!("{UPGRADE}GET /next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).await;
    let answers = read_all(&mut visitor).await;
    assert_eq!(statuses(&answers), [200, 200]);
    let heard: Vec<String> = target.heard().iter().map(|heard| heard.what().to_owned()).collect();
    assert_eq!(heard, ["GET /socket", "GET /next"]);
    is_well(&edge).await;
}

/// A side that has said all may still listen.
#[tokio::test]
async fn half_a_tunnel_stays_open() {
    let (stage, edge) = Stage::with_edge().await;
    let (mut visitor, mut target) = tunnel(&stage, &edge).await;
    visitor.write_all(b"last words").await.unwrap();
    visitor.shutdown().await.unwrap();
    assert_eq!(ends(&mut target).await, b"last words");
    target.write_all(b"heard").await.unwrap();
    drop(target);
    assert_eq!(ends(&mut visitor).await, b"heard");
    recovers(&edge).await;
}

/// A target that spoke HTTP/2 with the visitor would do so past the edge.
#[tokio::test]
async fn an_upgrade_to_http2_is_not_passed_on() {
    let (target, edge) = Recorder::with_edge().await;
    for lines in [
        "Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
        "Connection: upgrade\r\nUpgrade: H2C",
        "Connection: upgrade\r\nUpgrade: websocket, h2c",
        "Connection: upgrade\r\nUpgrade: h2c, websocket",
        "Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: h2c",
        "Connection: upgrade\r\nUpgrade: h2c\r\nUpgrade: websocket",
        "Connection: upgrade\r\nUpgrade: h2",
        "Connection: upgrade\r\nUpgrade: HTTP/2.0",
        "Connection: upgrade\r\nUpgrade: TLS/1.2, HTTP/1.1",
        "Upgrade: websocket",
    ] {
        let second = "GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let mut visitor = say(&edge, format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n{second}")).await;
        assert_eq!(statuses(&read_all(&mut visitor).await), [200, 200], "{lines}");
        let heard = target.take();
        let passed = [heard[0].all("upgrade"), heard[0].all("connection"), heard[0].all("http2-settings")].concat();
        let names = passed.join(",").to_ascii_lowercase();
        assert!(!["h2", "http", "tls"].iter().any(|name| names.contains(name)), "{lines}: {passed:?}");
        is_well(&edge).await;
        target.take();
    }
}

/// HTTP/1.0 knows no upgrades; a target that does it all the same has lost its way.
#[tokio::test]
async fn http_1_0_does_not_upgrade() {
    let (stage, edge) = Stage::with_edge().await;
    let mut visitor = say(&edge, UPGRADE.replace("HTTP/1.1", "HTTP/1.0")).await;
    let mut target = stage.accept().await;
    let head = read_head(&mut target).await;
    assert!(!head.contains("upgrade"), "{head}");
    target.write_all(SWITCH.as_bytes()).await.unwrap();
    assert_eq!(statuses(&read_all(&mut visitor).await), [502]);
    ends(&mut target).await;
    recovers(&edge).await;
}

/// The body of an upgrade's request comes before the tunnel, and the tunnel begins behind it.
#[tokio::test]
async fn an_upgrade_may_have_a_body() {
    let (stage, edge) = Stage::with_edge().await;
    let request = "POST /socket HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\
                   Content-Length: 5\r\n\r\nhellobehind";
    let mut visitor = say(&edge, request).await;
    let mut target = stage.accept().await;
    let head = read_head(&mut target).await;
    assert!(head.contains("content-length: 5\r\n"), "{head}");
    hears(&mut target, "hello").await;
    target.write_all(SWITCH.as_bytes()).await.unwrap();
    assert!(read_head(&mut visitor).await.starts_with("HTTP/1.1 101"));
    hears(&mut target, "behind").await;
    target.write_all(b"heard").await.unwrap();
    hears(&mut visitor, "heard").await;
    drop((visitor, target));
    recovers(&edge).await;
}

/// A target that changes before it has the whole body: it is not known where the tunnel begins, so there is none.
#[tokio::test]
async fn an_upgrade_in_the_middle_of_a_body_is_502() {
    let (stage, edge) = Stage::with_edge().await;
    let request =
        "POST /socket HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\nContent-Length: 50\r\n\r\nhello";
    let mut visitor = say(&edge, request).await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    target.write_all(SWITCH.as_bytes()).await.unwrap();
    assert_eq!(statuses(&read_all(&mut visitor).await), [502]);
    ends(&mut target).await;
    recovers(&edge).await;
}

#[tokio::test]
async fn a_still_tunnel_is_closed() {
    let (stage, edge) = Stage::with_edge().await;
    edge.apply(limited(stage.address, Limits { upgrade_idle_ms: 1_000, ..Limits::default() })).await;
    let (mut visitor, mut target) = tunnel(&stage, &edge).await;
    // A byte in either direction is enough, for longer than the limit.
    for turn in 0..6 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let (from, to) = if turn % 2 == 0 { (&mut visitor, &mut target) } else { (&mut target, &mut visitor) };
        from.write_all(b"x").await.unwrap();
        hears(to, "x").await;
    }
    let (visitors, targets) = tokio::join!(ends(&mut visitor), ends(&mut target));
    assert!(visitors.is_empty() && targets.is_empty());
    is_quiet(&edge).await;
    assert_eq!(edge.stats().await.services[0].figures.failed(Cause::Slow), 1);
    recovers(&edge).await;
}
