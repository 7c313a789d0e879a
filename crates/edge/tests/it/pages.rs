//! What visitors see that no application has written: the edge's own pages, and files.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use windlass_edge::routes::{FilesSpec, Limits, Notice, RouteSet, Serves, TargetsSpec};

use crate::app::App;
use crate::support::{ClosedPort, TestEdge, everything, everything_to};

/// Status, media type and body of a GET.
async fn see(edge: &TestEdge, accept: &str) -> (u16, String, String) {
    let request =
        format!("GET /held HTTP/1.1\r\nHost: shop.example.org\r\nAccept: {accept}\r\nConnection: close\r\n\r\n");
    let answer = edge.raw(request).await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let line = head.lines().find_map(|line| line.strip_prefix("content-type: ")).expect("a type");
    (status, line.to_owned(), body.to_owned())
}

/// A target that takes connections and ends them.
async fn rude() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    address
}

#[tokio::test]
async fn every_page_says_what_happened() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    let slow = TargetsSpec {
        addresses: vec![app.address],
        health: None,
        limits: Limits { answer_ms: 50, ..Limits::default() },
    };
    let closed = ClosedPort::new();
    let cases: [(RouteSet, u16, &str, &str); 6] = [
        (RouteSet::default(), 404, "unknown_host", "knows of no application"),
        (everything(Serves::Page(Notice::Starting)), 503, "starting", "is being started"),
        (everything(Serves::Page(Notice::Stopped)), 503, "stopped", "has been stopped"),
        (everything_to(&[closed.address]), 503, "no_healthy_target", "can be reached"),
        (everything_to(&[rude().await]), 502, "upstream_error", "ended the connection"),
        (everything(Serves::Targets(slow)), 504, "time_limit", "within its time limit"),
    ];
    for (routes, status, code, words) in cases {
        edge.apply(routes).await;
        let (seen, media_type, body) = see(&edge, "application/json").await;
        assert_eq!((seen, media_type.as_str()), (status, "application/json"), "{code}: {body}");
        let json: serde_json::Value = serde_json::from_str(&body).unwrap();
        assert_eq!((json["status"].as_str(), json["error"].as_str()), (Some("error"), Some(code)));
        assert!(json["message"].as_str().unwrap().contains(words), "{json}");
        for accept in ["text/html,application/xhtml+xml,*/*;q=0.8", "*/*"] {
            let (seen, media_type, body) = see(&edge, accept).await;
            assert_eq!((seen, media_type.as_str()), (status, "text/html; charset=utf-8"), "{code}");
            assert!(body.starts_with("<!doctype html>") && body.contains(words), "{body}");
        }
    }
}

#[tokio::test]
async fn a_folder_is_served() {
    let edge = TestEdge::start().await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("index.html"), "<h1>Hello</h1>").unwrap();
    std::fs::write(folder.path().join("large.bin"), vec![7; 3_000_000]).unwrap();
    let files = FilesSpec {
        folder: folder.path().to_owned(),
        clean_urls: true,
        single_page: false,
        not_found: "404.html".into(),
    };
    edge.apply(everything(Serves::Files(files))).await;
    let mut visitor = edge.visitor().await;
    assert_eq!(visitor.get("/").await.unwrap(), (200, "<h1>Hello</h1>".into()));
    assert_eq!(visitor.get("/large.bin").await.unwrap().1.len(), 3_000_000);
    assert_eq!(visitor.get("/../../etc/passwd").await.unwrap().0, 404);
    assert_eq!(visitor.get("/nothing").await.unwrap().0, 404);
    let figures = edge.stats().await.services[0].figures.clone();
    assert_eq!((figures.requests, figures.statuses["2xx"], figures.statuses["4xx"]), (4, 2, 2));
    assert!(figures.sent_bytes > 3_000_014 && figures.in_flight == 0, "{figures:?}");
}

/// Nothing is changed by routes that make no sense, and every problem is named.
#[tokio::test]
async fn routes_that_make_no_sense_change_nothing() {
    let edge = TestEdge::start().await;
    let app = App::start("app").await;
    edge.send_to(&[app.address]).await;
    let mut bad = everything_to(&["0.0.0.0:0".parse().unwrap()]);
    bad.routes[0].host = "Not A Host".into();
    bad.routes[0].path = "no-slash".into();
    bad.routes.push(bad.routes[0].clone());
    bad.routes[1].service = "missing".into();
    let refused = edge.control().await.apply(bad).await.unwrap_err().to_string();
    for place in ["routes[0].host", "routes[0].path", "routes[1].service", "services[0].serves.targets.addresses"] {
        assert!(refused.contains(place), "{place} in {refused}");
    }
    let own = everything_to(&[edge.address]);
    let refused = edge.control().await.apply(own).await.unwrap_err().to_string();
    assert!(refused.contains("is the edge itself"), "{refused}");
    assert_eq!(edge.visitor().await.get("/").await.unwrap(), (200, "app".into()));
}
