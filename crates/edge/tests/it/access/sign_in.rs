//! Visitors who must give a name and a password.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_edge::Settings;
use windlass_edge::password::hash_password;
use windlass_edge::routes::{AccessSpec, HoldSpec, RateSpec, Serves, SignInSpec, SignInUser};

use super::{ask, guarded, networks, start, start_with, with_header};
use crate::support::{everything, everything_to, get, post, read_head, settings};

/// A user with this password.
pub fn user(name: &str, password: &str, iterations: u32) -> SignInUser {
    let kept = hash_password(password, iterations).unwrap();
    SignInUser { name: name.into(), iterations, salt: kept.salt, hash: kept.hash }
}

fn staff() -> AccessSpec {
    let sign_in = SignInSpec { realm: "Staff".into(), users: vec![user("zoë", "pass:wörd", 1000)] };
    AccessSpec { sign_in: Some(sign_in), ..AccessSpec::default() }
}

fn basic(name: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}")))
}

fn signed(request: Request<Full<Bytes>>, name: &str, password: &str) -> Request<Full<Bytes>> {
    with_header(request, "authorization", &basic(name, password))
}

#[tokio::test]
async fn only_those_with_the_right_password_come_in() {
    let (edge, app) = start(staff()).await;
    for _ in 0..2 {
        let asked = ask(&edge, get("/")).await;
        assert_eq!(
            (asked.status, asked.header("www-authenticate")),
            (401, Some("Basic realm=\"Staff\", charset=\"UTF-8\""))
        );
        assert!(asked.text().contains("right name and password"), "{asked:?}");
        assert_eq!(ask(&edge, signed(get("/"), "zoë", "wrong")).await.status, 401);
        assert_eq!(ask(&edge, signed(get("/"), "bob", "pass:wörd")).await.status, 401);
        for malformed in ["Basic", "Basic !", "Bearer token", "Basic em/DqzpwYXNz", "zoë:pass:wörd", ""] {
            let refused = ask(&edge, with_header(get("/"), "authorization", malformed)).await;
            assert_eq!((refused.status, refused.headers.contains_key("www-authenticate")), (401, true), "{malformed}");
        }
        assert_eq!(ask(&edge, signed(signed(get("/"), "zoë", "pass:wörd"), "zoë", "pass:wörd")).await.status, 401);
        let answer = ask(&edge, signed(get("/headers"), "zoë", "pass:wörd")).await;
        assert_eq!(answer.status, 200);
        assert!(!answer.text().contains("authorization"), "the application sees the password: {}", answer.text());
        let body = Bytes::from(vec![b'x'; 300_000]);
        let answer = ask(&edge, signed(post("/echo", body.clone()), "zoë", "pass:wörd")).await;
        assert_eq!((answer.status, answer.body == body), (200, true));
    }
    assert_eq!(app.requests(), 4);
    // Where there is nothing to sign in to, the header is the application's.
    edge.send_to(&[app.address]).await;
    assert!(ask(&edge, signed(get("/headers"), "zoë", "pass:wörd")).await.text().contains("authorization: Basic"));
}

#[tokio::test]
async fn a_user_who_is_gone_does_not_come_in() {
    let (edge, app) = start(staff()).await;
    assert_eq!(ask(&edge, signed(get("/"), "zoë", "pass:wörd")).await.status, 200);
    let sign_in = SignInSpec { realm: "Staff".into(), users: vec![user("zoë", "new", 1000)] };
    edge.apply(guarded(everything_to(&[app.address]), AccessSpec { sign_in: Some(sign_in), ..staff() })).await;
    assert_eq!(ask(&edge, signed(get("/"), "zoë", "pass:wörd")).await.status, 401);
    assert_eq!(ask(&edge, signed(get("/"), "zoë", "new")).await.status, 200);
}

#[tokio::test]
async fn too_many_wrong_passwords_must_wait() {
    let settings = Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..settings() };
    let (edge, _app) = start_with(settings, staff()).await;
    let from =
        |address: &str, password: &str| with_header(signed(get("/"), "zoë", password), "x-forwarded-for", address);
    assert_eq!(ask(&edge, from("192.0.2.1", "pass:wörd")).await.status, 200);
    for _ in 0..10 {
        assert_eq!(ask(&edge, from("192.0.2.1", "wrong")).await.status, 401);
    }
    let refused = ask(&edge, from("192.0.2.1", "wrong")).await;
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!(refused.status == 429 && (1..=6).contains(&wait), "{refused:?}");
    assert!(refused.text().contains("wrong passwords"), "{refused:?}");
    assert_eq!(ask(&edge, from("192.0.2.1", "pass:wörd")).await.status, 200, "known to be right");
    assert_eq!(ask(&edge, from("192.0.2.2", "wrong")).await.status, 401, "another household");
}

