//! Headers that must be there once.

use axum::body::Bytes;
use axum::http::{HeaderValue, Request, Version};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_testing::on_both_databases;

use crate::support::{TestServer, server};

on_both_databases!(server: one_host, one_host_over_http_2, one_of_each);

/// Status and envelope of a request with these lines after its first.
async fn ask(server: &TestServer, first: &str, lines: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let request = format!("{first}\r\n{lines}connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap_or(Value::Null))
}

fn is_refused((status, answer): &(u16, Value), expected: &str) {
    assert_eq!((*status, answer["error"].as_str()), (400, Some("invalid_request")), "{answer}");
    assert_eq!(answer["message"], expected);
}

const MISSING: &str = "host: is missing. Say once which host the request is for.";

async fn one_host(server: TestServer) {
    let get = "GET /api/v1/health HTTP/1.1";
    is_refused(&ask(&server, get, "").await, MISSING);
    is_refused(&ask(&server, get, "host: \r\n").await, MISSING);
    is_refused(
        &ask(&server, get, "host: localhost\r\nHost: localhost\r\n").await,
        "host: is given more than once. Send it once.",
    );
    is_refused(&ask(&server, "GET http://localhost/api/v1/health HTTP/1.1", "").await, MISSING);
    assert_eq!(ask(&server, get, "host: localhost\r\n").await.0, 200);
    assert_eq!(ask(&server, "GET http://localhost/api/v1/health HTTP/1.1", "host: localhost\r\n").await.0, 200);
    // HTTP/1.0 did not ask for one.
    assert_eq!(ask(&server, "GET /api/v1/health HTTP/1.0", "").await.0, 200);
    let twice = "host: localhost\r\nhost: localhost\r\n";
    is_refused(
        &ask(&server, "GET /api/v1/health HTTP/1.0", twice).await,
        "host: is given more than once. Send it once.",
    );
}

/// There the authority is a field of its own, and `Host` only takes its place.
async fn one_host_over_http_2(server: TestServer) {
    let whole = format!("http://{}/api/v1/health", server.address);
    for (uri, hosts, expected) in [
        (whole.as_str(), &[][..], None),
        (&whole, &[server.address.to_string()], None),
        (
            &whole,
            &["other.example.org".to_owned()],
            Some("host: differs from :authority. Send the same name in both, or leave it out."),
        ),
        ("/api/v1/health", &["localhost".to_owned()], None),
        ("/api/v1/health", &[], Some(MISSING)),
        (
            "/api/v1/health",
            &["localhost".to_owned(), "localhost".to_owned()],
            Some("host: is given more than once. Send it once."),
        ),
    ] {
        let answer = ask_over_http_2(&server, uri, hosts).await;
        match expected {
            Some(expected) => is_refused(&answer, expected),
            None => assert_eq!(answer.0, 200, "{uri} {hosts:?}: {}", answer.1),
        }
    }
}

async fn ask_over_http_2(server: &TestServer, uri: &str, hosts: &[String]) -> (u16, Value) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    let builder = http2::Builder::new(TokioExecutor::new());
    let (mut sender, connection) = builder.handshake::<_, Empty<Bytes>>(TokioIo::new(stream)).await.unwrap();
    let connection = tokio::spawn(connection);
    // As a proxy would forward it: only then can it be without an authority.
    let mut request = Request::get(uri).version(Version::HTTP_11).body(Empty::new()).unwrap();
    for host in hosts {
        request.headers_mut().append("host", HeaderValue::from_str(host).unwrap());
    }
    let answer = sender.send_request(request).await.unwrap();
    let status = answer.status().as_u16();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    drop(sender);
    connection.await.unwrap().unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

async fn one_of_each(server: TestServer) {
    let ada = server.admin().await;
    let get = "GET /api/v1/organizations HTTP/1.1";
    let token = format!("host: localhost\r\nauthorization: Bearer {}\r\n", ada.token);
    let organization = format!("x-organization-id: {}\r\n", ada.organization_id);
    assert_eq!(ask(&server, get, &format!("{token}{organization}")).await.0, 200);
    let twice = format!("{token}authorization: Bearer {}\r\n", ada.token);
    is_refused(&ask(&server, get, &twice).await, "authorization: is given more than once. Send it once.");
    let twice = format!("{token}{organization}{organization}");
    is_refused(&ask(&server, get, &twice).await, "x-organization-id: is given more than once. Send it once.");
    let twice = format!("{token}idempotency-key: a\r\nidempotency-key: b\r\n");
    is_refused(&ask(&server, get, &twice).await, "idempotency-key: is given more than once. Send it once.");
}
