//! Ranges, and large files on their way.

use std::fs;
use std::io::{Seek, SeekFrom, Write};

use http_body_util::BodyExt;

use super::{Site, noise, text_of};

const LARGE: usize = 1_000_000;

fn site() -> Site {
    let site = Site::new();
    site.write("digits.txt", "0123456789");
    site.write("empty.txt", "");
    site.write("large.bin", noise(LARGE));
    site
}

#[tokio::test]
async fn one_range_is_a_part() {
    let site = site();
    let cases = [
        ("bytes=0-0", "bytes 0-0/10", "0"),
        ("bytes=2-5", "bytes 2-5/10", "2345"),
        ("bytes=7-", "bytes 7-9/10", "789"),
        ("bytes=-3", "bytes 7-9/10", "789"),
        ("bytes=-10", "bytes 0-9/10", "0123456789"),
        ("bytes=-11", "bytes 0-9/10", "0123456789"),
        ("bytes=9-9", "bytes 9-9/10", "9"),
        ("bytes=5-1000", "bytes 5-9/10", "56789"),
        ("BYTES= 1-2 ", "bytes 1-2/10", "12"),
        ("bytes=0-18446744073709551615", "bytes 0-9/10", "0123456789"),
        ("bytes=8-99999999999999999999999999", "bytes 8-9/10", "89"),
        ("bytes=-99999999999999999999999999", "bytes 0-9/10", "0123456789"),
    ];
    for (range, place, content) in cases {
        let answer = site.get_with("/digits.txt", "range", range).await;
        assert_eq!((answer.status, answer.text()), (206, content), "{range}");
        assert_eq!(answer.header("content-range"), Some(place));
        assert_eq!(answer.header("content-length"), Some(content.len().to_string().as_str()));
        assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
        assert!(answer.header("etag").is_some());
    }
}

#[tokio::test]
async fn what_the_file_does_not_have_is_refused() {
    let site = site();
    for range in
        ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999999-", "bytes=18446744073709551615-"]
    {
        let answer = site.get_with("/digits.txt", "range", range).await;
        assert_eq!((answer.status, answer.header("content-range")), (416, Some("bytes */10")), "{range}");
        assert_eq!((answer.body.len(), answer.header("content-length")), (0, Some("0")));
    }
    let answer = site.get_with("/empty.txt", "range", "bytes=0-").await;
    assert_eq!((answer.status, answer.header("content-range")), (416, Some("bytes */0")));
    assert_eq!(site.get_with("/empty.txt", "range", "bytes=-5").await.status, 200);
}

#[tokio::test]
async fn everything_else_gets_the_whole() {
    let site = site();
    let ranges = [
        "bytes=0-1,3-4",
        "bytes=0-5,2-9",
        "bytes=0-0,0-0,0-0,0-0",
        "bytes=0-1,",
        "bytes=5-2",
        "bytes=",
        "bytes=-",
        "bytes=a-b",
        "bytes=1-2-3",
        "bytes=--1",
        "bytes=+1-2",
        "bytes 0-1",
        "lines=0-1",
        "0-1",
        "é",
    ];
    for range in ranges {
        let answer = site.get_with("/digits.txt", "range", range).await;
        assert_eq!((answer.status, answer.text()), (200, "0123456789"), "{range}");
        assert_eq!(answer.header("content-range"), None);
    }
    let twice = [("range", "bytes=0-0"), ("range", "bytes=1-1")];
    assert_eq!(site.ask("GET", "/digits.txt", &twice).await.status, 200);
}

#[tokio::test]
async fn a_range_needs_the_version_that_the_visitor_has() {
    let site = site();
    site.set_modified("digits.txt", 784_111_777);
    let whole = site.get("/digits.txt").await;
    let etag = whole.header("etag").unwrap();
    let weak = format!("W/{etag}");
    let cases = [
        (etag, 206),
        ("Sun, 06 Nov 1994 08:49:37 GMT", 206),
        (weak.as_str(), 200),
        ("\"other\"", 200),
        ("Sun, 06 Nov 1994 08:49:36 GMT", 200),
        ("Sun, 06 Nov 1994 08:49:38 GMT", 200),
        ("*", 200),
    ];
    for (condition, status) in cases {
        let answer = site.ask("GET", "/digits.txt", &[("range", "bytes=1-2"), ("if-range", condition)]).await;
        assert_eq!((answer.status, answer.body.len()), (status, if status == 206 { 2 } else { 10 }), "{condition}");
        let outside = site.ask("GET", "/digits.txt", &[("range", "bytes=10-"), ("if-range", condition)]).await;
        assert_eq!(outside.status, if status == 206 { 416 } else { 200 });
    }
    let alone = site.get_with("/digits.txt", "if-range", "\"other\"").await;
    assert_eq!(alone.status, 200);
    let unchanged = [("range", "bytes=1-2"), ("if-none-match", etag)];
    assert_eq!(site.ask("GET", "/digits.txt", &unchanged).await.status, 304);
}

