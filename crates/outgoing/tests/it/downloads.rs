//! Answers whose bodies are passed on while they come.

use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use windlass_outgoing::{Answer, Bytes, CallError, Limits, Outgoing, Settings};

use crate::support::{DEADLINE, answering, get, local, read_head, serve, soon};

/// What comes of an answer: its head, and the pieces put together.
async fn downloaded(text: &str, answer_bytes: usize) -> (Result<Answer, CallError>, Vec<u8>) {
    let address = answering(text).await;
    let mut call = get(&format!("http://{address}/"));
    call.limits = Limits { time: DEADLINE, answer_bytes };
    let (pieces, mut taken) = mpsc::channel::<Bytes>(1);
    let collecting = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Some(piece) = taken.recv().await {
            all.extend_from_slice(&piece);
        }
        all
    });
    let answer = soon(local().await.download(call, &pieces)).await;
    drop(pieces);
    (answer, collecting.await.unwrap())
}

#[tokio::test]
async fn a_body_is_passed_on_and_not_kept() {
    let (answer, all) = downloaded("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello", 5).await;
    assert_eq!((&answer.unwrap().body[..], &all[..]), (&b""[..], &b"hello"[..]));
    let text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
    assert_eq!(downloaded(text, 5).await.1, b"hello");
}

/// Addresses that the caller has looked up are not looked up again, but checked.
#[tokio::test]
async fn a_download_goes_to_the_addresses_that_are_given() {
    let address = answering("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").await;
    let call = || get(&format!("http://nowhere.invalid:{}/", address.port()));
    let (pieces, mut taken) = mpsc::channel::<Bytes>(1);
    let answer = soon(local().await.download_at(call(), vec![address.ip()], &pieces)).await.unwrap();
    assert_eq!((answer.status.as_u16(), taken.recv().await.as_deref()), (200, Some(&b"hello"[..])));
    let careful = Outgoing::new(Settings { allow_private: false, extra_roots: None }).await.unwrap();
    let refused = soon(careful.download_at(call(), vec![address.ip()], &pieces)).await;
    assert!(matches!(refused, Err(CallError::PrivateAddress { .. })));
}

#[tokio::test]
async fn what_is_no_success_has_no_body() {
    let text = "HTTP/1.1 302 Found\r\nlocation: /else\r\ncontent-length: 5\r\n\r\nhello";
    let (answer, all) = downloaded(text, 1).await;
    let answer = answer.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.headers["location"], all.len()), (302, &"/else".parse().unwrap(), 0));
}

#[tokio::test]
async fn more_than_the_limit_is_refused() {
    for text in [
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
    ] {
        let (answer, all) = downloaded(text, 4).await;
        assert_eq!(answer.unwrap_err(), CallError::TooLarge { host: "127.0.0.1".to_owned(), limit: 4 });
        assert!(all.len() <= 4);
    }
}

/// A body without an end is read no further than the caller takes it.
#[tokio::test]
async fn a_body_that_nobody_takes_ends() {
    let address = serve(|mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        while stream.write_all(&[b'x'; 4096]).await.is_ok() {}
    })
    .await;
    let mut call = get(&format!("http://{address}/"));
    call.limits.answer_bytes = usize::MAX;
    let (pieces, mut taken) = mpsc::channel::<Bytes>(1);
    let outgoing = local().await;
    let taking = async {
        taken.recv().await.unwrap();
        drop(taken);
    };
    let (answer, ()) = soon(async { tokio::join!(outgoing.download(call, &pieces), taking) }).await;
    assert_eq!(answer.unwrap().status, 200);
}
