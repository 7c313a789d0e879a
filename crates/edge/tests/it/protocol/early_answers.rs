//! Targets that answer before they have the whole request.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use windlass_edge::routes::Limits;

use crate::protocol::wire::{Stage, ends, is_quiet, limited, recovers, say, statuses, until_closed};
use crate::support::{DEADLINE, read_head};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    /// Goes on to take the body.
    Reads,
    /// Takes nothing more, and does not go.
    Stalls,
    Leaves,
}

/// An answer before the end of the request's body is passed on at once. The rest of the body is not waited for, and no
/// connection is left behind.
#[tokio::test]
async fn early_answers_pass() {
    for after in [After::Reads, After::Stalls, After::Leaves] {
        let (stage, edge) = Stage::with_edge().await;
        let mut stream = say(&edge, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc").await;
        let mut target = stage.accept().await;
        read_head(&mut target).await;
        let answer = "HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\n\r\nno";
        target.write_all(answer.as_bytes()).await.unwrap();
        let held = match after {
            After::Reads => Some(tokio::spawn(async move { ends(&mut target).await })),
            After::Stalls => Some(tokio::spawn(async move {
                until_closed(&target).await;
                Vec::new()
            })),
            After::Leaves => None,
        };
        let head = read_head(&mut stream).await;
        assert!(head.starts_with("HTTP/1.1 413"), "{after:?}: {head}");
        let mut body = [0; 2];
        stream.read_exact(&mut body).await.unwrap();
        assert_eq!(&body, b"no");
        is_quiet(&edge).await;
        drop(stream);
        if let Some(held) = held {
            tokio::time::timeout(DEADLINE, held).await.expect("the target's connection ends").unwrap();
        }
        recovers(&edge).await;
    }
}

/// The same with a body that has no end.
#[tokio::test]
async fn early_answers_end_endless_bodies() {
    for after in [After::Reads, After::Stalls, After::Leaves] {
        let (stage, edge) = Stage::with_edge().await;
        edge.apply(limited(stage.address, Limits { idle_ms: 300, ..Limits::default() })).await;
        let stream = say(&edge, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").await;
        let (mut reading, mut writing) = stream.into_split();
        let sending = tokio::spawn(async move {
            let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
            while writing.write_all(chunk.as_bytes()).await.is_ok() {}
        });
        let mut target = stage.accept().await;
        read_head(&mut target).await;
        target.write_all(b"HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\n\r\nno").await.unwrap();
        let held = match after {
            After::Reads => Some(tokio::spawn(async move {
                let mut buffer = vec![0; 65536];
                while let Ok(1..) = target.read(&mut buffer).await {}
            })),
            After::Stalls => Some(tokio::spawn(async move { until_closed(&target).await })),
            After::Leaves => None,
        };
        let mut answer = vec![0; 1];
        let read = async {
            while !answer.ends_with(b"no") {
                let mut byte = [0];
                if reading.read(&mut byte).await.unwrap_or(0) == 0 {
                    break;
                }
                answer.push(byte[0]);
            }
        };
        tokio::time::timeout(DEADLINE, read).await.expect("an answer in time");
        let answer = String::from_utf8_lossy(&answer);
        assert_eq!(statuses(&answer), [413], "{after:?}: {answer}");
        assert!(answer.ends_with("no"), "{after:?}: {answer}");
        is_quiet(&edge).await;
        sending.abort();
        let _ = sending.await;
        drop(reading);
        if let Some(held) = held {
            tokio::time::timeout(DEADLINE, held).await.unwrap_or_else(|_| panic!("{after:?} hangs")).unwrap();
        }
        recovers(&edge).await;
    }
}

/// The rest of a body is never the next request, however late it comes.
#[tokio::test]
async fn the_rest_of_a_body_is_not_a_request() {
    let (stage, edge) = Stage::with_edge().await;
    let smuggled = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    let length = 3 + smuggled.len();
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\nabc");
    let mut stream = say(&edge, head).await;
    let mut target = stage.accept().await;
    read_head(&mut target).await;
    target.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno").await.unwrap();
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 401"));
    let mut body = [0; 2];
    stream.read_exact(&mut body).await.unwrap();
    // Long enough for a connection that does nothing to be put to rest.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    let _ = stream.write_all(smuggled.as_bytes()).await;
    let mut heard = vec![0; length];
    target.read_exact(&mut heard).await.unwrap();
    assert!(heard.ends_with(smuggled.as_bytes()), "it belongs to the body");
    assert!(!stage.connection_waits().await, "it became a request of its own");
    drop(stream);
    recovers(&edge).await;
}

/// Half a request that came together with the one before is not forgotten when the connection rests.
#[tokio::test]
async fn the_beginning_of_the_next_request_is_kept() {
    let (stage, edge) = Stage::with_edge().await;
    let mut stream = say(&edge, "GET /one HTTP/1.1\r\nHost: a\r\n\r\nGET /two HT").await;
    let mut target = stage.accept().await;
    for (path, rest) in [("GET /one ", ""), ("GET /two ", "TP/1.1\r\nHost: a\r\n\r\n")] {
        if !rest.is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
            stream.write_all(rest.as_bytes()).await.unwrap();
        }
        let head = read_head(&mut target).await;
        assert!(head.starts_with(path), "{head}");
        target.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 200"));
    }
}
