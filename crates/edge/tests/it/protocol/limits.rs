//! Visitors who send too much, too slowly or nothing at all, and those who do not take what they asked for.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use windlass_edge::Settings;
use windlass_edge::counters::Cause;
use windlass_edge::routes::{FilesSpec, Limits, Route, Serves, ServiceSpec};

use crate::protocol::wire::{Recorder, Stage, connect, ends, is_quiet, is_well, limited, say, statuses, until_closed};
use crate::support::{DEADLINE, TestEdge, everything_to, read_all, read_head, settings, until};

/// More than the buffers of the edge and of the system between two ends, far less than unbounded.
const BOUND: usize = 48 * 1024 * 1024;
/// A side that takes no byte for this long takes none.
const STALL: Duration = Duration::from_millis(500);

async fn with(settings: Settings) -> (Recorder, TestEdge) {
    let (target, edge) = (Recorder::start().await, TestEdge::with(settings).await);
    edge.send_to(&[target.address]).await;
    (target, edge)
}

/// What comes back for bytes of which the edge may not want all.
async fn answer_to(edge: &TestEdge, bytes: &[u8]) -> String {
    let stream = connect(edge).await;
    let (mut reading, mut writing) = stream.into_split();
    let (_, answer) = tokio::join!(writing.write_all(bytes), async {
        let mut answer = Vec::new();
        let _ = tokio::time::timeout(DEADLINE, reading.read_to_end(&mut answer)).await.expect("the edge ends it");
        String::from_utf8_lossy(&answer).into_owned()
    });
    answer
}

