//! Conditions and encodings.

use std::io::Read;
use std::time::Duration;

use super::{Site, noise, now, text_of};

/// Sun, 06 Nov 1994 08:49:37 GMT
const MODIFIED: u64 = 784_111_777;
const THEN: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const EARLIER: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const LATER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

fn dated_site() -> Site {
    let site = Site::new();
    site.write("a.txt", "content");
    site.set_modified("a.txt", MODIFIED);
    site
}

#[tokio::test]
async fn conditions_are_weighed_in_order() {
    let site = dated_site();
    let whole = site.get("/a.txt").await;
    assert_eq!(whole.header("last-modified"), Some(THEN));
    let etag = whole.header("etag").unwrap().to_owned();
    assert!(etag.starts_with('"') && etag.ends_with('"') && etag.len() > 10, "{etag}");
    let weak = format!("W/{etag}");
    let several = format!("\"a,b\" , {weak}, \"c\"");
    let cases: &[(&[(&str, &str)], u16)] = &[
        (&[("if-none-match", &etag)], 304),
        (&[("if-none-match", &weak)], 304),
        (&[("if-none-match", "*")], 304),
        (&[("if-none-match", &several)], 304),
        (&[("if-none-match", "\"a\""), ("if-none-match", &etag)], 304),
        (&[("if-none-match", "\"other\"")], 200),
        (&[("if-none-match", "nonsense")], 200),
        (&[("if-none-match", &etag[1..etag.len() - 1])], 200),
        (&[("if-modified-since", THEN)], 304),
        (&[("if-modified-since", LATER)], 200),
        (&[("if-modified-since", EARLIER)], 200),
        (&[("if-modified-since", "yesterday")], 200),
        (&[("if-none-match", "\"other\""), ("if-modified-since", LATER)], 200),
        (&[("if-none-match", &etag), ("if-modified-since", EARLIER)], 304),
        (&[("if-match", &etag)], 200),
        (&[("if-match", "*")], 200),
        (&[("if-match", &weak)], 412),
        (&[("if-match", "\"other\"")], 412),
        (&[("if-unmodified-since", THEN)], 200),
        (&[("if-unmodified-since", EARLIER)], 412),
        (&[("if-unmodified-since", "never")], 200),
        (&[("if-match", &etag), ("if-unmodified-since", EARLIER)], 200),
        (&[("if-match", "\"other\""), ("if-none-match", &etag)], 412),
        (&[("if-match", &etag), ("if-none-match", &etag)], 304),
    ];
    for (headers, status) in cases {
        for method in ["GET", "HEAD"] {
            let answer = site.ask(method, "/a.txt", headers).await;
            assert_eq!(answer.status, *status, "{method} {headers:?}");
            assert_eq!(answer.body.len(), if *status == 200 && method == "GET" { 7 } else { 0 }, "{headers:?}");
        }
    }
}

#[tokio::test]
async fn not_modified_says_what_a_copy_needs() {
    let site = Site::new();
    site.write("app.3f9a1c2b.js", text_of(1000));
    let whole = site.get_with("/app.3f9a1c2b.js", "accept-encoding", "gzip").await;
    let etag = whole.header("etag").unwrap();
    let headers = [("accept-encoding", "gzip"), ("if-none-match", etag)];
    let answer = site.ask("GET", "/app.3f9a1c2b.js", &headers).await;
    assert_eq!(answer.status, 304);
    for name in ["etag", "cache-control", "vary", "last-modified"] {
        assert!(answer.header(name).is_some(), "{name}");
        assert_eq!(answer.header(name), whole.header(name));
    }
    for name in ["content-type", "content-length", "content-encoding"] {
        assert_eq!(answer.header(name), None);
    }
}

