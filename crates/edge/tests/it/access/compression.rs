//! What targets answer is compressed on its way.

use std::io::Read;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use windlass_edge::counters::Cause;
use windlass_edge::routes::{AccessSpec, HeaderSpec};

use super::{Answer, ask, guarded, header, with_header};
use crate::support::{DEADLINE, TestEdge, everything_to, get, read_head, until};

/// A target whose connections the test serves itself.
struct Stage {
    edge: TestEdge,
    listener: TcpListener,
}

impl Stage {
    async fn start() -> Self {
        Self::with(Vec::new()).await
    }

    async fn with(headers: Vec<HeaderSpec>) -> Self {
        let (edge, listener) = (TestEdge::start().await, TcpListener::bind("127.0.0.1:0").await.unwrap());
        let access = AccessSpec { compress: true, headers, ..AccessSpec::default() };
        edge.apply(guarded(everything_to(&[listener.local_addr().unwrap()]), access)).await;
        Self { edge, listener }
    }

    /// The answer of a target to a visitor's request, as the visitor gets it.
    async fn answers(&self, request: Request<Full<Bytes>>, head: &str, body: &[u8]) -> Answer {
        let target = async {
            let mut target = self.listener.accept().await.unwrap().0;
            read_head(&mut target).await;
            target.write_all(format!("HTTP/1.1 {head}connection: close\r\n\r\n").as_bytes()).await.unwrap();
            target.write_all(body).await.unwrap();
        };
        tokio::join!(ask(&self.edge, request), target).0
    }
}

fn accepting(encoding: &str) -> Request<Full<Bytes>> {
    with_header(get("/"), "accept-encoding", encoding)
}

fn unpacked(answer: &Answer) -> Vec<u8> {
    let mut all = Vec::new();
    match answer.header("content-encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(&answer.body[..]).read_to_end(&mut all).unwrap(),
        Some("zstd") => zstd::stream::read::Decoder::new(&answer.body[..]).unwrap().read_to_end(&mut all).unwrap(),
        _ => (&answer.body[..]).read_to_end(&mut all).unwrap(),
    };
    all
}

fn text(length: usize) -> Vec<u8> {
    (0..).flat_map(|line| format!("line {line} of a long text\n").into_bytes()).take(length).collect()
}

#[tokio::test]
async fn texts_are_compressed_as_visitors_want_them() {
    let stage = Stage::start().await;
    let body = text(100_000);
    let head = "200 OK\r\ncontent-type: text/html\r\ncontent-length: 100000\r\netag: \"x\"\r\naccept-ranges: bytes\r\n";
    for encoding in ["gzip", "zstd"] {
        let answer = stage.answers(accepting(encoding), head, &body).await;
        assert_eq!((answer.status, answer.header("content-encoding")), (200, Some(encoding)));
        assert_eq!((answer.header("vary"), answer.header("etag")), (Some("accept-encoding"), Some("W/\"x\"")));
        assert!(answer.header("content-length").is_none() && answer.header("accept-ranges").is_none(), "{answer:?}");
        assert!(unpacked(&answer) == body && answer.body.len() < 30_000, "{}", answer.body.len());
        let asked = Request::head("/").header("host", "app").header("accept-encoding", encoding);
        let head_only = stage.answers(asked.body(Full::default()).unwrap(), head, &[]).await;
        assert!(head_only.body.is_empty());
        for name in ["content-encoding", "content-length", "etag", "vary", "accept-ranges", "content-type"] {
            assert_eq!(head_only.header(name), answer.header(name), "{name}");
        }
    }
    let whole = stage.answers(get("/"), head, &body).await;
    assert!(whole.body == body && whole.header("content-encoding").is_none());
    assert_eq!((whole.header("vary"), whole.header("etag")), (Some("accept-encoding"), Some("\"x\"")));
    let figures = stage.edge.stats().await.services[0].figures.clone();
    assert_eq!((figures.requests, figures.statuses["2xx"], figures.in_flight), (5, 5, 0));
}

#[tokio::test]
async fn what_is_no_whole_text_stays_as_it_is() {
    let stage = Stage::start().await;
    let body = text(5000);
    for head in [
        "200 OK\r\ncontent-type: image/png\r\ncontent-length: 5000\r\n",
        "200 OK\r\ncontent-length: 5000\r\n",
        "200 OK\r\ncontent-type: text/html\r\ncontent-length: 5000\r\ncontent-encoding: br\r\n",
        "200 OK\r\ncontent-type: text/html\r\ncontent-length: 5000\r\ncache-control: no-transform\r\n",
        "206 Partial Content\r\ncontent-type: text/html\r\ncontent-length: 5000\r\ncontent-range: bytes 0-4999/9000\r\n",
        "404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 5000\r\n",
    ] {
        let answer = stage.answers(accepting("gzip"), head, &body).await;
        assert!(answer.body == body && answer.header("content-length") == Some("5000"), "{head}");
    }
    let short = "200 OK\r\ncontent-type: text/html\r\ncontent-length: 1000\r\n";
    assert!(stage.answers(accepting("gzip"), short, &body[..1000]).await.body == body[..1000]);
    let posted = with_header(crate::support::post("/", ""), "accept-encoding", "gzip");
    let head = "200 OK\r\ncontent-type: text/html\r\ncontent-length: 5000\r\n";
    assert!(stage.answers(posted, head, &body).await.body == body);
    let empty = "304 Not Modified\r\ncontent-type: text/html\r\netag: \"x\"\r\n";
    let unchanged = stage.answers(accepting("gzip"), empty, &[]).await;
    assert_eq!((unchanged.status, unchanged.header("etag")), (304, Some("\"x\"")));
}

