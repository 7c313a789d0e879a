//! Targets that break the rules. A visitor gets the target's answer, whole, or learns that there is none; never a part
//! of it that looks like all of it, and never another visitor's.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use windlass_edge::counters::Cause;
use windlass_edge::routes::Limits;

use crate::protocol::wire::{FINE, Stage, ends, is_quiet, limited, recovers, say};
use crate::support::{DEADLINE, TestEdge, get, post, read_all, read_head};

/// Ends a connection in a way that the other side cannot take for its end.
fn reset(stream: TcpStream) {
    stream.set_zero_linger().unwrap();
    drop(stream);
}

#[derive(Clone, Copy, Debug)]
enum Then {
    Close,
    Reset,
    Stay,
}
use Then::{Close, Reset, Stay};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Whole(u16, &'static str),
    /// It begins, and does not end.
    Broken,
}
use Outcome::{Broken, Whole};

const FAILED: Outcome = Whole(502, "The application failed");

async fn outcome(edge: &TestEdge, request: Request<Full<Bytes>>, expected: Outcome) -> Result<(), String> {
    let asking = async {
        let mut visitor = edge.visitor().await;
        let answer = visitor.send(request).await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        hyper::Result::Ok((status, String::from_utf8_lossy(&body).into_owned()))
    };
    let answer = tokio::time::timeout(DEADLINE, asking).await.map_err(|_| "the edge hangs".to_owned())?;
    let is_met = match (&answer, expected) {
        (Ok((status, body)), Whole(502, words)) => *status == 502 && body.contains(words),
        (Ok((status, body)), Whole(wanted, words)) => *status == wanted && body == words,
        (Ok(_), Broken) | (Err(_), Whole(..)) => false,
        (Err(_), Broken) => true,
    };
    if is_met { Ok(()) } else { Err(format!("{answer:?}")) }
}

/// A target that answers one request with these bytes.
async fn play(stage: Stage, answer: String, then: Then) {
    let mut stream = stage.accept().await;
    read_head(&mut stream).await;
    stream.write_all(answer.as_bytes()).await.unwrap();
    match then {
        Close => {}
        Reset => {
            // What was sent is let arrive first; a reset may overtake it.
            tokio::time::sleep(Duration::from_millis(50)).await;
            reset(stream);
        }
        Stay => {
            ends(&mut stream).await;
        }
    }
}

async fn check_all(method: &str, cases: &[(&str, Then, Outcome)]) {
    let edge = TestEdge::start().await;
    let mut wrong = Vec::new();
    for (answer, then, expected) in cases {
        let stage = Stage::open().await;
        edge.send_to(&[stage.address]).await;
        let playing = tokio::spawn(play(stage, (*answer).to_owned(), *then));
        let request = Request::builder().method(method).uri("/").header("host", "a").body(Full::default()).unwrap();
        if let Err(why) = outcome(&edge, request, *expected).await {
            wrong.push(format!("{answer:?}, {then:?} is not {expected:?}: {why}"));
        }
        is_quiet(&edge).await;
        playing.abort();
    }
    recovers(&edge).await;
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[tokio::test]
async fn answers_that_are_not_http_are_502() {
    let huge = format!("HTTP/1.1 200 OK\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "x".repeat(200_000));
    let many = format!("HTTP/1.1 200 OK\r\n{}content-length: 0\r\n\r\n", "x: y\r\n".repeat(1000));
    check_all(
        "GET",
        &[
            ("", Close, FAILED),
            ("", Reset, FAILED),
            ("\0\u{1}\u{2}\u{3} nonsense\r\n\r\n", Stay, FAILED),
            ("hello\r\n", Close, FAILED),
            ("<html>hello</html>", Close, FAILED),
            ("HTTP/0.9 200 OK\r\n\r\nhello", Close, FAILED),
            ("HTTP/2.0 200 OK\r\n\r\nhello", Close, FAILED),
            ("HTTP/1.1 abc OK\r\n\r\n", Close, FAILED),
            ("HTTP/1.1 000 OK\r\n\r\n", Close, FAILED),
            ("HTTP/1.1 20 OK\r\n\r\n", Close, FAILED),
            ("HTTP/1.1 200 OK\r\ncontent-length", Close, FAILED),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nhello", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nhello", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5, 6\r\n\r\nhello!", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\nx: a\0b\r\ncontent-length: 0\r\n\r\n", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\nx : b\r\ncontent-length: 0\r\n\r\n", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\nx: a\r\n b\r\ncontent-length: 0\r\n\r\n", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", Stay, FAILED),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\nhello", Close, FAILED),
            ("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nhello", Stay, FAILED),
            ("HTTP/1.1 100 Continue\r\n\r\n", Close, FAILED),
            (&huge, Stay, FAILED),
            (&many, Stay, FAILED),
        ],
    )
    .await;
}

#[tokio::test]
async fn answers_that_break_off_never_look_whole() {
    check_all(
        "GET",
        &[
            ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", Close, Broken),
            ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", Reset, Broken),
            ("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n", Close, Broken),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", Close, Broken),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel", Close, Broken),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", Close, Broken),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", Reset, Broken),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nnonsense\r\n", Stay, Broken),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n", Stay, Broken),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF1\r\nhello", Stay, Broken),
            ("HTTP/1.1 200 OK\r\n\r\nhello", Reset, Broken),
        ],
    )
    .await;
}

