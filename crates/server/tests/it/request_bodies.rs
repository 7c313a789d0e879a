//! Bodies that come slowly, in pieces, packed, or not whole.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{Call, TestServer, kind, server};

on_both_databases!(kind: a_slow_body_is_the_clients_fault, a_body_that_ends_early_is_told_so_or_nothing_happens, a_chunked_body_over_the_limit_is_refused, a_packed_body_has_the_same_limit);
on_both_databases!(server: a_packed_body_is_read, other_encodings_are_refused_by_name);

async fn a_slow_body_is_the_clients_fault(kind: Kind) {
    let server = TestServer::with(kind, &[("request-seconds", "1")]).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/v1/auth/login HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    // The connection ends with the answer, because the rest of the body may still come.
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("connection: close"), "{answer}");
    let message = "The body did not arrive within 1 second. Send it faster, or send less.";
    let envelope = json!({ "status": "error", "message": message, "data": null, "error": "body_timeout" });
    assert!(answer.ends_with(&envelope.to_string()), "{answer}");
}

async fn a_body_that_ends_early_is_told_so_or_nothing_happens(kind: Kind) {
    let server = server(kind).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/v1/auth/register HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{\"email\"";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(server.get("/auth/is-admin-registered").ok().await["admin_registered"], false);
}

async fn a_chunked_body_over_the_limit_is_refused(kind: Kind) {
    let server = TestServer::with(kind, &[("body-limit-kib", "1")]).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = "POST /api/v1/auth/login HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..3 {
        stream.write_all(format!("200\r\n{}\r\n", " ".repeat(0x200)).as_bytes()).await.unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("\"too_large\""), "{answer}");
}

fn packed(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn registration(server: &TestServer) -> Call<'_> {
    server.post("/auth/register", json!({})).header("content-encoding", "gzip")
}

async fn a_packed_body_is_read(server: TestServer) {
    let body = json!({ "email": "ada@example.org", "password": "correct horse battery" }).to_string();
    let whole = packed(&body);
    for broken in [&whole[..whole.len() - 3], body.as_bytes()] {
        let call = registration(&server).body(broken.to_vec());
        assert_eq!(call.fails(400, "invalid_request").await, "The body is not valid gzip.");
    }
    // What is in it is told as if it had not been packed, and an absent body is an absent body.
    let message = registration(&server).body(packed("{\"email\": 1}")).fails(400, "invalid_request").await;
    assert!(message.starts_with("email: must be a string"), "{message}");
    let message = registration(&server).body("").fails(400, "invalid_request").await;
    assert!(message.contains("there is no body"), "{message}");
    registration(&server).header("content-encoding", "GZIP").body(whole).ok().await;
}

async fn a_packed_body_has_the_same_limit(kind: Kind) {
    let server = TestServer::with(kind, &[("strangers-body-kib", "8")]).await;
    let bomb = packed(&" ".repeat(4 * 1024 * 1024));
    assert!(bomb.len() < 8 * 1024, "small enough to be looked at");
    let message = registration(&server).body(bomb).fails(413, "too_large").await;
    assert_eq!(message, "The body is larger than the limit of 8192 bytes.");
    let fits = format!("{}{}", json!({ "email": 1 }), " ".repeat(8 * 1024 - 11));
    registration(&server).body(packed(&fits)).fails(400, "invalid_request").await;
    registration(&server).body(packed(&format!("{fits} "))).fails(413, "too_large").await;
}

async fn other_encodings_are_refused_by_name(server: TestServer) {
    let body = json!({ "email": "ada@example.org", "password": "correct horse battery" });
    for encoding in ["br", "deflate", "gzip, gzip", "zstd"] {
        let call = server.post("/auth/register", body.clone()).header("content-encoding", encoding);
        let reply = call.send().await;
        assert_eq!((reply.status, &reply.json["error"]), (415, &json!("unsupported_encoding")), "{encoding}");
        assert_eq!(reply.headers["accept-encoding"], "gzip");
        let message = reply.json["message"].as_str().unwrap();
        assert_eq!(
            message,
            format!("content-encoding: {encoding} is not understood. Send gzip, or the body as it is.")
        );
    }
    server.post("/auth/register", body).header("content-encoding", "identity").ok().await;
}
