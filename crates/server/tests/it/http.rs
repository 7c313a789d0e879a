//! The server as an HTTP server: what holds whatever the route.

use axum::http::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{TestServer, server, snapshot};

on_both_databases!(server: health_and_readiness, a_database_that_is_gone);

async fn health_and_readiness(server: TestServer) {
    for path in ["/health", "/health/ready"] {
        let data = server.get(path).ok().await;
        assert_eq!(data["dependencies"], json!([{ "name": "database", "ready": true, "reason": "" }]));
    }
    server.post("/health", json!({})).fails(405, "method_not_allowed").await;
    server.get("/health/invalid").fails(404, "not_found").await;
}

async fn a_database_that_is_gone(server: TestServer) {
    let admin = server.admin().await;
    server.app.db.close().await;
    let data = server.get("/health").ok().await;
    assert_eq!(data["ready"], false);
    let message = server.get("/health/ready").fails(503, "unavailable").await;
    assert!(message.contains("database"), "{message}");
    server.get("/user").by(&admin).fails(503, "unavailable").await;
    server.get("/auth/is-admin-registered").fails(503, "unavailable").await;
}

#[tokio::test]
async fn unknown_paths_and_methods_answer_in_the_envelope() {
    let server = server(Kind::Sqlite).await;
    for path in ["/nothing", "/user/", "/", "", "/organizations/nope/nope", "/%ff", "/auth/sessions/"] {
        let reply = server.call(Method::GET, path).send().await;
        assert_eq!((reply.status, &reply.json["error"]), (404, &json!("not_found")), "{path}");
    }
    let reply = server.call(Method::PUT, "/user").send().await;
    snapshot("method_not_allowed", &reply.json);
    assert_eq!(reply.headers["allow"], "GET,HEAD");
    for method in ["OPTIONS", "TRACE", "BREW"] {
        let reply = server.call(method.parse().unwrap(), "/user").send().await;
        assert_eq!(reply.status, 405, "{method}");
    }
}

#[tokio::test]
async fn any_content_type_is_json_and_any_accept_gets_json() {
    let server = server(Kind::Sqlite).await;
    let admin = server.admin().await;
    for (content, accept) in [("text/plain", "text/html"), ("application/xml", "image/png"), ("nonsense", "*/*")] {
        let call = server.patch("/user/settings/theme", json!({ "theme": "dark" }));
        call.by(&admin).header("content-type", content).header("accept", accept).ok().await;
    }
}

#[tokio::test]
async fn every_answer_has_safe_headers() {
    let server = server(Kind::Sqlite).await;
    for path in ["/", "/api/v1/docs", "/api/v1/health", "/nothing", "/metrics", "/api/v1/openapi.json"] {
        let reply = server.call_raw(Method::GET, path).send().await;
        assert_eq!(reply.headers["x-content-type-options"], "nosniff", "{path}");
        assert_eq!(reply.headers["x-frame-options"], "DENY", "{path}");
        assert!(reply.headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"), "{path}");
        assert_eq!(reply.headers["x-request-id"].len(), 32, "{path}");
    }
}

#[tokio::test]
async fn origins_are_closed_unless_configured() {
    let closed = server(Kind::Sqlite).await;
    let reply = closed.get("/health").header("origin", "https://panel.example.org").send().await;
    assert!(!reply.headers.contains_key("access-control-allow-origin"));

    let open = TestServer::with(Kind::Sqlite, &[("cors-origins", "https://panel.example.org")]).await;
    let reply = open.get("/health").header("origin", "https://panel.example.org").send().await;
    assert_eq!(reply.headers["access-control-allow-origin"], "https://panel.example.org");
    let reply = open.get("/health").header("origin", "https://evil.example.org").send().await;
    assert!(!reply.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn pages_and_metrics() {
    let server = server(Kind::Sqlite).await;
    server.get("/health").ok().await;
    let page = server.call_raw(Method::GET, "/").send().await;
    assert!(page.text.contains("/api/v1/docs"));
    let docs = server.call_raw(Method::GET, "/api/v1/docs").send().await;
    assert!(docs.text.contains("/api/v1/organizations/invite/send"));
    assert!(!docs.text.contains("http://") && !docs.text.contains("https://"), "the page needs the internet");
    let metrics = server.call_raw(Method::GET, "/metrics").send().await;
    let counted = "windlass_http_requests_total{method=\"GET\",route=\"/api/v1/health\",status=\"200\"} 1";
    assert!(metrics.text.contains(counted), "{}", metrics.text);
    assert!(metrics.text.contains("windlass_database_queries_total"), "{}", metrics.text);
    assert_eq!(server.call_raw(Method::HEAD, "/api/v1/health").send().await.status, 200);
}

#[tokio::test]
async fn a_slow_body_is_cut_off_at_the_time_limit() {
    let server = TestServer::with(Kind::Sqlite, &[("request-seconds", "1")]).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"time_limit\""), "{answer}");
}

#[tokio::test]
async fn a_body_that_ends_early_is_told_so_or_nothing_happens() {
    let server = server(Kind::Sqlite).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/v1/auth/register HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"email\"";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(server.get("/auth/is-admin-registered").ok().await["admin_registered"], false);
}

#[tokio::test]
async fn a_chunked_body_over_the_limit_is_refused() {
    let server = TestServer::with(Kind::Sqlite, &[("body-limit-kib", "1")]).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/v1/auth/login HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(format!("200\r\n{}\r\n", " ".repeat(0x200)).as_bytes()).await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("\"too_large\""), "{answer}");
}