#[tokio::test]
async fn answers_that_are_odd_but_clear_pass() {
    check_all(
        "GET",
        &[
            ("HTTP/1.1 200 OK\r\n\r\nhello", Close, Whole(200, "hello")),
            ("HTTP/1.0 200 OK\r\n\r\nhello", Close, Whole(200, "hello")),
            ("HTTP/1.1 200 OK\r\n\r\n", Close, Whole(200, "")),
            ("HTTP/1.1 200\r\ncontent-length: 5\r\n\r\nhello", Stay, Whole(200, "hello")),
            ("HTTP/1.1 999 Odd\r\ncontent-length: 5\r\n\r\nhello", Stay, Whole(999, "hello")),
            ("HTTP/1.1 200 OK\ncontent-length: 5\n\nhello", Stay, Whole(200, "hello")),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5\r\n\r\nhello", Stay, Whole(200, "hello")),
            // Chunks go before a length.
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                Stay,
                Whole(200, "hello"),
            ),
            (
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                Stay,
                Whole(200, "hello"),
            ),
            // What goes before the answer is not passed on.
            (&format!("HTTP/1.1 100 Continue\r\n\r\n{FINE}"), Stay, Whole(200, "fine")),
            (&format!("HTTP/1.1 102 Processing\r\n\r\n{FINE}"), Stay, Whole(200, "fine")),
            (
                &format!("{}{FINE}", "HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n".repeat(20)),
                Stay,
                Whole(200, "fine"),
            ),
            // These have no body, even if bytes come after them.
            ("HTTP/1.1 204 No Content\r\n\r\nhello", Stay, Whole(204, "")),
            ("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello", Stay, Whole(204, "")),
            (
                "HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
                Stay,
                Whole(204, ""),
            ),
            ("HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\nhello", Stay, Whole(304, "")),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_head_request_gets_no_body() {
    check_all(
        "HEAD",
        &[
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n", Stay, Whole(200, "")),
            ("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", Stay, Whole(200, "")),
            ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", Stay, Whole(200, "")),
            ("HTTP/1.1 200 OK\r\n\r\nhello", Close, Whole(200, "")),
        ],
    )
    .await;
}

/// One length for the visitor, or chunks; never both, never two.
#[tokio::test]
async fn answers_are_framed_once() {
    let edge = TestEdge::start().await;
    for (answer, framing) in [
        ("content-length: 5\r\ncontent-length: 5\r\n\r\nhello", ["content-length: 5"].as_slice()),
        (
            "content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
            &["transfer-encoding: chunked"],
        ),
        ("connection: close\r\n\r\nhello", &["transfer-encoding: chunked"]),
        ("content-length: 5\r\nconnection: content-length\r\n\r\nhello", &["content-length: 5"]),
    ] {
        let stage = Stage::open().await;
        edge.send_to(&[stage.address]).await;
        let playing = tokio::spawn(play(stage, format!("HTTP/1.1 200 OK\r\n{answer}"), Close));
        let text = edge.raw("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.to_ascii_lowercase();
        let lines = text.lines().filter(|line| line.starts_with("content-length") || line.starts_with("transfer-enc"));
        assert_eq!(lines.collect::<Vec<_>>(), framing, "{answer:?}: {text}");
        playing.await.unwrap();
    }
    recovers(&edge).await;
}

/// A visitor who knows no chunks gets an answer of unknown length up to the end of the connection.
#[tokio::test]
async fn http_1_0_visitors_get_no_chunks() {
    let (stage, edge) = Stage::with_edge().await;
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let playing = tokio::spawn(play(stage, answer.to_owned(), Stay));
    let text = edge.raw("GET / HTTP/1.0\r\nHost: a\r\n\r\n").await;
    assert!(text.ends_with("\r\n\r\nhello") && !text.contains("chunked"), "{text}");
    recovers(&edge).await;
    playing.await.unwrap();
}

/// Bytes beyond an answer's end are no visitor's answer, whether they come with it or later.
#[tokio::test]
async fn bytes_that_were_not_asked_for_are_no_visitors_answer() {
    const EVIL: &str = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil";
    let (stage, edge) = Stage::with_edge().await;
    let mut visitor = edge.visitor().await;
    for turn in 0..60 {
        let asking = async {
            let request = if turn % 4 == 3 { post("/", "x") } else { get("/") };
            let answer = visitor.send(request).await.unwrap();
            assert_eq!(answer.status(), if turn % 5 == 4 { 204 } else { 200 }, "turn {turn}");
            answer.into_body().collect().await.unwrap().to_bytes()
        };
        let answering = async {
            let mut stream = stage.accept().await;
            read_head(&mut stream).await;
            let answer = if turn % 5 == 4 { "HTTP/1.1 204 No Content\r\n\r\n" } else { FINE };
            if turn % 2 == 0 {
                stream.write_all(format!("{answer}{EVIL}").as_bytes()).await.unwrap();
            } else {
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            stream
        };
        let (body, mut stream) = tokio::join!(asking, answering);
        assert_eq!(body, if turn % 5 == 4 { "" } else { "fine" }, "turn {turn}");
        if turn % 2 == 1 {
            // The next request finds a kept connection with an answer in it.
            let _ = stream.write_all(EVIL.as_bytes()).await;
        }
        drop(stream);
    }
    is_quiet(&edge).await;
    assert_eq!(edge.stats().await.services[0].figures.failed(Cause::Invalid), 0);
    recovers(&edge).await;
}

/// A target that asks for the next request and has answered it before it came.
#[tokio::test]
async fn an_answer_that_waits_on_a_kept_connection_is_thrown_away() {
    let (stage, edge) = Stage::with_edge().await;
    for _ in 0..20 {
        let mut visitor = edge.visitor().await;
        let (answer, mut kept) = tokio::join!(visitor.get("/"), async {
            let mut stream = stage.accept().await;
            read_head(&mut stream).await;
            stream.write_all(FINE.as_bytes()).await.unwrap();
            stream
        });
        assert_eq!(answer.unwrap(), (200, "fine".into()));
        kept.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil").await.unwrap();
        let (answer, ()) = tokio::join!(visitor.get("/"), async {
            let mut stream = stage.accept().await;
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nnew").await.unwrap();
        });
        assert_eq!(answer.unwrap(), (200, "new".into()));
        let heard = ends(&mut kept).await;
        assert!(heard.is_empty(), "the second request was sent here too: {}", String::from_utf8_lossy(&heard));
    }
    recovers(&edge).await;
}

#[tokio::test]
async fn a_target_that_never_answers_is_given_up() {
    let (stage, edge) = Stage::with_edge().await;
    edge.apply(limited(stage.address, Limits { answer_ms: 200, ..Limits::default() })).await;
    let mut visitor = edge.visitor().await;
    let (answer, mut stream) = tokio::join!(visitor.get("/"), stage.accept());
    assert_eq!(answer.unwrap().0, 504);
    ends(&mut stream).await;
    is_quiet(&edge).await;
    assert_eq!(edge.stats().await.services[0].figures.failed(Cause::Slow), 1);
    recovers(&edge).await;
}

/// What goes before an answer is no answer, however much of it there is.
#[tokio::test]
async fn endless_early_hints_are_no_answer() {
    let (stage, edge) = Stage::with_edge().await;
    edge.apply(limited(stage.address, Limits { answer_ms: 200, ..Limits::default() })).await;
    let mut visitor = edge.visitor().await;
    let (answer, ()) = tokio::join!(visitor.get("/"), async {
        let mut stream = stage.accept().await;
        while stream.write_all(b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    });
    assert_eq!(answer.unwrap().0, 504);
    recovers(&edge).await;
}

/// A kept connection on which the target takes a request and leaves: sent again only if that can do no harm, and once.
#[tokio::test]
async fn only_what_is_harmless_is_sent_again() {
    for (method, body, is_repeated) in [
        ("GET", "", true),
        ("HEAD", "", true),
        ("OPTIONS", "", true),
        ("DELETE", "", true),
        ("PUT", "", true),
        ("PUT", "x", false),
        ("GET", "x", false),
        ("POST", "", false),
        ("POST", "x", false),
        ("PATCH", "", false),
        ("CUSTOM", "", false),
    ] {
        let (stage, edge) = Stage::with_edge().await;
        let mut visitor = edge.visitor().await;
        let (answer, mut kept) = tokio::join!(visitor.get("/"), async {
            let mut stream = stage.accept().await;
            read_head(&mut stream).await;
            stream.write_all(FINE.as_bytes()).await.unwrap();
            stream
        });
        answer.unwrap();
        let request = Request::builder().method(method).uri("/").header("host", "a");
        let asking = visitor.send(request.body(Full::from(body)).unwrap());
        let playing = async {
            assert!(read_head(&mut kept).await.starts_with(method), "{method} {body:?}");
            drop(kept);
            if is_repeated {
                let mut stream = stage.accept().await;
                assert!(read_head(&mut stream).await.starts_with(method));
            }
        };
        let (answer, ()) = tokio::join!(asking, playing);
        // The second try fails as well, on a connection of its own: there is no third.
        assert_eq!(answer.unwrap().status(), 502, "{method} {body:?}");
        assert!(!stage.connection_waits().await, "{method} {body:?}");
        recovers(&edge).await;
    }
}

/// A visitor who leaves takes the request along: the target's connection ends, whether it is answering or thinking.
#[tokio::test]
async fn a_visitor_who_leaves_ends_the_targets_connection() {
    for begun in ["", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello", "HTTP/1.1 200 OK\r\n\r\nhello"] {
        let (stage, edge) = Stage::with_edge().await;
        let mut stream = say(&edge, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let mut target = stage.accept().await;
        read_head(&mut target).await;
        target.write_all(begun.as_bytes()).await.unwrap();
        if !begun.is_empty() {
            read_head(&mut stream).await;
        }
        drop(stream);
        ends(&mut target).await;
        is_quiet(&edge).await;
        assert_eq!(edge.stats().await.services[0].figures.failed(Cause::VisitorGone), 1, "{begun:?}");
        recovers(&edge).await;
    }
}

/// Two visitors at once on two connections, slow and in parts: neither gets a byte of the other's answer.
#[tokio::test]
async fn answers_in_small_parts_are_not_mixed() {
    let (stage, edge) = Stage::with_edge().await;
    let playing = tokio::spawn(async move {
        let mut players = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let mut stream = stage.accept().await;
            players.spawn(async move {
                let head = read_head(&mut stream).await;
                let name = head.split(' ').nth(1).unwrap()[1..].to_owned();
                stream
                    .write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n")
                    .await
                    .unwrap();
                for _ in 0..50 {
                    for part in ["1\r", "\n", &name, "\r\n"] {
                        stream.write_all(part.as_bytes()).await.unwrap();
                        tokio::task::yield_now().await;
                    }
                }
                stream.write_all(b"0\r\n\r\n").await.unwrap();
            });
        }
        players.join_all().await;
    });
    let mut visitors = tokio::task::JoinSet::new();
    for number in 0..8 {
        let mut stream = say(&edge, format!("GET /{number} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")).await;
        visitors.spawn(async move { (number, read_all(&mut stream).await) });
    }
    for (number, answer) in visitors.join_all().await {
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        let said: String = body.split("\r\n").skip(1).step_by(2).collect();
        assert_eq!(said, number.to_string().repeat(50), "{answer}");
    }
    playing.await.unwrap();
    recovers(&edge).await;
}