#[tokio::test]
async fn a_file_from_the_future_was_modified_now() {
    let site = Site::new();
    site.write("a.txt", "x");
    site.write("old.txt", "x");
    site.set_modified("a.txt", 4_000_000_000);
    let old = std::fs::File::options().write(true).open(site.path("old.txt")).unwrap();
    old.set_modified(std::time::UNIX_EPOCH - Duration::from_secs(5)).unwrap();
    let answer = site.get("/a.txt").await;
    let date = httpdate::parse_http_date(answer.header("last-modified").unwrap()).unwrap();
    assert!(date <= now() && date > now() - Duration::from_secs(60));
    assert_eq!(site.get("/old.txt").await.header("last-modified"), Some("Thu, 01 Jan 1970 00:00:00 GMT"));
}

#[tokio::test]
async fn tags_follow_the_content() {
    let site = Site::new();
    site.write("a.txt", "one");
    site.write("b.txt", "two");
    site.write("copy.txt", "one");
    let tag = async |path| site.get(path).await.header("etag").unwrap().to_owned();
    assert_ne!(tag("/a.txt").await, tag("/b.txt").await);
    assert_eq!(tag("/a.txt").await, tag("/copy.txt").await);
    site.write("large.bin", noise(300_000));
    let before = tag("/large.bin").await;
    assert_eq!(before, tag("/large.bin").await);
    let mut changed = noise(300_000);
    changed[150_000] ^= 1;
    site.write("large.bin", changed);
    site.set_modified("large.bin", MODIFIED);
    assert_ne!(before, tag("/large.bin").await);
}

#[tokio::test]
async fn texts_are_compressed() {
    let site = Site::new();
    site.write("a.css", text_of(5000));
    site.write("tiny.css", text_of(255));
    site.write("least.css", text_of(256));
    site.write("a.png", text_of(5000));
    site.write("noise.txt", noise(5000));
    site.write("largest.js", text_of(1024 * 1024));
    site.write("larger.js", text_of(1024 * 1024 + 1));
    let plain = site.get("/a.css").await;
    assert_eq!((plain.text(), plain.header("content-encoding")), (text_of(5000).as_str(), None));
    assert_eq!(plain.header("vary"), Some("Accept-Encoding"));
    assert_eq!(plain.header("accept-ranges"), Some("bytes"));
    for (path, length) in [("/a.css", 5000), ("/least.css", 256), ("/largest.js", 1024 * 1024)] {
        let packed = site.get_with(path, "accept-encoding", "gzip, deflate, br").await;
        assert_eq!(packed.header("content-encoding"), Some("gzip"), "{path}");
        assert_eq!(packed.header("vary"), Some("Accept-Encoding"));
        assert_eq!(packed.header("content-length"), Some(packed.body.len().to_string().as_str()));
        assert!(packed.body.len() < length);
        let mut unpacked = String::new();
        flate2::read::GzDecoder::new(packed.body.as_slice()).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, text_of(length));
        assert_ne!(packed.header("etag"), site.get(path).await.header("etag"));
    }
    for path in ["/tiny.css", "/a.png", "/noise.txt", "/larger.js"] {
        let answer = site.get_with(path, "accept-encoding", "gzip").await;
        assert_eq!((answer.header("content-encoding"), answer.header("vary")), (None, None), "{path}");
    }
}

fn site_with_siblings() -> Site {
    let site = Site::new();
    for (name, content) in [("a.js", "plain"), ("a.js.br", "in br"), ("a.js.zst", "in zst"), ("a.js.gz", "in gz")] {
        site.write(name, content);
        site.set_modified(name, MODIFIED);
    }
    site
}