#[tokio::test]
async fn http2_visitors_sign_in_too() {
    let (edge, app) = start(staff()).await;
    let stream = TcpStream::connect(edge.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = |authorization: Option<String>| {
        let mut request = Request::get("http://app.example.org/headers");
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        request.body(Full::<Bytes>::default()).unwrap()
    };
    let asked = sender.send_request(request(None)).await.unwrap();
    assert_eq!((asked.status().as_u16(), asked.headers().contains_key("www-authenticate")), (401, true));
    assert_eq!(sender.send_request(request(Some(basic("zoë", "wrong")))).await.unwrap().status(), 401);
    let answer = sender.send_request(request(Some(basic("zoë", "pass:wörd")))).await.unwrap();
    assert_eq!((answer.status().as_u16(), app.requests()), (200, 1));
}

#[tokio::test]
async fn a_tunnel_needs_the_password_too() {
    let (edge, app) = start(staff()).await;
    let upgrade = |authorization: &str| {
        format!("GET /socket HTTP/1.1\r\nHost: a\r\n{authorization}Connection: upgrade\r\nUpgrade: echo\r\n\r\n")
    };
    let mut visitor = TcpStream::connect(edge.address).await.unwrap();
    visitor.write_all(upgrade("").as_bytes()).await.unwrap();
    assert!(read_head(&mut visitor).await.starts_with("HTTP/1.1 401"));
    assert_eq!(app.requests(), 0);
    let mut visitor = TcpStream::connect(edge.address).await.unwrap();
    let authorization = format!("Authorization: {}\r\n", basic("zoë", "pass:wörd"));
    visitor.write_all(upgrade(&authorization).as_bytes()).await.unwrap();
    assert!(read_head(&mut visitor).await.starts_with("HTTP/1.1 101"));
    visitor.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    visitor.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
}

/// Those without the password do not take up the room of those who wait.
#[tokio::test]
async fn a_service_that_is_held_is_waited_for_with_the_password_only() {
    let (edge, app) = start(staff()).await;
    let held = || everything(Serves::Held(HoldSpec { most_waiting: 1, until_ms: u64::MAX }));
    edge.apply(guarded(held(), staff())).await;
    assert_eq!(ask(&edge, get("/")).await.status, 401);
    assert_eq!(edge.stats().await.services[0].figures.held, 0);
    let mut visitor = edge.visitor().await;
    let waiting = tokio::spawn(async move { visitor.send(signed(get("/"), "zoë", "pass:wörd")).await.unwrap() });
    let look = async || (edge.stats().await.services[0].figures.held == 1).then_some(());
    crate::support::until("it waits", look).await;
    edge.apply(guarded(everything_to(&[app.address]), staff())).await;
    assert_eq!(waiting.await.unwrap().status(), 200);
}

/// Networks, then the rate, then the password, then maintenance.
#[tokio::test]
async fn the_rules_have_an_order() {
    let settings = Settings { trusted_proxies: vec!["127.0.0.1".parse().unwrap()], ..settings() };
    let rate = Some(RateSpec { per_minute: 1, burst: 2 });
    let all = AccessSpec { rate, maintenance: true, sign_in: staff().sign_in, ..networks(&[], &["192.0.2.9/32"]) };
    let (edge, app) = start_with(settings, all).await;
    let from = |address: &str| with_header(get("/"), "x-forwarded-for", address);
    for _ in 0..5 {
        assert_eq!(ask(&edge, from("192.0.2.9")).await.status, 403);
    }
    let mut statuses = Vec::new();
    for request in [from("192.0.2.1"), signed(from("192.0.2.1"), "zoë", "pass:wörd"), from("192.0.2.1")] {
        statuses.push(ask(&edge, request).await.status);
    }
    assert_eq!(statuses, [401, 503, 429]);
    assert_eq!(app.requests(), 0);
}
