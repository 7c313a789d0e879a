//! What passes between visitors and targets, and what does not.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::app::App;
use crate::support::{ClosedPort, TestEdge, get, post, read_head, settings, until};

/// The lines that an application has received, without the request's id.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with("x-request-id")).map(str::to_owned).collect();
    lines[1..].sort_unstable();
    lines
}

#[tokio::test]
async fn the_application_learns_who_came_and_cannot_be_told_otherwise() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    edge.send_to(&[app.address]).await;
    let request = "GET /headers?x=1 HTTP/1.1\r\nHost: Shop.Example.org:8080\r\nX-Forwarded-For: 6.6.6.6\r\n\
                   X_Real_IP: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Request-Id: mine\r\nConnection: close, x-hop\r\n\
                   X-Hop: 1\r\nX-Kept: 1\r\nProxy-Authorization: secret\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nTE: trailers\r\n\r\n";
    let answer = edge.raw(request).await;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("x-app: app"), "{head}");
    assert_eq!(
        lines(body),
        [
            "GET /headers?x=1",
            "connection: te",
            "forwarded: for=127.0.0.1;host=\"Shop.Example.org:8080\";proto=http",
            "host: Shop.Example.org:8080",
            "te: trailers",
            "x-forwarded-for: 127.0.0.1",
            "x-forwarded-host: Shop.Example.org:8080",
            "x-forwarded-proto: http",
            "x-kept: 1",
            "x-real-ip: 127.0.0.1",
        ]
    );
    assert!(!body.contains("mine"));
}

#[tokio::test]
async fn proxies_that_are_trusted_are_believed() {
    let trusting = windlass_edge::Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..settings() };
    let edge = TestEdge::with(trusting).await;
    let app = App::start("app").await;
    edge.send_to(&[app.address]).await;
    let request = "GET /headers HTTP/1.1\r\nHost: shop\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\
                   X-Request-Id: theirs\r\nConnection: close\r\n\r\n";
    let answer = edge.raw(request).await;
    for line in [
        "x-forwarded-for: 192.0.2.1, 127.0.0.1",
        "x-forwarded-proto: https",
        "x-real-ip: 192.0.2.1",
        "x-request-id: theirs",
    ] {
        assert!(answer.contains(line), "{line} in {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_bodies_pass_both_ways() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    edge.send_to(&[app.address]).await;
    let body = Bytes::from(vec![7; 20 * 1024 * 1024]);
    let mut visitor = edge.visitor().await;
    let answer = visitor.send(post("/echo", body.clone())).await.unwrap();
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), body);
    // The connection to the application is used again.
    assert_eq!(visitor.get("/").await.unwrap(), (200, "app".into()));
    let figures = &edge.stats().await.services[0].figures;
    assert_eq!((figures.requests, figures.received_bytes), (2, body.len() as u64));
    assert_eq!(figures.sent_bytes, body.len() as u64 + 3);
}

#[tokio::test]
async fn http2_visitors_are_served_too() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    edge.send_to(&[app.address]).await;
    let stream = TcpStream::connect(edge.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut asked = Vec::new();
    for number in 0..20 {
        let request = Request::post("http://shop.example.org/echo").header("cookie", "a=1").header("cookie", "b=2");
        asked.push(sender.send_request(request.body(Full::from(format!("number {number}"))).unwrap()));
    }
    for (number, answer) in asked.into_iter().enumerate() {
        let body = answer.await.unwrap().into_body().collect().await.unwrap().to_bytes();
        assert_eq!(body, format!("number {number}"));
    }
    let request = Request::get("http://shop.example.org/headers").header("cookie", "a=1").header("cookie", "b=2");
    let answer = sender.send_request(request.body(Full::<Bytes>::default()).unwrap()).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let text = String::from_utf8_lossy(&body);
    assert!(text.contains("host: shop.example.org") && text.contains("cookie: a=1; b=2"), "{text}");
    assert!(text.starts_with("GET /headers\n"), "{text}");
}

#[tokio::test]
async fn head_has_the_length_and_no_body() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    edge.send_to(&[app.address]).await;
    let answer = edge.raw("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(answer.contains("content-length: 3\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}

/// A target that does what the test says, one connection at a time.
async fn script(answers: Vec<&'static str>) -> (SocketAddr, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let played = tokio::spawn(async move {
        let mut heard = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            heard.push(read_head(&mut stream).await);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        heard
    });
    (address, played)
}

/// The first connection is kept and then closed by the target, while the next request is on its way: it is sent again
/// if that can do no harm.
#[tokio::test]
async fn a_kept_connection_that_ended_costs_no_visitor_an_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let edge = TestEdge::start().await;
    edge.send_to(&[address]).await;
    let target = tokio::spawn(async move {
        for turn in 0..3 {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            if turn < 2 {
                // Takes the next request and says nothing.
                read_head(&mut stream).await;
            }
        }
    });
    let mut visitor = edge.visitor().await;
    assert_eq!(visitor.get("/").await.unwrap(), (200, "ok".into()));
    assert_eq!(visitor.get("/").await.unwrap(), (200, "ok".into()), "a GET is sent again");
    let refused = visitor.send(post("/", "x")).await.unwrap();
    assert_eq!(refused.status(), 502, "a POST may have done something and is not");
    drop(refused);
    let mut visitor = edge.visitor().await;
    assert_eq!(visitor.get("/").await.unwrap(), (200, "ok".into()));
    target.await.unwrap();
    let figures = &edge.stats().await.services[0].figures;
    assert_eq!(figures.retries, 1);
}

