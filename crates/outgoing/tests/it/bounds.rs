//! Servers that are slow or send too much, and callers that go away.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use windlass_outgoing::{Call, CallError, Limits};

use crate::support::{DEADLINE, answering, get, local, read_head, serve, soon};

const SHORT: Duration = Duration::from_millis(300);

fn limited(url: &str, time: Duration, answer_bytes: usize) -> Call {
    Call { limits: Limits { time, answer_bytes }, ..get(url) }
}

async fn called_with_room_for(answer_bytes: usize, text: &str) -> Result<usize, CallError> {
    let address = answering(text).await;
    let call = limited(&format!("http://{address}/"), DEADLINE, answer_bytes);
    soon(local().await.send(call)).await.map(|answer| answer.body.len())
}

#[tokio::test]
async fn an_answer_may_be_as_long_as_the_limit_and_no_longer() {
    let too_large = |limit| Err(CallError::TooLarge { host: "127.0.0.1".to_owned(), limit });
    let answers = [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nhello",
    ];
    for answer in answers {
        assert_eq!(called_with_room_for(5, answer).await, Ok(5), "{answer}");
        assert_eq!(called_with_room_for(4, answer).await, too_large(4), "{answer}");
        assert_eq!(called_with_room_for(0, answer).await, too_large(0), "{answer}");
    }
}

/// Where the status says enough, a body can be as long, as slow or as broken as it likes.
#[tokio::test]
async fn of_a_body_that_does_not_matter_only_the_beginning_is_read() {
    let begun = async |answer: Vec<u8>| {
        let address = answering(answer).await;
        let call = limited(&format!("http://{address}/"), DEADLINE, 4);
        let answer = soon(local().await.send_for_status(call)).await.unwrap();
        (answer.status.as_u16(), String::from_utf8(answer.body.to_vec()).unwrap())
    };
    let long = [b"HTTP/1.1 200 OK\r\ncontent-length: 10000000\r\n\r\n".to_vec(), vec![b'x'; 10_000_000]].concat();
    assert_eq!(begun(long).await, (200, "xxxx".into()));
    assert_eq!(begun(b"HTTP/1.1 500 No\r\ncontent-length: 9\r\n\r\nab".to_vec()).await, (500, "ab".into()));
    assert_eq!(begun(b"HTTP/1.1 204 OK\r\n\r\n".to_vec()).await, (204, String::new()));
    let address = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 202 OK\r\ncontent-length: 100000\r\n\r\n").await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let call = limited(&format!("http://{address}/"), DEADLINE, 4);
    assert_eq!(soon(local().await.send_for_status(call)).await.unwrap().status.as_u16(), 202);
}

#[tokio::test]
async fn a_length_that_is_too_large_is_not_waited_for() {
    let address = serve(|mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n").await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let error = soon(local().await.send(get(&format!("http://{address}/")))).await.unwrap_err();
    assert_eq!(error, CallError::TooLarge { host: "127.0.0.1".to_owned(), limit: 1 << 20 });
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut_off() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        let tell = tell.clone();
        async move {
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
            tell.send(()).unwrap();
        }
    })
    .await;
    let error = soon(local().await.send(get(&format!("http://{address}/")))).await.unwrap_err();
    assert!(matches!(error, CallError::TooLarge { .. }), "{error:?}");
    soon(told.recv()).await.unwrap();
}

#[tokio::test]
async fn a_server_that_never_answers_is_left() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        let tell = tell.clone();
        async move {
            let _ = stream.read_to_end(&mut Vec::new()).await;
            tell.send(()).unwrap();
        }
    })
    .await;
    for scheme in ["http", "https"] {
        let began = Instant::now();
        let call = limited(&format!("{scheme}://{address}/"), SHORT, 1);
        let error = soon(local().await.send(call)).await.unwrap_err();
        assert_eq!(error, CallError::TimedOut { host: "127.0.0.1".to_owned(), limit: SHORT });
        assert!(error.is_temporary());
        assert_eq!(error.to_string(), "The host 127.0.0.1 took more than 0.3 s to answer.");
        assert!(began.elapsed() >= SHORT);
        // The connection is gone too.
        soon(told.recv()).await.unwrap();
    }
}

#[tokio::test]
async fn an_answer_that_drips_ends_at_the_time_limit() {
    let address = serve(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").await;
        let mut drops = tokio::time::interval(Duration::from_millis(10));
        while stream.write_all(b"x").await.is_ok() {
            drops.tick().await;
        }
    })
    .await;
    let call = limited(&format!("http://{address}/"), SHORT, 1 << 20);
    let error = soon(local().await.send(call)).await.unwrap_err();
    assert_eq!(error, CallError::TimedOut { host: "127.0.0.1".to_owned(), limit: SHORT });
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let (tell, mut told) = mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        let tell = tell.clone();
        async move {
            read_head(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe").await.unwrap();
            tell.send("answering").unwrap();
            assert_eq!(stream.read_to_end(&mut Vec::new()).await.unwrap_or_default(), 0);
            tell.send("closed").unwrap();
        }
    })
    .await;
    let outgoing = local().await;
    let call = outgoing.send(get(&format!("http://{address}/")));
    tokio::select! {
        _ = call => panic!("the answer has no end"),
        said = soon(told.recv()) => assert_eq!(said, Some("answering")),
    }
    assert_eq!(soon(told.recv()).await, Some("closed"));
}