#[tokio::test]
async fn the_request_chooses_the_encoding() {
    let site = site_with_siblings();
    let cases = [
        ("br, gzip, zstd", Some("br")),
        ("gzip, zstd", Some("zstd")),
        ("gzip", Some("gzip")),
        ("GZIP", Some("gzip")),
        ("x-gzip", Some("gzip")),
        ("gzip;q=0.9, br;q=0.5", Some("gzip")),
        ("gzip; q=0.1", Some("gzip")),
        ("br;q=0, gzip", Some("gzip")),
        ("*", Some("br")),
        ("*, br;q=0", Some("zstd")),
        ("*;q=0.5, gzip", Some("gzip")),
        ("identity, gzip;q=0.5", None),
        ("identity;q=0.5, gzip;q=0.5", Some("gzip")),
        ("identity;q=0, br", Some("br")),
        ("identity;q=0", None),
        ("*;q=0", None),
        ("gzip;q=0", None),
        ("gzip;q=2", None),
        ("gzip;q=nan", None),
        ("deflate, lzma", None),
        ("", None),
        (",,;;q=1,", None),
    ];
    for (accepted, encoding) in cases {
        let answer = site.get_with("/a.js", "accept-encoding", accepted).await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-encoding"), encoding, "{accepted:?}");
        let content = match encoding {
            Some("br") => "in br",
            Some("zstd") => "in zst",
            Some("gzip") => "in gz",
            _ => "plain",
        };
        assert_eq!(answer.text(), content);
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
        assert_eq!(answer.header("content-type"), Some("text/javascript; charset=utf-8"));
    }
    let lines = [("accept-encoding", "gzip;q=0.5"), ("accept-encoding", "br")];
    assert_eq!(site.ask("GET", "/a.js", &lines).await.header("content-encoding"), Some("br"));
}

#[tokio::test]
async fn each_encoding_has_its_own_tag() {
    let site = Site::new();
    for name in ["a.js", "a.js.br", "a.js.zst", "a.js.gz"] {
        site.write(name, "the same bytes everywhere");
        site.set_modified(name, MODIFIED);
    }
    let mut tags = std::collections::BTreeSet::new();
    for encoding in ["br", "zstd", "gzip", "identity"] {
        let answer = site.get_with("/a.js", "accept-encoding", encoding).await;
        tags.insert(answer.header("etag").unwrap().to_owned());
    }
    assert_eq!(tags.len(), 4, "{tags:?}");
}

#[tokio::test]
async fn a_sibling_that_is_older_than_its_original_does_not_count() {
    let site = site_with_siblings();
    site.set_modified("a.js.br", MODIFIED - 1);
    site.set_modified("a.js.zst", MODIFIED + 1);
    let everything = "br, zstd, gzip";
    assert_eq!(site.get_with("/a.js", "accept-encoding", everything).await.text(), "in zst");
    assert_eq!(site.get("/a.js.br").await.text(), "in br", "it is still a file of its own");
    assert_eq!(site.get("/a.js.gz").await.header("content-encoding"), None);
}

#[tokio::test]
async fn large_files_have_siblings_too() {
    let site = Site::new();
    let (plain, packed) = (noise(2_000_000), noise(700_000));
    site.write("large.wasm", &plain);
    site.write("large.wasm.br", &packed);
    let answer = site.get_with("/large.wasm", "accept-encoding", "br").await;
    assert_eq!((answer.header("content-encoding"), answer.body == packed), (Some("br"), true));
    assert_eq!(answer.header("content-type"), Some("application/wasm"));
    assert_eq!(answer.header("content-length"), Some("700000"));
    assert!(site.get("/large.wasm").await.body == plain);
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let site = Site::new();
    site.write("small.css", text_of(5000));
    site.write("empty.txt", "");
    site.write("large.bin", noise(600_000));
    for path in ["/small.css", "/empty.txt", "/large.bin"] {
        for accepted in ["identity", "gzip"] {
            let headers = [("accept-encoding", accepted)];
            let (get, head) = (site.ask("GET", path, &headers).await, site.ask("HEAD", path, &headers).await);
            assert_eq!((get.status, &get.head), (head.status, &head.head), "{path}");
            assert_eq!(head.body.len(), 0);
            assert_eq!(get.header("content-length"), Some(get.body.len().to_string().as_str()));
        }
    }
    let ranged = site.ask("HEAD", "/large.bin", &[("range", "bytes=0-1")]).await;
    assert_eq!((ranged.status, ranged.header("content-length")), (200, Some("600000")), "ranges are for GET only");
}
