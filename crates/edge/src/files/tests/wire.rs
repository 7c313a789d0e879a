//! The answers as they leave a real connection.

use std::convert::Infallible;
use std::fs;
use std::time::Duration;

use hyper::Response;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::{Site, noise};
use crate::body::Body;

/// A connection with little room, so that what is not read is not sent.
fn connect(site: &Site) -> DuplexStream {
    let (client, server) = tokio::io::duplex(16 * 1024);
    let files = site.files.clone();
    let service = service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let files = files.clone();
        async move {
            let (parts, _) = request.into_parts();
            let answer = files.answer(&parts).await;
            Ok::<_, Infallible>(answer.unwrap_or_else(|| Response::new(Body::empty())))
        }
    });
    tokio::spawn(async move { http1::Builder::new().serve_connection(TokioIo::new(server), service).await });
    client
}

async fn read_all(client: &mut DuplexStream) -> Vec<u8> {
    let mut received = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), client.read_to_end(&mut received)).await.unwrap().unwrap();
    received
}

async fn exchange(site: &Site, request: &str) -> (String, Vec<u8>) {
    let mut client = connect(site);
    client.write_all(request.as_bytes()).await.unwrap();
    let received = read_all(&mut client).await;
    let end = received.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    (String::from_utf8(received[..end].to_vec()).unwrap().to_lowercase(), received[end..].to_vec())
}

#[tokio::test]
async fn lengths_are_right_with_and_without_a_body() {
    let site = Site::new();
    site.write("a.txt", "hello");
    let close = "host: x\r\nconnection: close\r\n";
    let (head, body) = exchange(&site, &format!("GET /a.txt HTTP/1.1\r\n{close}\r\n")).await;
    assert!(head.starts_with("http/1.1 200") && head.contains("content-length: 5\r\n"), "{head}");
    assert_eq!(body, b"hello");
    let (head, body) = exchange(&site, &format!("HEAD /a.txt HTTP/1.1\r\n{close}\r\n")).await;
    assert!(head.starts_with("http/1.1 200") && head.contains("content-length: 5\r\n"), "{head}");
    assert_eq!(head.matches("content-length").count(), 1);
    assert_eq!(body, b"");
    let (head, body) = exchange(&site, &format!("GET /a.txt HTTP/1.1\r\n{close}if-none-match: *\r\n\r\n")).await;
    assert!(head.starts_with("http/1.1 304") && !head.contains("content-length"), "{head}");
    assert_eq!(body, b"");
    let (head, _) = exchange(&site, &format!("GET /a.txt HTTP/1.1\r\n{close}range: bytes=9-\r\n\r\n")).await;
    assert!(head.starts_with("http/1.1 416") && head.contains("content-length: 0\r\n"), "{head}");
}

#[tokio::test]
async fn a_large_file_arrives() {
    let site = Site::new();
    site.write("large.bin", noise(3_000_000));
    let request = "GET /large.bin HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    let (head, body) = exchange(&site, request).await;
    assert!(head.contains("content-length: 3000000\r\n"), "{head}");
    assert!(body == noise(3_000_000));
}

#[tokio::test]
async fn half_a_file_is_not_taken_for_a_whole_one() {
    let site = Site::new();
    site.write("large.bin", noise(3_000_000));
    let mut client = connect(&site);
    client.write_all(b"GET /large.bin HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    let mut begin = [0; 1000];
    client.read_exact(&mut begin).await.unwrap();
    fs::File::options().write(true).open(site.path("large.bin")).unwrap().set_len(500_000).unwrap();
    // The connection would stay open for the next request if the answer had ended well.
    let rest = read_all(&mut client).await;
    assert!(rest.len() < 600_000, "{}", rest.len());
}