#[tokio::test]
async fn ranges_are_of_the_file_as_it_is() {
    let site = Site::new();
    site.write("a.css", text_of(5000));
    let answer = site.ask("GET", "/a.css", &[("range", "bytes=10-19"), ("accept-encoding", "gzip, br")]).await;
    assert_eq!((answer.status, answer.text()), (206, &text_of(5000)[10..20]));
    assert_eq!((answer.header("content-encoding"), answer.header("vary")), (None, Some("Accept-Encoding")));
    let packed = site.get_with("/a.css", "accept-encoding", "gzip").await;
    let tag_of_packed = packed.header("etag").unwrap();
    assert_eq!(packed.header("accept-ranges"), None);
    let headers = [("range", "bytes=10-19"), ("if-range", tag_of_packed), ("accept-encoding", "gzip")];
    assert_eq!(site.ask("GET", "/a.css", &headers).await.status, 200, "parts of two encodings do not fit together");
}

#[tokio::test]
async fn large_files_come_whole_and_in_parts() {
    let site = site();
    let content = noise(LARGE);
    assert!(site.get("/large.bin").await.body == content);
    for (range, part) in [
        ("bytes=0-", 0..LARGE),
        ("bytes=65535-65536", 65535..65537),
        ("bytes=65536-200000", 65536..200_001),
        ("bytes=-70000", LARGE - 70_000..LARGE),
    ] {
        let answer = site.get_with("/large.bin", "range", range).await;
        assert_eq!(answer.status, 206);
        assert!(answer.body == content[part], "{range}");
    }
    assert_eq!(site.get_with("/large.bin", "range", "bytes=1000000-").await.status, 416);
    assert_eq!(site.cache.held(), 0, "nothing of it stays in memory");
}

#[tokio::test]
async fn a_chunk_is_read_when_it_is_asked_for() {
    let site = site();
    let mut body = site.respond("GET", "/large.bin", &[]).await.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.len() <= 64 * 1024 && first[..] == noise(LARGE)[..first.len()]);
    // Long enough for a chunk to be read that was not asked for.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let mut file = fs::File::options().write(true).open(site.path("large.bin")).unwrap();
    file.seek(SeekFrom::Start(first.len() as u64)).unwrap();
    file.write_all(b"written after the first chunk").unwrap();
    let second = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(second.starts_with(b"written after the first chunk"));
}

#[tokio::test]
async fn a_file_that_becomes_shorter_ends_with_an_error() {
    let site = site();
    let mut body = site.respond("GET", "/large.bin", &[]).await.unwrap().into_body();
    let mut received = body.frame().await.unwrap().unwrap().into_data().unwrap().len();
    fs::File::options().write(true).open(site.path("large.bin")).unwrap().set_len(100_000).unwrap();
    let error = loop {
        match body.frame().await.expect("an error before the end") {
            Ok(frame) => received += frame.into_data().unwrap().len(),
            Err(error) => break error,
        }
    };
    assert_eq!(received, 100_000);
    assert!(error.to_string().contains("shorter"), "{error}");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_file_that_grows_is_sent_as_it_was_announced() {
    let site = site();
    let response = site.respond("GET", "/large.bin", &[]).await.unwrap();
    let mut file = fs::File::options().append(true).open(site.path("large.bin")).unwrap();
    file.write_all(&noise(500_000)).unwrap();
    assert!(response.into_body().collect().await.unwrap().to_bytes() == noise(LARGE));
}

#[tokio::test]
async fn a_file_that_is_replaced_is_sent_to_its_end() {
    let site = site();
    let mut body = site.respond("GET", "/large.bin", &[]).await.unwrap().into_body();
    body.frame().await.unwrap().unwrap();
    site.write("next.bin", "short");
    fs::rename(site.path("next.bin"), site.path("large.bin")).unwrap();
    let mut received = 64 * 1024;
    while let Some(frame) = body.frame().await {
        received += frame.unwrap().into_data().unwrap().len();
    }
    assert_eq!(received, LARGE);
    assert_eq!(site.get("/large.bin").await.text(), "short");
}
