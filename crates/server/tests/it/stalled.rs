//! Followers who do not take what they asked for.

use std::time::{Duration, Instant};

use axum::body::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use windlass_store::Kind;
use windlass_testing::on_sqlite_and_long_on_postgres;

use crate::logs::{Shop, numbered};
use crate::support::{TestServer, kind};

on_sqlite_and_long_on_postgres!(kind: they_hold_up_no_other_client, a_stream_that_is_never_opened);

const CUT_OFF_LIMIT: Duration = Duration::from_secs(60);

impl Shop {
    /// Waits until so many follow or download.
    async fn followers(&self, count: usize) {
        let deadline = Instant::now() + CUT_OFF_LIMIT;
        loop {
            let metrics = self.server.call_raw(axum::http::Method::GET, "/metrics").by(&self.ada).send().await.text;
            if metrics.contains(&format!("\nwindlass_log_followers {count}\n")) {
                return;
            }
            assert!(Instant::now() < deadline, "{metrics}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// They are cut off, and until then no other client waits for them.
async fn they_hold_up_no_other_client(kind: Kind) {
    const FOLLOWERS: usize = 30;
    const STALLED: usize = 5;
    const LINES: usize = 3_000;
    // Longer than a busy machine keeps a client that reads from reading.
    let shop = Shop::new(TestServer::with(kind, &[("idle-seconds", "10")]).await).await;
    let request = format!(
        "GET /api/v1{} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        shop.path("/follow?tail=0"),
        shop.ada.token
    );
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        let mut stream = TcpStream::connect(shop.server.address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    let mut followers = Vec::new();
    for _ in 0..FOLLOWERS {
        followers.push(shop.follow("?tail=0").await);
    }
    shop.followers(FOLLOWERS + STALLED).await;
    let readers: Vec<_> = followers.into_iter().map(|events| tokio::spawn(read(events.body, LINES))).collect();
    for batch in 0..LINES / 100 {
        let lines = (0..100).map(|line| format!("{batch} {line} {}", "x".repeat(5_000)));
        shop.server.print(shop.deployment, lines).await;
    }
    for reader in readers {
        assert_eq!(timeout(CUT_OFF_LIMIT, reader).await.expect("in time").unwrap(), (1..=LINES).collect::<Vec<_>>());
    }
    shop.followers(0).await;
    drop(stalled);
}

/// HTTP/2 has a window for each stream, beside the connection's, which says whether the client is there.
async fn a_stream_that_is_never_opened(kind: Kind) {
    let shop = Shop::new(TestServer::with(kind, &[("idle-seconds", "1"), ("log-followers", "2")]).await).await;
    let mut quiet = shop.follow("").await;
    let stream = TcpStream::connect(shop.server.address).await.unwrap();
    let mut builder = http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) =
        builder.initial_stream_window_size(0).handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    let uri = format!("http://{}/api/v1{}", shop.server.address, shop.path("/follow"));
    let request = Request::get(uri).header("authorization", format!("Bearer {}", shop.ada.token));
    let answer = sender.send_request(request.body(Empty::new()).unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    shop.followers(2).await;
    shop.server.get(&shop.path("/follow")).by(&shop.ada).fails(429, "rate_limited").await;
    let _ = timeout(CUT_OFF_LIMIT, connection).await.expect("the connection is closed").unwrap();
    shop.followers(1).await;
    // A client that waits for lines is not one that does not take them.
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    shop.print(1..=1).await;
    assert_eq!(quiet.lines(1).await, numbered(1..=1));
    drop(answer);
}

/// The ids of so many lines.
async fn read(mut body: Incoming, count: usize) -> Vec<usize> {
    let (mut ids, mut rest) = (Vec::new(), Vec::new());
    while ids.len() < count {
        let frame = body.frame().await.unwrap().unwrap();
        rest.extend_from_slice(frame.data_ref().unwrap());
        let end = memchr::memrchr(b'\n', &rest).map_or(0, |end| end + 1);
        let whole: Vec<u8> = rest.drain(..end).collect();
        let ends = memchr::memchr_iter(b'\n', &whole).map(|end| end + 1);
        let begins = std::iter::once(0).chain(ends);
        let found = begins.filter_map(|begin| whole[begin..].strip_prefix(b"id: "));
        let number = |id: &[u8]| str::from_utf8(&id[..memchr::memchr(b'\n', id)?]).ok()?.parse::<usize>().ok();
        // Heartbeats repeat the last one.
        ids.extend(found.filter_map(number).filter(|id| *id > 0));
        ids.dedup();
    }
    ids
}