#[tokio::test]
async fn a_target_that_cannot_be_reached_is_passed_over() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    let closed = ClosedPort::new();
    edge.send_to(&[closed.address, app.address]).await;
    for _ in 0..20 {
        let answer = edge.visitor().await.send(post("/echo", "once")).await.unwrap();
        assert_eq!(answer.status(), 200);
    }
    assert_eq!(app.requests(), 20);
    edge.send_to(&[closed.address]).await;
    let answer = edge.visitor().await.send(get("/")).await.unwrap();
    assert_eq!(answer.status(), 503);
    assert_eq!(answer.headers()["retry-after"], "2");
}

#[tokio::test]
async fn the_least_busy_target_is_next() {
    let edge = TestEdge::start().await;
    let (one, two) = (App::start("one").await, App::start("two").await);
    edge.send_to(&[one.address, two.address]).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let mut visitor = edge.visitor().await;
        waiting.spawn(async move { visitor.get("/held").await });
    }
    let both = || (one.requests(), two.requests());
    until("five each", async || (both() == (5, 5)).then_some(())).await;
    one.let_go(5);
    two.let_go(5);
    for answer in waiting.join_all().await {
        assert_eq!(answer.unwrap().0, 200);
    }
}

/// The application decides whether it wants the body that a visitor holds back.
#[tokio::test]
async fn expectations_reach_the_application() {
    let edge = TestEdge::start().await;
    let (address, played) = script(vec!["HTTP/1.1 413 Payload Too Large\r\ncontent-length: 0\r\n\r\n"]).await;
    edge.send_to(&[address]).await;
    let request = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n";
    let answer = edge.raw(request).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "the body is not asked for: {answer}");
    assert!(played.await.unwrap()[0].contains("expect: 100-continue"));

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    edge.send_to(&[listener.local_addr().unwrap()]).await;
    let target = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
        let mut body = [0; 5];
        stream.read_exact(&mut body).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\n").await.unwrap();
        stream.write_all(&body).await.unwrap();
    });
    let mut stream = TcpStream::connect(edge.address).await.unwrap();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    assert_eq!(read_head(&mut stream).await, "HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"hello").await.unwrap();
    let answer = crate::support::read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("hello"), "{answer}");
    target.await.unwrap();
}

#[tokio::test]
async fn trailers_pass_both_ways() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let edge = TestEdge::start().await;
    edge.send_to(&[listener.local_addr().unwrap()]).await;
    let target = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let head = read_head(&mut stream).await;
        let body = read_head(&mut stream).await;
        let answer =
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n2\r\nok\r\n0\r\nx-sum: 42\r\n\r\n";
        stream.write_all(answer.as_bytes()).await.unwrap();
        head + &body
    });
    let request = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: x-check\r\nTE: trailers\r\n\
                   Connection: close, te\r\n\r\n3\r\nabc\r\n0\r\nx-check: 7\r\n\r\n";
    let answer = edge.raw(request).await;
    assert!(answer.contains("x-sum: 42"), "{answer}");
    let heard = target.await.unwrap();
    assert!(heard.contains("x-check: 7") && heard.contains("transfer-encoding: chunked"), "{heard}");
}

#[tokio::test]
async fn the_time_limits_of_a_service_hold() {
    use windlass_edge::routes::{Limits, Serves, TargetsSpec};
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    let limits = Limits { answer_ms: 100, idle_ms: 100, body_bytes: 10, ..Limits::default() };
    let targets = TargetsSpec { addresses: vec![app.address], health: None, limits };
    edge.apply(crate::support::everything(Serves::Targets(targets))).await;
    let mut visitor = edge.visitor().await;
    assert_eq!(visitor.get("/held").await.unwrap().0, 504, "no answer in time");
    assert_eq!(visitor.send(post("/echo", "more than ten")).await.unwrap().status(), 413);
    let mut stream = TcpStream::connect(edge.address).await.unwrap();
    stream.write_all(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab").await.unwrap();
    let answer = crate::support::read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    tokio::time::timeout(Duration::from_secs(5), edge.visitor().await.get("/")).await.unwrap().unwrap();
}

/// Targets that say that they are not well get requests again when they say that they are. An answer without a body
/// will do.
#[tokio::test]
async fn targets_are_asked_whether_they_are_well() {
    use windlass_edge::routes::{HealthSpec, Limits, Serves, TargetsSpec};
    let edge = TestEdge::start().await;
    let (one, two) = (App::start("one").await, App::start("two").await);
    let health = HealthSpec { path: "/health".into(), interval_ms: 100, ..HealthSpec::default() };
    let addresses = vec![one.address, two.address];
    let routes = |health| {
        let targets = TargetsSpec { addresses: addresses.clone(), health, limits: Limits::default() };
        crate::support::everything(Serves::Targets(targets))
    };
    edge.apply(routes(Some(health))).await;
    let verdicts =
        async || -> Vec<bool> { edge.stats().await.services[0].targets.iter().map(|target| target.is_well).collect() };
    let are = async |wanted: [bool; 2]| {
        until("the verdicts", async || (verdicts().await == wanted).then_some(())).await;
    };
    let asked = || one.health_checks().min(two.health_checks());
    until("both are asked", async || (asked() >= 3).then_some(())).await;
    are([true, true]).await;
    one.is_ill(true);
    are([false, true]).await;
    for _ in 0..10 {
        assert_eq!(edge.visitor().await.get("/").await.unwrap(), (200, "two".into()));
    }
    // When no target is well, all are tried.
    two.is_ill(true);
    are([false, false]).await;
    assert_eq!(edge.visitor().await.get("/").await.unwrap().0, 200);
    one.is_ill(false);
    are([true, false]).await;
    // Without checks there is no verdict that could stay.
    edge.apply(routes(None)).await;
    are([true, true]).await;
}
