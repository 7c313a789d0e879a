//! Answers in fewer bytes, for clients that can read them.

use std::io::Read;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, Method};
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use windlass_testing::on_both_databases;

use crate::deploys::least;
use crate::logs::Shop;
use crate::support::{Call, TestServer, server};

on_both_databases!(server: long_answers_are_packed, clients_that_refuse_gzip, what_is_never_packed, files_are_packed_as_they_come);

/// Headers and bytes, as they came.
async fn open(call: Call<'_>) -> (HeaderMap, Vec<u8>) {
    let (parts, body) = call.open().await.into_parts();
    assert_eq!(parts.status, 200);
    (parts.headers, body.collect().await.unwrap().to_bytes().to_vec())
}

fn unpacked(bytes: &[u8]) -> String {
    let mut text = String::new();
    GzDecoder::new(bytes).read_to_string(&mut text).unwrap();
    text
}

fn varies(headers: &HeaderMap) -> bool {
    headers.get_all("vary").iter().any(|value| value.to_str().unwrap().to_lowercase().contains("accept-encoding"))
}

async fn long_answers_are_packed(server: TestServer) {
    let ada = server.admin().await;
    for name in ["a", "b", "c", "d"] {
        server.deploy(&ada, least(name)).await;
    }
    let get = || server.get("/deploy/applications").by(&ada);
    let (headers, plain) = open(get()).await;
    assert!(varies(&headers) && !headers.contains_key("content-encoding"), "{headers:?}");
    for accepted in ["gzip", "br;q=1.0, GZIP;q=0.8, *;q=0.1", "*", "identity;q=0, gzip"] {
        let (headers, bytes) = open(get().header("accept-encoding", accepted)).await;
        assert_eq!(headers["content-encoding"], "gzip", "{accepted}");
        assert_eq!(headers["content-type"], "application/json");
        assert!(varies(&headers) && !headers.contains_key("content-length"), "{headers:?}");
        assert_eq!(unpacked(&bytes), String::from_utf8(plain.clone()).unwrap());
        assert!(bytes.len() < plain.len() / 3, "{} of {}", bytes.len(), plain.len());
    }
    let description = || server.call_raw(Method::GET, "/api/v1/openapi.json");
    let (_, bytes) = open(description().header("accept-encoding", "gzip")).await;
    assert_eq!(unpacked(&bytes), description().send().await.text);
}

/// The answer goes out as it is, whatever else the client would rather have: the work is done by then.
async fn clients_that_refuse_gzip(server: TestServer) {
    let (_, plain) = open(server.call_raw(Method::GET, "/api/v1/openapi.json")).await;
    for accepted in ["", "br, zstd", "gzip;q=0", "identity", "identity;q=0", "*;q=0", "gzip;q=0, *", "nonsense;;q"] {
        let call = server.call_raw(Method::GET, "/api/v1/openapi.json").header("accept-encoding", accepted);
        let (headers, bytes) = open(call).await;
        assert!(varies(&headers) && !headers.contains_key("content-encoding"), "{accepted}: {headers:?}");
        assert_eq!(bytes, plain, "{accepted}");
    }
}

async fn what_is_never_packed(server: TestServer) {
    let shop = Shop::new(server).await;
    // What is short.
    let (headers, _) = open(shop.server.get("/auth/is-admin-registered").header("accept-encoding", "gzip")).await;
    assert!(!headers.contains_key("content-encoding") && !varies(&headers), "{headers:?}");
    // What has no body.
    let call = shop.server.call_raw(Method::HEAD, "/api/v1/openapi.json").header("accept-encoding", "gzip");
    let (headers, bytes) = open(call).await;
    assert!(varies(&headers) && bytes.is_empty(), "{headers:?}");
    // What must arrive line by line.
    shop.server.print(shop.deployment, (0..100).map(|_| "x".repeat(1_000))).await;
    let call = shop.server.get(&shop.path("/follow")).by(&shop.ada).header("accept-encoding", "gzip");
    let answer = call.open().await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert!(!answer.headers().contains_key("content-encoding"), "{:?}", answer.headers());
}

/// Nothing waits for the end of a file that no buffer could hold.
async fn files_are_packed_as_they_come(server: TestServer) {
    const BATCHES: usize = 24;
    let shop = Shop::new(server).await;
    let mut noise = Noise(1);
    for _ in 0..BATCHES {
        shop.server.print(shop.deployment, (0..1_000).map(|_| noise.line()).collect::<Vec<_>>().into_iter()).await;
    }
    let call = shop.server.get(&shop.path("/download")).by(&shop.ada).header("accept-encoding", "gzip");
    let answer = call.open().await;
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    let mut body = answer.into_body();
    let mut bytes = body.frame().await.unwrap().unwrap().into_data().unwrap().to_vec();
    assert!(shop.is_being_read().await, "the whole file was made before it was taken");
    bytes.extend_from_slice(&body.collect().await.unwrap().to_bytes());
    assert_eq!(unpacked(&bytes).lines().count(), BATCHES * 1_000);
    let deadline = Instant::now() + Duration::from_secs(30);
    while shop.is_being_read().await {
        assert!(Instant::now() < deadline, "the file has ended");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Shop {
    async fn is_being_read(&self) -> bool {
        let metrics = self.server.call_raw(Method::GET, "/metrics").by(&self.ada).send().await.text;
        !metrics.contains("\nwindlass_log_followers 0\n")
    }
}

/// Text that does not become much shorter.
struct Noise(u64);

impl Noise {
    fn line(&mut self) -> String {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut letter = || {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(letters[(self.0 >> 58) as usize])
        };
        (0..1_000).map(|_| letter()).collect()
    }
}