#[tokio::test]
async fn heads_have_a_largest_size() {
    let (target, edge) = with(Settings { head_bytes: 128 * 1024, ..settings() }).await;
    let long = "x".repeat(200_000);
    for (request, status) in [
        (format!("GET / HTTP/1.1\r\nHost: a\r\nX: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{long}: x\r\n\r\n"), 431),
        (format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 431),
        (format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", &long[..70_000]), 414),
        (long.clone(), 431),
        (format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "x: y\r\n".repeat(101)), 431),
        (format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", &long[..300]), 400),
    ] {
        let answer = answer_to(&edge, request.as_bytes()).await;
        assert_eq!(statuses(&answer), [status], "{request:.60}");
        assert!(target.take().is_empty(), "{request:.60}");
        is_well(&edge).await;
        target.take();
    }
    let most = format!("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{}\r\n", "x: y\r\n".repeat(98));
    assert_eq!(statuses(&answer_to(&edge, most.as_bytes()).await), [200]);
}

#[tokio::test]
async fn trailers_and_extensions_have_a_largest_size() {
    let (target, edge) = Recorder::with_edge().await;
    for rest in [
        format!("0\r\n{}\r\n", "x: y\r\n".repeat(2000)),
        format!("0\r\nx: {}\r\n\r\n", "y".repeat(200_000)),
        format!("1;{}\r\nx\r\n0\r\n\r\n", "y".repeat(200_000)),
    ] {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTrailer: x\r\n\r\n";
        let answer = answer_to(&edge, format!("{head}{rest}").as_bytes()).await;
        assert_eq!(statuses(&answer), [400], "{rest:.30}");
        is_well(&edge).await;
        assert!(target.take().iter().all(|heard| heard.fault.is_some() || heard.what() == "GET /well"));
    }
}

/// However the bytes of a head are spread, it must be complete in time.
#[tokio::test]
async fn slow_heads_are_given_up() {
    let (_target, edge) = with(Settings { head_limit: Duration::from_millis(400), ..settings() }).await;
    let began = Instant::now();
    let quiet = async {
        let mut stream = say(&edge, "GET / HTTP/1.1\r\nHo").await;
        ends(&mut stream).await
    };
    let trickling = async {
        let (mut reading, mut writing) = connect(&edge).await.into_split();
        let drip = tokio::spawn(async move {
            for byte in b"GET / HTTP/1.1\r\nX: ".iter().chain([b'x'; 1000].iter()) {
                if writing.write_all(&[*byte]).await.is_err() {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        let mut rest = Vec::new();
        let _ = tokio::time::timeout(DEADLINE, reading.read_to_end(&mut rest)).await.expect("it ends");
        drip.abort();
        rest
    };
    // The second request of a connection has no more time than the first.
    let second = async {
        let mut stream = say(&edge, "GET /well HTTP/1.1\r\nHost: a\r\n\r\n").await;
        read_head(&mut stream).await;
        let mut body = [0; 9];
        stream.read_exact(&mut body).await.unwrap();
        stream.write_all(b"GET /").await.unwrap();
        ends(&mut stream).await
    };
    let preface = async {
        let mut stream = say(&edge, "PRI * HTTP/2.0\r\n\r\nSM").await;
        ends(&mut stream).await
    };
    let (quiet, trickled, second, preface) = tokio::join!(quiet, trickling, second, preface);
    assert!(quiet.is_empty() && trickled.is_empty() && second.is_empty(), "{trickled:?}");
    assert!(statuses(&String::from_utf8_lossy(&preface)).is_empty());
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(400) && took < Duration::from_secs(10), "{took:?}");
    is_well(&edge).await;
}

#[tokio::test]
async fn silent_connections_are_closed() {
    let (_target, edge) = with(Settings { idle_limit: Duration::from_millis(400), ..settings() }).await;
    let began = Instant::now();
    let silent = async { ends(&mut connect(&edge).await).await };
    let idle = async {
        let mut stream = say(&edge, "GET /well HTTP/1.1\r\nHost: a\r\n\r\n").await;
        ends(&mut stream).await
    };
    let (silent, idle) = tokio::join!(silent, idle);
    assert!(silent.is_empty());
    assert_eq!(statuses(&String::from_utf8_lossy(&idle)), [200]);
    assert!(began.elapsed() >= Duration::from_millis(400));
    until("all are gone", async || (edge.stats().await.open_connections == 0).then_some(())).await;
    is_well(&edge).await;
}

/// Silence is not counted while a request is under way.
#[tokio::test]
async fn a_slow_answer_is_not_silence() {
    let (stage, edge) =
        (Stage::open().await, TestEdge::with(Settings { idle_limit: Duration::from_millis(200), ..settings() }).await);
    edge.send_to(&[stage.address]).await;
    let mut stream = say(&edge, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    for part in ["HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n", "o", "k"] {
        tokio::time::sleep(Duration::from_millis(500)).await;
        target.write_all(part.as_bytes()).await.unwrap();
    }
    assert!(read_all(&mut stream).await.ends_with("ok"));
}

#[tokio::test]
async fn slow_bodies_are_408() {
    let (target, edge) = Recorder::with_edge().await;
    edge.apply(limited(target.address, Limits { idle_ms: 200, ..Limits::default() })).await;
    for begun in
        ["Content-Length: 5\r\n\r\nab", "Content-Length: 5\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\nab"]
    {
        let mut stream = say(&edge, format!("POST / HTTP/1.1\r\nHost: a\r\n{begun}")).await;
        assert_eq!(statuses(&read_all(&mut stream).await), [408], "{begun:?}");
        is_well(&edge).await;
    }
    assert_eq!(edge.stats().await.services[0].figures.failed(Cause::VisitorBody), 3);
    assert!(target.take().iter().all(|heard| heard.fault.is_some() || heard.what() == "GET /well"));
}

/// A byte now and then satisfies the limit for silence, not the one for the whole request.
#[tokio::test]
async fn a_trickling_body_ends_with_the_time_for_the_whole() {
    let (target, edge) = Recorder::with_edge().await;
    edge.apply(limited(target.address, Limits { idle_ms: 1_000, total_ms: 1_500, ..Limits::default() })).await;
    let stream = say(&edge, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n").await;
    let (mut reading, mut writing) = stream.into_split();
    let drip = tokio::spawn(async move {
        while writing.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = Vec::new();
    let _ = tokio::time::timeout(DEADLINE, reading.read_to_end(&mut answer)).await.expect("it ends");
    assert_eq!(statuses(&String::from_utf8_lossy(&answer)), [504]);
    drip.abort();
    is_well(&edge).await;
}

#[tokio::test]
async fn bodies_have_a_largest_size() {
    let (target, edge) = Recorder::with_edge().await;
    edge.apply(limited(target.address, Limits { body_bytes: 10, ..Limits::default() })).await;
    for (rest, status) in [
        ("Content-Length: 10\r\n\r\n0123456789", 200),
        ("Content-Length: 11\r\n\r\n01234567890", 413),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n", 200),
        ("Transfer-Encoding: chunked\r\n\r\n5\r\n01234\r\n6\r\n567890\r\n0\r\n\r\n", 413),
    ] {
        let mut stream = say(&edge, format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{rest}")).await;
        assert_eq!(statuses(&read_all(&mut stream).await), [status], "{rest:?}");
        is_well(&edge).await;
        let whole = target.take().into_iter().filter(|heard| heard.what() == "POST /" && heard.fault.is_none()).count();
        assert_eq!(whole, usize::from(status == 200), "{rest:?}");
    }
}

/// Writes until no more is taken; how many bytes that were.
async fn push(stream: &mut (impl AsyncWriteExt + Unpin), bytes: &[u8]) -> usize {
    let mut pushed = 0;
    while let Ok(Ok(count @ 1..)) = tokio::time::timeout(STALL, stream.write(bytes)).await {
        pushed += count;
        assert!(pushed < BOUND, "there is no end to what is taken");
    }
    pushed
}

/// The edge takes no more from a visitor than its target takes from the edge.
#[tokio::test]
async fn a_target_that_takes_nothing_holds_the_visitor_back() {
    let (stage, edge) = Stage::with_edge().await;
    edge.apply(limited(stage.address, Limits { answer_ms: 2_000, ..Limits::default() })).await;
    let mut stream = say(&edge, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n").await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    let pushed = push(&mut stream, &[0; 65536]).await;
    assert!(pushed > 100_000, "{pushed}");
    // No byte moves and no answer comes: that is the target's failure, and its connection is not kept.
    until_closed(&target).await;
    assert_eq!(statuses(&read_all(&mut stream).await), [504]);
    is_quiet(&edge).await;
}

/// The edge takes no more from a target than the visitor takes from the edge, and gives the visitor up in the end.
#[tokio::test]
async fn a_visitor_who_takes_nothing_holds_the_target_back() {
    let impatient = Settings { idle_limit: Duration::from_secs(2), ..settings() };
    let (stage, edge) = (Stage::open().await, TestEdge::with(impatient).await);
    edge.send_to(&[stage.address]).await;
    let stream = say(&edge, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    target.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
    let pushed = push(&mut target, &[0; 65536]).await;
    assert!(pushed > 100_000, "{pushed}");
    ends(&mut target).await;
    is_quiet(&edge).await;
    assert_eq!(edge.stats().await.services[0].figures.failed(Cause::VisitorGone), 1);
    drop(stream);
}

/// Answers every request with so many bytes as its path says.
async fn serve_lengths(stage: Stage) {
    loop {
        let mut target = stage.accept().await;
        tokio::spawn(async move {
            let head = read_head(&mut target).await;
            let length: usize = head.split(['/', ' ']).nth(2).unwrap().parse().unwrap();
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
            target.write_all(head.as_bytes()).await.unwrap();
            let _ = target.write_all(&vec![b'x'; length]).await;
        });
    }
}

/// Asks for so many bytes with a small window.
async fn ask_for(edge: SocketAddr, length: usize) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(16 * 1024).unwrap();
    let mut stream = socket.connect(edge).await.unwrap();
    stream.write_all(format!("GET /{length} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
    read_head(&mut stream).await;
    stream
}

/// A visitor who takes an answer slowly, but takes it, gets all of it, however long ago the target has given its last
/// byte: of various lengths, so that with some of them the end waits in the edge and not in the system.
#[tokio::test]
async fn a_slow_visitor_gets_the_whole_answer() {
    // Less than the answers take, and more than a busy machine may keep a visitor from reading.
    let impatient = Settings { idle_limit: Duration::from_secs(5), ..settings() };
    let (stage, edge) = (Stage::open().await, TestEdge::with(impatient).await);
    edge.send_to(&[stage.address]).await;
    let serving = tokio::spawn(serve_lengths(stage));
    let mut visitors = JoinSet::new();
    for number in 0..12 {
        let (address, length) = (edge.address, 3_300_000 + 70_000 * number);
        visitors.spawn(async move {
            let mut stream = ask_for(address, length).await;
            let (mut taken, mut buffer) = (0, vec![0; 8 * 1024]);
            while taken < length {
                let read = tokio::time::timeout(DEADLINE, stream.read(&mut buffer)).await.expect("bytes");
                let count = read.unwrap_or(0);
                assert!(count > 0, "cut after {taken} of {length} bytes");
                taken += count;
                tokio::time::sleep(Duration::from_millis(24)).await;
            }
        });
    }
    visitors.join_all().await;
    is_quiet(&edge).await;
    serving.abort();
}

/// One who takes nothing of it does not stay.
#[tokio::test]
async fn a_visitor_who_leaves_the_end_of_an_answer_is_given_up() {
    let impatient = Settings { idle_limit: Duration::from_millis(500), ..settings() };
    let (stage, edge) = (Stage::open().await, TestEdge::with(impatient).await);
    edge.send_to(&[stage.address]).await;
    let serving = tokio::spawn(serve_lengths(stage));
    let mut visitors = Vec::new();
    for number in 0..12 {
        visitors.push(ask_for(edge.address, 100_000 + 250_000 * number).await);
    }
    until("all are gone", async || (edge.stats().await.open_connections == 0).then_some(())).await;
    is_quiet(&edge).await;
    serving.abort();
}

#[tokio::test]
async fn one_address_has_so_many_connections() {
    let (_target, edge) = with(Settings { address_connections: 3, ..settings() }).await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut stream = say(&edge, "GET /well HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
        held.push(stream);
    }
    assert!(ends(&mut connect(&edge).await).await.is_empty(), "the fourth is not served");
    assert_eq!(edge.stats().await.refused_connections, 1);
    held.pop();
    until("there is a place again", async || {
        let answer = edge.visitor().await.get("/well").await;
        answer.ok().filter(|answer| *answer == (200, "GET /well".into()))
    })
    .await;
}

#[tokio::test]
async fn visitors_beyond_all_places_wait() {
    let (_target, edge) = with(Settings { max_connections: 2, ..settings() }).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = say(&edge, "GET /well HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
        held.push(stream);
    }
    let mut third = say(&edge, "GET /well HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    let mut byte = [0];
    assert!(tokio::time::timeout(STALL, third.peek(&mut byte)).await.is_err(), "the third is served at once");
    held.pop();
    assert_eq!(statuses(&read_all(&mut third).await), [200]);
    is_well(&edge).await;
}

/// Many connections that say nothing keep others waiting for no longer than their limit.
#[tokio::test]
async fn a_silent_crowd_leaves() {
    let (_target, edge) =
        with(Settings { max_connections: 50, idle_limit: Duration::from_millis(300), ..settings() }).await;
    let mut crowd = Vec::new();
    for _ in 0..120 {
        crowd.push(connect(&edge).await);
    }
    is_well(&edge).await;
}

/// Its visitors wait; those of all others do not.
#[tokio::test]
async fn a_slow_service_does_not_take_the_places_of_the_others() {
    let (target, edge) = with(Settings { service_requests: 3, ..settings() }).await;
    // It is connected to by the system, and never answers.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut routes = everything_to(&[target.address]);
    routes.routes.push(Route::new("slow", "slow"));
    let mut slow = everything_to(&[silent.local_addr().unwrap()]).services.remove(0);
    slow.name = "slow".into();
    routes.services.push(slow);
    edge.apply(routes).await;
    let ask = "GET / HTTP/1.1\r\nHost: slow\r\nAccept: application/json\r\n\r\n";
    let under_way = async |count: u64| {
        until("so many are under way", async || {
            let stats = edge.stats().await;
            let slow = stats.services.iter().find(|service| service.name == "slow")?;
            (slow.figures.in_flight == count).then_some(())
        })
        .await;
    };
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(say(&edge, ask).await);
    }
    under_way(3).await;
    let mut fourth = say(&edge, ask).await;
    let head = read_head(&mut fourth).await;
    assert!(head.starts_with("HTTP/1.1 503") && head.contains("retry-after: 2"), "{head}");
    assert_eq!(edge.visitor().await.get("/well").await.unwrap(), (200, "GET /well".into()));
    // A visitor who leaves makes room.
    waiting.pop();
    under_way(2).await;
    let _third = say(&edge, ask).await;
    under_way(3).await;
}

/// The same with files, of which visitors may read slowly.
#[tokio::test]
async fn slow_readers_of_files_do_not_take_the_places_of_others() {
    let (target, edge) = with(Settings { service_requests: 2, ..settings() }).await;
    let folder = tempfile::tempdir().unwrap();
    std::fs::File::create(folder.path().join("large.bin")).unwrap().set_len(256 << 20).unwrap();
    let mut routes = everything_to(&[target.address]);
    routes.routes.push(Route::new("slow", "slow"));
    let serves = Serves::Files(FilesSpec::of(folder.path().to_owned(), false));
    routes.services.push(ServiceSpec { name: "slow".into(), serves, access_log: false, access: None });
    edge.apply(routes).await;
    let ask = "GET /large.bin HTTP/1.1\r\nHost: slow\r\nAccept: application/json\r\n\r\n";
    let mut reading = Vec::new();
    for _ in 0..2 {
        let mut stream = say(&edge, ask).await;
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        reading.push(stream);
    }
    let head = read_head(&mut say(&edge, ask).await).await;
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert_eq!(edge.visitor().await.get("/well").await.unwrap(), (200, "GET /well".into()));
}