/// What the owner says of an answer counts as if the application had said it.
#[tokio::test]
async fn the_owners_headers_are_heeded() {
    let stage = Stage::with(vec![header("vary", Some("origin")), header("cache-control", None)]).await;
    let head = "200 OK\r\ncontent-type: text/html\r\ncache-control: no-transform\r\n";
    let answer = stage.answers(accepting("gzip"), head, &text(5000)).await;
    assert_eq!(unpacked(&answer), text(5000));
    let vary: Vec<_> = answer.headers.get_all("vary").iter().collect();
    assert_eq!(vary, ["origin", "accept-encoding"]);
}

/// A connection over which a target sends events, and the visitor who hears them.
async fn events(stage: &Stage, encoding: &str) -> (TcpStream, Response<hyper::body::Incoming>) {
    let mut visitor = stage.edge.visitor().await;
    let request = accepting(encoding);
    let asking = tokio::spawn(async move {
        let answer = visitor.send(request).await.unwrap();
        (visitor, answer)
    });
    let mut target = stage.listener.accept().await.unwrap().0;
    read_head(&mut target).await;
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    target.write_all(head.as_bytes()).await.unwrap();
    let (visitor, answer) = asking.await.unwrap();
    // The connection stays as long as the test.
    tokio::spawn(async move {
        tokio::time::sleep(DEADLINE).await;
        drop(visitor);
    });
    (target, answer)
}

async fn chunk(target: &mut TcpStream, text: &str) {
    target.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await.unwrap();
}

/// All that can be read of what has come so far.
fn readable(encoding: &str, packed: &[u8]) -> String {
    let mut reader: Box<dyn Read> = match encoding {
        "gzip" => Box::new(flate2::read::GzDecoder::new(packed)),
        _ => Box::new(zstd::stream::read::Decoder::new(packed).unwrap()),
    };
    let (mut all, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = reader.read(&mut buffer) {
        all.extend(&buffer[..read]);
    }
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn events_come_at_once() {
    let stage = Stage::start().await;
    for encoding in ["gzip", "zstd"] {
        let (mut target, mut answer) = events(&stage, encoding).await;
        assert_eq!(answer.headers()["content-encoding"], encoding);
        let (mut packed, mut sent) = (Vec::new(), String::new());
        for number in 0..20 {
            let event = format!("data: {number}\n\n");
            sent += &event;
            chunk(&mut target, &event).await;
            // The target says nothing more until the visitor has heard this.
            while readable(encoding, &packed) != sent {
                let frame = tokio::time::timeout(DEADLINE, answer.body_mut().frame()).await.expect("held back");
                packed.extend(frame.unwrap().unwrap().into_data().unwrap());
            }
        }
        target.write_all(b"0\r\n\r\n").await.unwrap();
        packed.extend(answer.into_body().collect().await.unwrap().to_bytes());
        assert_eq!(readable(encoding, &packed), sent);
    }
}

/// Half an answer does not look like a whole one, whichever protocol the visitor speaks.
#[tokio::test]
async fn an_answer_that_breaks_off_is_seen_to_do_so() {
    let stage = Stage::start().await;
    for encoding in ["gzip", "zstd"] {
        let (mut target, answer) = events(&stage, encoding).await;
        chunk(&mut target, "data: 1\n\n").await;
        drop(target);
        assert!(answer.into_body().collect().await.is_err(), "{encoding}");
    }
    let stream = TcpStream::connect(stage.edge.address).await.unwrap();
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("http://app.example.org/").header("accept-encoding", "gzip");
    let asking = sender.send_request(request.body(Full::<Bytes>::default()).unwrap());
    let target = async {
        let mut target = stage.listener.accept().await.unwrap().0;
        read_head(&mut target).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 9000\r\n\r\nbegin";
        target.write_all(head.as_bytes()).await.unwrap();
    };
    let (answer, ()) = tokio::join!(asking, target);
    let answer = answer.unwrap();
    assert_eq!(answer.headers()["content-encoding"], "gzip");
    assert!(answer.into_body().collect().await.is_err());
    let look = async || {
        let figures = stage.edge.stats().await.services[0].figures.clone();
        (figures.failed(Cause::Closed) == 3 && figures.in_flight == 0).then_some(())
    };
    until("all of them are counted", look).await;
}

/// A visitor who speaks HTTP/1.0 would take half an answer without a length for a whole one.
#[tokio::test]
async fn http_1_0_is_answered_with_a_length() {
    let stage = Stage::start().await;
    let target = async {
        let mut target = stage.listener.accept().await.unwrap().0;
        read_head(&mut target).await;
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2000\r\n\r\n";
        target.write_all(&[head.as_bytes(), &text(2000)].concat()).await.unwrap();
    };
    let request = "GET / HTTP/1.0\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n";
    let (answer, ()) = tokio::join!(stage.edge.raw(request), target);
    assert!(answer.contains("content-length: 2000") && !answer.contains("content-encoding"), "{answer}");
}
