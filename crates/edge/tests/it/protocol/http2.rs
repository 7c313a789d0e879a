//! Visitors who speak HTTP/2 frame by frame, and not as they should.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_edge::Settings;
use windlass_edge::counters::Cause;

use crate::protocol::wire::{FINE, Recorder, Stage, connect, ends, is_quiet, is_well};
use crate::support::{DEADLINE, TestEdge, read_head, settings};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

#[derive(Debug)]
struct Frame {
    kind: u8,
    stream: u32,
    payload: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut bytes = vec![length[1], length[2], length[3], kind, flags];
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Header fields in the plainest of HPACK's forms.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            block.extend(length(text.len()));
            block.extend(text.as_bytes());
        }
    }
    block
}

/// A number with seven bits in its first byte.
fn length(number: usize) -> Vec<u8> {
    if number < 127 {
        return vec![number as u8];
    }
    let (mut bytes, mut left) = (vec![127], number - 127);
    while left >= 128 {
        bytes.push((left % 128 + 128) as u8);
        left /= 128;
    }
    bytes.push(left as u8);
    bytes
}

const PLAIN: [(&str, &str); 4] = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/first")];

fn get(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_STREAM | END_HEADERS, stream, &fields(&PLAIN))
}

struct Peer(TcpStream);

impl Peer {
    async fn connect(edge: &TestEdge) -> Self {
        Self::with_settings(edge, &[]).await
    }

