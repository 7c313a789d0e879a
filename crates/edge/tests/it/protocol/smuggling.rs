//! Requests whose end two readers could see at different places. The edge refuses them, or writes them anew so that
//! there is only one way to read them.

use crate::protocol::wire::{Heard, Recorder, is_well, say, statuses};
use crate::support::{TestEdge, read_all, until};

/// What every abusive request is followed by, on the same connection.
const SECOND: &str = "GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

#[derive(Clone, Copy, Debug)]
enum Outcome {
    /// One answer with this status, and the connection is over: what follows is never taken for a request. The target
    /// hears nothing that it could take for a whole request.
    Refused(u16),
    /// It reaches the target with this body, and so does what follows.
    Passed(&'static str),
    /// It reaches the target with this body, and the connection is over.
    PassedAlone(&'static str),
}
use Outcome::{Passed, PassedAlone, Refused};

impl Outcome {
    fn is_met(self, statuses: &[u16], heard: &[Heard]) -> bool {
        let whole: Vec<&Heard> = heard.iter().filter(|heard| heard.fault.as_deref() != Some("incomplete")).collect();
        let is_second = |heard: &Heard| heard.what() == "GET /second" && heard.body.is_empty();
        let is_first = |heard: &Heard, body: &str| !is_second(heard) && heard.body == body.as_bytes();
        match (self, statuses, whole.as_slice()) {
            (_, _, whole) if whole.iter().any(|heard| heard.fault.is_some()) => false,
            (Refused(status), [only], []) => *only == status,
            (Passed(body), [200, 200], [first, second]) => is_first(first, body) && is_second(second),
            (PassedAlone(body), [200], [first]) => is_first(first, body),
            _ => false,
        }
    }
}

/// Sends it and what follows; how it did not go as it should.
async fn try_one(target: &Recorder, edge: &TestEdge, request: &str, outcome: Outcome) -> Result<Vec<Heard>, String> {
    let mut stream = say(edge, format!("{request}{SECOND}")).await;
    let answers = read_all(&mut stream).await;
    let heard = target.take();
    is_well(edge).await;
    target.take();
    match outcome.is_met(&statuses(&answers), &heard) {
        true => Ok(heard),
        false => {
            let heard: Vec<_> = heard.iter().map(|one| (one.what(), one.body.as_slice(), &one.fault)).collect();
            Err(format!("{request:?} is not {outcome:?}: {:?}, and the target heard {heard:?}", statuses(&answers)))
        }
    }
}

async fn check_all(cases: &[(&str, Outcome)]) {
    let (target, edge) = Recorder::with_edge().await;
    let mut wrong = Vec::new();
    for (request, outcome) in cases {
        wrong.extend(try_one(&target, &edge, request, *outcome).await.err());
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

/// A POST with these lines in its head, and what follows them.
fn post(lines: &str, rest: &str) -> String {
    format!("POST /first HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n{rest}")
}

async fn check_posts(cases: &[(&str, &str, Outcome)]) {
    let cases: Vec<(String, Outcome)> =
        cases.iter().map(|(lines, rest, outcome)| (post(lines, rest), *outcome)).collect();
    let cases: Vec<(&str, Outcome)> = cases.iter().map(|(request, outcome)| (request.as_str(), *outcome)).collect();
    check_all(&cases).await;
}

#[tokio::test]
async fn two_framings_are_read_as_chunks_and_end_the_connection() {
    const CHUNKS: &str = "3\r\nabc\r\n0\r\n\r\n";
    check_posts(&[
        ("Content-Length: 6\r\nTransfer-Encoding: chunked", CHUNKS, PassedAlone("abc")),
        ("Transfer-Encoding: chunked\r\nContent-Length: 6", CHUNKS, PassedAlone("abc")),
        ("Content-Length: 0\r\nTransfer-Encoding: chunked", CHUNKS, PassedAlone("abc")),
        ("Transfer-Encoding: chunked\r\nContent-Length: nonsense", CHUNKS, PassedAlone("abc")),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\nContent-Length: 6", CHUNKS, PassedAlone("abc")),
        ("Content-Length: 6\r\nContent-Length: 6\r\nTransfer-Encoding: chunked", CHUNKS, PassedAlone("abc")),
    ])
    .await;
}

#[tokio::test]
async fn lengths_that_are_not_plain_numbers_are_refused() {
    check_posts(&[
        ("Content-Length: 5\r\nContent-Length: 6", "hello", Refused(400)),
        ("Content-Length: 5\r\nContent-Length: 5", "hello", Passed("hello")),
        ("Content-Length: +5", "hello", Refused(400)),
        ("Content-Length: 0x5", "hello", Refused(400)),
        ("Content-Length:  5 ,5", "hello", Refused(400)),
        ("Content-Length: 5, 6", "hello", Refused(400)),
        ("Content-Length: -5", "hello", Refused(400)),
        ("Content-Length: 5 5", "hello", Refused(400)),
        ("Content-Length: 5.0", "hello", Refused(400)),
        ("Content-Length:", "hello", Refused(400)),
        ("Content-Length: 18446744073709551615", "hello", Refused(431)),
        ("Content-Length: 18446744073709551616", "hello", Refused(400)),
        ("Content-Length: 99999999999999999999999999", "hello", Refused(400)),
        ("Content-Length:\t5", "hello", Passed("hello")),
        ("Content-Length: 005", "hello", Passed("hello")),
    ])
    .await;
}

#[tokio::test]
async fn codings_other_than_chunked_are_refused() {
    const CHUNKS: &str = "3\r\nabc\r\n0\r\n\r\n";
    check_posts(&[
        ("Transfer-Encoding: chunked", CHUNKS, Passed("abc")),
        ("Transfer-Encoding: CHUNKED", CHUNKS, Passed("abc")),
        ("Transfer-Encoding: chunked, identity", CHUNKS, Refused(400)),
        ("Transfer-Encoding: identity", CHUNKS, Refused(400)),
        ("Transfer-Encoding: xchunked", CHUNKS, Refused(400)),
        ("Transfer-Encoding: \"chunked\"", CHUNKS, Refused(400)),
        ("Transfer-Encoding: chunked;q=1", CHUNKS, Refused(400)),
        ("Transfer-Encoding:", CHUNKS, Refused(400)),
        ("Transfer-Encoding: \x0bchunked", CHUNKS, Refused(400)),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", CHUNKS, Refused(400)),
        ("Transfer-Encoding: gzip, chunked", CHUNKS, Refused(400)),
        ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", CHUNKS, Refused(400)),
        ("Transfer-Encoding: chunked, chunked", CHUNKS, Refused(400)),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", CHUNKS, Refused(400)),
    ])
    .await;
}

#[tokio::test]
async fn heads_with_odd_lines_are_refused() {
    check_posts(&[
        ("Content-Length : 5", "hello", Refused(400)),
        ("Content-Length\t: 5", "hello", Refused(400)),
        ("Transfer-Encoding : chunked", "0\r\n\r\n", Refused(400)),
        (" Content-Length: 5", "hello", Refused(400)),
        ("X-Folded: a\r\n b", "", Refused(400)),
        ("X-Folded: a\r\n\tContent-Length: 5", "", Refused(400)),
        ("Transfer-Encoding:\r\n chunked", "0\r\n\r\n", Refused(400)),
        ("X: a\rContent-Length: 5", "hello", Refused(400)),
        ("X: a\r\rContent-Length: 5", "hello", Refused(400)),
        ("X: a\0b", "", Refused(400)),
        ("X\0Y: a", "", Refused(400)),
        ("X Y: a", "", Refused(400)),
        ("X(Y): a", "", Refused(400)),
        ("no colon", "", Refused(400)),
        (": no name", "", Refused(400)),
        ("X-\u{e9}: a", "", Refused(400)),
    ])
    .await;
}

/// Line ends without CR are accepted in a head; the target gets them with CR.
#[tokio::test]
async fn bare_line_feeds_in_a_head_are_written_anew() {
    check_all(&[
        ("GET /first HTTP/1.1\nHost: a\n\n", Passed("")),
        ("GET /first HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", Passed("")),
        ("POST /first HTTP/1.1\nHost: a\nContent-Length: 5\n\nhello", Passed("hello")),
        ("POST /first HTTP/1.1\r\nHost: a\r\nX: b\nContent-Length: 5\r\n\r\nhello", Passed("hello")),
    ])
    .await;
}

#[tokio::test]
async fn broken_chunks_are_refused() {
    let te = "Transfer-Encoding: chunked";
    check_posts(&[
        (te, "0x5\r\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "-5\r\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "+5\r\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "FFFFFFFFFFFFFFFF1\r\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "\r\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "5 x\r\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "5\rhello\r\n0\r\n\r\n", Refused(400)),
        (te, "5\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "5;ext\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "5\r\nhello\n0\r\n\r\n", Refused(400)),
        (te, "5\r\nhello0\r\n\r\n", Refused(400)),
        (te, "3\r\nhello\r\n0\r\n\r\n", Refused(400)),
        (te, "5\r\nhello\r\n0\n\r\n", Refused(400)),
        (te, "5\r\nhello\r\n0\r\nno colon\r\n\r\n", Refused(400)),
        // After the last chunk a line without CR is taken for a trailer, so the body ends with the next empty line:
        // what looks like a request up to there is dropped, not answered.
        (te, "5\r\nhello\r\n0\r\n\nGET /dropped HTTP/1.1\r\nHost: a\r\n\r\n", Passed("hello")),
        // What follows is taken for the size of the next chunk.
        (te, "5\r\nhello\r\n", Refused(400)),
        // Extensions are dropped, and spaces after a size too.
        (te, "5;ext\r\nhello\r\n0\r\n\r\n", Passed("hello")),
        (te, "5;a=\"b\"\r\nhello\r\n0;c\r\n\r\n", Passed("hello")),
        (te, "5 \r\nhello\r\n0\r\n\r\n", Passed("hello")),
        (te, "0000000005\r\nhello\r\n0\r\n\r\n", Passed("hello")),
    ])
    .await;
}

#[tokio::test]
async fn request_lines_that_are_not_http_are_refused() {
    check_all(&[
        ("GET /first\r\n\r\n", Refused(400)),
        ("GET /first HTTP/0.9\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.2\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET /first HTTP/3.0\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET /first HTTP/11\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET /first http/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1 x\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET /fi rst HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET\t/first\tHTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET  /first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        (" GET /first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("G(T /first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET /\0 HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("\x16\x03\x01\x02\x00\x01\x00\x01\r\n\r\n", Refused(400)),
        ("GET first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET a:80 HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET ?first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        // Empty lines before a request are let pass, as RFC 9112 wants it.
        ("\r\n\r\nGET /first HTTP/1.1\r\nHost: a\r\n\r\n", Passed("")),
    ])
    .await;
}

#[tokio::test]
async fn http_1_0_has_no_chunks() {
    check_all(&[
        ("POST /first HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Refused(400)),
        (
            "POST /first HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            Refused(400),
        ),
        ("GET /first HTTP/1.0\r\nHost: a\r\n\r\n", PassedAlone("")),
        ("POST /first HTTP/1.0\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", PassedAlone("hello")),
        ("GET /first HTTP/1.0\r\n\r\n", Refused(400)),
    ])
    .await;
}

#[tokio::test]
async fn hosts_that_are_not_one_host_are_refused() {
    check_all(&[
        ("GET /first HTTP/1.1\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET http://a/first HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: user@a\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: user:word@a\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: a/b\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: a b\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: a,b\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: a:b\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost: a#b\r\n\r\n", Refused(400)),
        ("GET /first HTTP/1.1\r\nHost:\r\n\r\n", Refused(400)),
        ("GET http://user@a/first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("GET http:///first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(400)),
        ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", Refused(405)),
        ("CONNECT /first HTTP/1.1\r\nHost: a\r\n\r\n", Refused(405)),
    ])
    .await;
}

#[tokio::test]
async fn the_authority_of_the_target_goes_before_the_host_header() {
    let (target, edge) = Recorder::with_edge().await;
    let request = "GET http://real.example.org:81/first?x=1 HTTP/1.1\r\nHost: other.example.org\r\n\r\n";
    let heard = try_one(&target, &edge, request, Passed("")).await.unwrap();
    assert_eq!(heard[0].what(), "GET /first?x=1");
    assert_eq!(heard[0].all("host"), ["real.example.org:81"]);
    assert_eq!(heard[0].all("x-forwarded-host"), ["real.example.org:81"]);
}

/// `Connection` takes out what is between neighbours, not what says where a request ends and which host it is for.
#[tokio::test]
async fn the_connection_header_cannot_take_the_framing_away() {
    let (target, edge) = Recorder::with_edge().await;
    for (lines, rest, body) in [
        ("Content-Length: 5\r\nConnection: content-length", "hello", "hello"),
        ("Connection: keep-alive, Content-Length\r\nContent-Length: 5", "hello", "hello"),
        ("Content-Length: 5\r\nConnection: host, x-real-ip, x-forwarded-for", "hello", "hello"),
        ("Transfer-Encoding: chunked\r\nConnection: transfer-encoding", "3\r\nabc\r\n0\r\n\r\n", "abc"),
    ] {
        let heard = try_one(&target, &edge, &post(lines, rest), Passed(body)).await.unwrap();
        assert_eq!(heard[0].all("host"), ["a"], "{lines}");
        assert_eq!(heard[0].all("x-forwarded-for"), ["127.0.0.1"], "{lines}");
        assert_eq!(heard[0].all("connection"), [""; 0], "{lines}");
    }
}

#[tokio::test]
async fn a_get_with_a_body_arrives_whole() {
    check_all(&[
        ("GET /first HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", Passed("hello")),
        ("GET /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", Passed("abc")),
        ("GET /first HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", Passed("")),
        ("DELETE /first HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", Passed("hello")),
        ("HEAD /first HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", Passed("hello")),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", Passed("hello")),
        // A body that is itself a request stays a body.
        (
            "POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 37\r\n\r\nGET /inner HTTP/1.1\r\nHost: secret\r\n\r\n",
            Passed("GET /inner HTTP/1.1\r\nHost: secret\r\n\r\n"),
        ),
    ])
    .await;
}

/// A visitor who leaves in the middle of a body: the target never takes what came for all of it.
#[tokio::test]
async fn half_a_body_is_never_a_whole_one() {
    let (target, edge) = Recorder::with_edge().await;
    for (lines, rest) in [
        ("Content-Length: 10", "hello"),
        ("Transfer-Encoding: chunked", "5\r\nhello\r\n"),
        ("Transfer-Encoding: chunked", "5\r\nhel"),
        ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n"),
        ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\nX: y\r\n"),
    ] {
        drop(say(&edge, post(lines, rest)).await);
        until("the target hears of it", async || target.heard().first().map(|_| ())).await;
        assert_eq!(target.take()[0].fault.as_deref(), Some("incomplete"), "{rest:?}");
        is_well(&edge).await;
        target.take();
    }
}

/// Fields that frame a message or say who sent it mean nothing in a trailer, and do not get there.
#[tokio::test]
async fn trailers_cannot_say_what_heads_say() {
    let (target, edge) = Recorder::with_edge().await;
    let lines = "Transfer-Encoding: chunked\r\nTE: trailers\r\n\
                 Trailer: Content-Length, Transfer-Encoding, Host, X-Forwarded-For, X-Sum";
    let rest = "3\r\nabc\r\n0\r\nContent-Length: 9\r\nTransfer-Encoding: gzip\r\nHost: b\r\n\
                X-Forwarded-For: 6.6.6.6\r\nX-Sum: 7\r\n\r\n";
    let heard = try_one(&target, &edge, &post(lines, rest), Passed("abc")).await.unwrap();
    assert_eq!(heard[0].trailers, ["x-sum: 7"]);
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_their_order() {
    let (target, edge) = Recorder::with_edge().await;
    let requests: String = (0..50).map(|number| format!("GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    let answers = edge.raw(requests + SECOND).await;
    let mut bodies = answers.split("GET /").skip(1).map(|rest| rest.split("HTTP").next().unwrap());
    assert!((0..50).all(|number| bodies.next() == Some(&number.to_string())), "{answers}");
    assert_eq!(bodies.next(), Some("second"));
    assert_eq!(target.heard().len(), 51);
    is_well(&edge).await;
}