    async fn with_settings(edge: &TestEdge, settings: &[u8]) -> Self {
        let mut peer = Self(connect(edge).await);
        peer.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
        peer.send(&frame(SETTINGS, 0, 0, settings)).await;
        peer
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// The next frame, until the connection ends.
    async fn next(&mut self) -> Option<Frame> {
        let reading = async {
            let mut head = [0; 9];
            self.0.read_exact(&mut head).await.ok()?;
            let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
            self.0.read_exact(&mut payload).await.ok()?;
            let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            Some(Frame { kind: head[3], stream, payload })
        };
        tokio::time::timeout(DEADLINE, reading).await.expect("a frame, or the end")
    }

    /// What becomes of a stream: the first byte of its answer's head, or the kind of frame that ended it; none if the
    /// connection just ended.
    async fn fate(&mut self, stream: u32) -> Option<Fate> {
        while let Some(frame) = self.next().await {
            match frame.kind {
                HEADERS if frame.stream == stream => return Some(Fate::Answered(status(&frame.payload))),
                RST_STREAM if frame.stream == stream => return Some(Fate::Reset),
                GOAWAY => return Some(Fate::GoneAway),
                _ => {}
            }
        }
        None
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered(u16),
    Reset,
    GoneAway,
}

/// The status in the head of an answer, where it comes first.
fn status(block: &[u8]) -> u16 {
    match block {
        [0x88, ..] => 200,
        [0x8c, ..] => 400,
        [0x8d, ..] => 404,
        [0x8e, ..] => 500,
        // A literal under an indexed name, its digits in Huffman's code.
        [0x48, 0x82 | 0x83, digits @ ..] => three_digits(digits),
        _ => panic!("a status that this test does not know: {block:02x?}"),
    }
}

/// 0 to 2 have five bits in Huffman's code, the other digits six.
fn three_digits(code: &[u8]) -> u16 {
    let mut bits = code.iter().flat_map(|byte| (0..8).rev().map(move |bit| u16::from(byte >> bit & 1)));
    let mut number = 0;
    for _ in 0..3 {
        let five = (0..5).fold(0, |sum, _| sum * 2 + bits.next().unwrap());
        let digit = if five < 3 { five } else { five * 2 + bits.next().unwrap() - 0b011001 + 3 };
        number = number * 10 + digit;
    }
    number
}

#[tokio::test]
async fn a_plain_request_is_answered() {
    let (target, edge) = Recorder::with_edge().await;
    let mut peer = Peer::connect(&edge).await;
    peer.send(&get(1)).await;
    assert_eq!(peer.fate(1).await, Some(Fate::Answered(200)));
    assert_eq!(target.heard()[0].what(), "GET /first");
    is_well(&edge).await;
}

/// None of these reaches the target. Fields that cannot be read end the connection, the others their stream.
#[tokio::test]
async fn malformed_heads_are_refused() {
    let (target, edge) = Recorder::with_edge().await;
    let [method, scheme, authority, path] = PLAIN;
    let with = |more: &[(&'static str, &'static str)]| [&PLAIN, more].concat();
    let mut wrong = Vec::new();
    for (head, fate) in [
        (with(&[("connection", "close")]), Fate::Reset),
        (with(&[("transfer-encoding", "chunked")]), Fate::Reset),
        (with(&[("keep-alive", "5")]), Fate::Reset),
        (with(&[("proxy-connection", "close")]), Fate::Reset),
        (with(&[("upgrade", "websocket")]), Fate::Reset),
        (with(&[("te", "gzip")]), Fate::Reset),
        (with(&[("X-Upper", "1")]), Fate::GoneAway),
        (with(&[("x y", "1")]), Fate::GoneAway),
        (with(&[("x:y", "1")]), Fate::GoneAway),
        (with(&[("", "1")]), Fate::GoneAway),
        (with(&[("x", "a\r\ncontent-length: 5")]), Fate::GoneAway),
        (with(&[("x", "a\nb")]), Fate::GoneAway),
        (with(&[("x", "a\0b")]), Fate::GoneAway),
        (with(&[(":path", "/again")]), Fate::Reset),
        (with(&[(":unknown", "1")]), Fate::GoneAway),
        (with(&[("content-length", "5")]), Fate::Reset),
        (with(&[("content-length", "+0")]), Fate::Reset),
        (with(&[("content-length", "0"), ("content-length", "5")]), Fate::Reset),
        (with(&[("host", "a"), ("host", "b")]), Fate::Answered(400)),
        (vec![method, scheme, authority], Fate::Reset),
        (vec![method, scheme, authority, (":path", "")], Fate::Reset),
        (vec![method, scheme, authority, (":path", "first")], Fate::Reset),
        (vec![method, scheme, authority, (":path", "/a b")], Fate::Reset),
        (vec![method, scheme, authority, (":path", "/a HTTP/1.1\r\nx: y")], Fate::Reset),
        (vec![method, scheme, (":authority", "user@a"), path], Fate::Answered(400)),
        (vec![method, scheme, (":authority", "a b"), path], Fate::Reset),
        (vec![method, scheme, path], Fate::Answered(400)),
        (vec![scheme, authority, path], Fate::Reset),
        (vec![method, authority, path], Fate::Reset),
        (vec![("x", "1"), method, scheme, authority, path], Fate::Reset),
        (vec![(":method", "G T"), scheme, authority, path], Fate::GoneAway),
        (vec![(":method", "CONNECT"), (":authority", "a:80")], Fate::Answered(405)),
        (vec![(":method", "CONNECT"), (":protocol", "websocket"), scheme, authority, path], Fate::Reset),
        (vec![(":status", "200"), method, scheme, authority, path], Fate::Reset),
    ] {
        let mut peer = Peer::connect(&edge).await;
        peer.send(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &fields(&head))).await;
        let got = peer.fate(1).await;
        let heard: Vec<_> = target.take().into_iter().map(|heard| heard.head).collect();
        if got != Some(fate) || !heard.is_empty() {
            wrong.push(format!("{head:?} is not {fate:?}: {got:?}, and the target heard {heard:?}"));
        }
        is_well(&edge).await;
        target.take();
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// `:authority` goes before `host`, and the target gets one of them.
#[tokio::test]
async fn the_authority_goes_before_the_host_header() {
    let (target, edge) = Recorder::with_edge().await;
    let mut peer = Peer::connect(&edge).await;
    let head = [&PLAIN[..], &[("host", "other"), ("te", "trailers")]].concat();
    peer.send(&frame(HEADERS, END_STREAM | END_HEADERS, 1, &fields(&head))).await;
    assert_eq!(peer.fate(1).await, Some(Fate::Answered(200)));
    let heard = target.take();
    assert_eq!(heard[0].all("host"), ["a"]);
    is_well(&edge).await;
}

/// A length that the frames do not keep: the target never takes it for a whole request, nor what follows for another.
#[tokio::test]
async fn a_body_of_another_length_than_announced_is_refused() {
    let (target, edge) = Recorder::with_edge().await;
    for (announced, sent) in [("10", "hello"), ("2", "hello")] {
        let mut peer = Peer::connect(&edge).await;
        let head = [(":method", "POST"), PLAIN[1], PLAIN[2], PLAIN[3], ("content-length", announced)];
        peer.send(&frame(HEADERS, END_HEADERS, 1, &fields(&head))).await;
        peer.send(&frame(DATA, END_STREAM, 1, sent.as_bytes())).await;
        assert!(!matches!(peer.fate(1).await, Some(Fate::Answered(200))), "{announced} {sent}");
        is_well(&edge).await;
        let heard = target.take();
        assert!(heard.iter().all(|heard| heard.fault.is_some() || heard.what() == "GET /well"), "{heard:?}");
    }
}

/// One without a body is whole before the first frame of what was not announced: it may be answered, but that is no
/// request.
#[tokio::test]
async fn what_follows_an_empty_body_is_no_request() {
    let (target, edge) = Recorder::with_edge().await;
    let mut peer = Peer::connect(&edge).await;
    let head = [(":method", "POST"), PLAIN[1], PLAIN[2], PLAIN[3], ("content-length", "0")];
    peer.send(&frame(HEADERS, END_HEADERS, 1, &fields(&head))).await;
    peer.send(&frame(DATA, END_STREAM, 1, b"GET /hidden HTTP/1.1\r\n\r\n")).await;
    peer.fate(1).await;
    is_well(&edge).await;
    assert!(target.take().iter().all(|heard| !heard.what().contains("hidden")));
}

/// The visitor takes a request back: the target's connection ends, the others on the visitor's go on.
#[tokio::test]
async fn a_stream_that_is_reset_ends_its_request() {
    for begun in ["", "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello"] {
        let (stage, edge) = Stage::with_edge().await;
        let mut peer = Peer::connect(&edge).await;
        peer.send(&get(1)).await;
        let mut target = stage.accept().await;
        read_head(&mut target).await;
        target.write_all(begun.as_bytes()).await.unwrap();
        if !begun.is_empty() {
            assert_eq!(peer.fate(1).await, Some(Fate::Answered(200)));
        }
        peer.send(&frame(RST_STREAM, 0, 1, &8u32.to_be_bytes())).await;
        ends(&mut target).await;
        is_quiet(&edge).await;
        assert_eq!(edge.stats().await.services[0].figures.failed(Cause::VisitorGone), 1);
        peer.send(&get(3)).await;
        let mut target = stage.accept().await;
        read_head(&mut target).await;
        target.write_all(FINE.as_bytes()).await.unwrap();
        assert_eq!(peer.fate(3).await, Some(Fate::Answered(200)));
    }
}

/// Streams opened and reset as fast as they can be written.
#[tokio::test]
async fn rapid_resets_harm_no_other_visitor() {
    let (_target, edge) = Recorder::with_edge().await;
    let mut peer = Peer::connect(&edge).await;
    let mut flood = Vec::new();
    for number in 0..2000 {
        let stream = 2 * number + 1;
        flood.extend(get(stream));
        flood.extend(frame(RST_STREAM, 0, stream, &8u32.to_be_bytes()));
    }
    // The edge may have had enough before the end.
    let _ = peer.0.write_all(&flood).await;
    is_well(&edge).await;
    let mut was_sent_away = false;
    let _ = peer.0.write_all(&get(4001)).await;
    while let Some(frame) = peer.next().await {
        was_sent_away |= frame.kind == GOAWAY;
        if frame.kind == HEADERS && frame.stream == 4001 {
            break;
        }
    }
    assert!(was_sent_away, "2000 resets in one go are more than a client needs");
    is_well(&edge).await;
}

#[tokio::test]
async fn header_lists_have_a_largest_size() {
    let (target, edge) = Recorder::with_edge().await;
    let long = "x".repeat(10_000);
    let more: Vec<(&str, &str)> = (0..8).map(|_| ("x", long.as_str())).collect();
    let block = fields(&[&PLAIN[..], &more].concat());
    let mut peer = Peer::connect(&edge).await;
    let mut parts = block.chunks(16_000).peekable();
    let mut bytes = frame(HEADERS, END_STREAM, 1, parts.next().unwrap());
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() { END_HEADERS } else { 0 };
        bytes.extend(frame(CONTINUATION, flags, 1, part));
    }
    peer.send(&bytes).await;
    assert_eq!(peer.fate(1).await, Some(Fate::Answered(431)));
    assert!(target.take().is_empty());
    // The connection goes on.
    peer.send(&get(3)).await;
    assert_eq!(peer.fate(3).await, Some(Fate::Answered(200)));
    is_well(&edge).await;
}

/// Heads that never end.
#[tokio::test]
async fn endless_continuations_end_the_connection() {
    let (target, edge) = Recorder::with_edge().await;
    for part in [fields(&[("x", "y")]), Vec::new()] {
        let mut peer = Peer::connect(&edge).await;
        peer.send(&frame(HEADERS, END_STREAM, 1, &fields(&PLAIN))).await;
        let (mut reading, mut writing) = peer.0.into_split();
        let flood = tokio::spawn(async move {
            let part = frame(CONTINUATION, 0, 1, &part).repeat(100);
            while writing.write_all(&part).await.is_ok() {}
        });
        let mut rest = Vec::new();
        let _ = tokio::time::timeout(DEADLINE, reading.read_to_end(&mut rest)).await.expect("it ends");
        let _ = tokio::time::timeout(DEADLINE, flood).await.expect("it ends");
        is_well(&edge).await;
        assert!(target.take().iter().all(|heard| heard.what() == "GET /well"));
    }
}

#[tokio::test]
async fn one_connection_has_so_many_requests_at_once() {
    let (stage, edge) = Stage::with_edge().await;
    let mut peer = Peer::connect(&edge).await;
    let mut held = Vec::new();
    for number in 0..150 {
        peer.send(&get(2 * number + 1)).await;
    }
    let mut refused = 0;
    while refused < 22 {
        let frame = peer.next().await.expect("the connection goes on");
        if frame.kind == RST_STREAM {
            assert_eq!(frame.payload, 7u32.to_be_bytes(), "refused, so that it can be sent again");
            refused += 1;
        }
    }
    for _ in 0..128 {
        held.push(stage.accept().await);
    }
    assert_eq!(edge.stats().await.services[0].figures.in_flight, 128);
    drop(peer);
    is_quiet(&edge).await;
    assert!(!stage.connection_waits().await, "no more than 128 came");
}

/// Frames that cost nothing to send and want an answer, or nothing.
#[tokio::test]
async fn floods_of_small_frames_harm_no_other_visitor() {
    let (_target, edge) = Recorder::with_edge().await;
    for flood in [
        frame(SETTINGS, 0, 0, &[]),
        frame(PING, 0, 0, &[0; 8]),
        frame(WINDOW_UPDATE, 0, 0, &1u32.to_be_bytes()),
        frame(2, 0, 1, &[0, 0, 0, 0, 1]),
        frame(99, 0, 0, b"unknown"),
    ] {
        let mut peer = Peer::connect(&edge).await;
        let flood = flood.repeat(1000);
        for _ in 0..100 {
            // Answers that are not taken hold the flood back.
            let written = tokio::time::timeout(Duration::from_millis(300), peer.0.write_all(&flood)).await;
            if !matches!(written, Ok(Ok(()))) {
                break;
            }
        }
        is_well(&edge).await;
    }
}

/// A body of nothing but empty parts ends the connection before it ends itself.
#[tokio::test]
async fn a_flood_of_empty_data_ends_the_connection() {
    let (target, edge) = Recorder::with_edge().await;
    let mut peer = Peer::connect(&edge).await;
    let head = [(":method", "POST"), PLAIN[1], PLAIN[2], PLAIN[3]];
    peer.send(&frame(HEADERS, END_HEADERS, 1, &fields(&head))).await;
    let part = frame(DATA, 0, 1, &[]).repeat(1000);
    let flood = async { while peer.0.write_all(&part).await.is_ok() {} };
    tokio::time::timeout(DEADLINE, flood).await.expect("it ends");
    is_well(&edge).await;
    let heard = target.take();
    assert!(heard.iter().all(|heard| heard.fault.is_some() || heard.what() == "GET /well"), "{heard:?}");
}

/// A visitor who opens no window for an answer gets none of it, holds little, and not for ever.
#[tokio::test]
async fn a_window_that_stays_shut_is_given_up() {
    const NO_WINDOW: [u8; 6] = [0, 4, 0, 0, 0, 0];
    let impatient = Settings { idle_limit: Duration::from_millis(800), ..settings() };
    let (stage, edge) = (Stage::open().await, TestEdge::with(impatient).await);
    edge.send_to(&[stage.address]).await;
    let mut peer = Peer::with_settings(&edge, &NO_WINDOW).await;
    peer.send(&get(1)).await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    target.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let mut pushed = 0;
    let stalled = Duration::from_millis(300);
    while let Ok(Ok(count @ 1..)) = tokio::time::timeout(stalled, target.write(&[0; 65536])).await {
        pushed += count;
        assert!(pushed < 32 * 1024 * 1024, "there is no end to what is taken");
    }
    // Pings are no sign that the answer will be taken.
    let pinging = async {
        while peer.0.write_all(&frame(PING, 0, 0, &[0; 8])).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(DEADLINE, pinging).await.expect("the visitor is given up");
    ends(&mut target).await;
    is_quiet(&edge).await;
}
