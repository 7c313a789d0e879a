//! Answers of servers that keep to the rules.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use windlass_outgoing::Method;

use crate::support::{answering, assert_untouched, called, get, local, read_head, serve, soon};

#[tokio::test]
async fn a_plain_answer() {
    let answer = called("HTTP/1.1 200 OK\r\nx-one: 1\r\ncontent-length: 5\r\n\r\nhello").await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"hello"[..]));
    assert_eq!(answer.headers["x-one"], "1");
}

#[tokio::test]
async fn a_failure_of_the_server_is_an_answer() {
    let answer = called("HTTP/1.1 500 Oops\r\ncontent-length: 3\r\n\r\nno!").await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (500, &b"no!"[..]));
}

#[tokio::test]
async fn an_answer_in_chunks() {
    let text =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n world\r\n0\r\nx-after: 1\r\n\r\n";
    assert_eq!(called(text).await.unwrap().body, "hello world");
}

#[tokio::test]
async fn an_answer_that_ends_with_the_connection() {
    assert_eq!(called("HTTP/1.0 200 OK\r\n\r\nhello").await.unwrap().body, "hello");
}

#[tokio::test]
async fn an_answer_without_a_body_and_one_to_head() {
    assert_eq!(called("HTTP/1.1 204 No Content\r\n\r\n").await.unwrap().body, "");
    let address = answering("HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n").await;
    let mut call = get(&format!("http://{address}/"));
    call.method = Method::HEAD;
    assert_eq!(soon(local().await.send(call)).await.unwrap().body, "");
}

#[tokio::test]
async fn what_comes_before_the_answer_is_passed_over() {
    let text = "HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
    let answer = called(text).await.unwrap();
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (200, &b"ok"[..]));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let location = format!("http://{}/", other.local_addr().unwrap());
    let answer =
        called(format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")).await.unwrap();
    assert_eq!(answer.status, 302);
    assert_eq!(answer.headers["location"], location);
    assert_untouched(&other).await;
}

#[tokio::test]
async fn a_packed_answer_stays_packed() {
    let answer = called("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc").await.unwrap();
    assert_eq!(answer.body, "abc");
}

#[tokio::test]
async fn an_answer_that_comes_before_the_whole_request_is_read() {
    let address = serve(|mut stream| async move {
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno").await.unwrap();
        // The connection stays open until the caller closes it.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let mut call = get(&format!("http://{address}/"));
    call.method = Method::POST;
    call.body = vec![0; 64 << 20].into();
    assert_eq!(soon(local().await.send(call)).await.unwrap().status, 413);
}

#[tokio::test]
async fn calls_at_the_same_time_do_not_meet() {
    let address = serve(|mut stream| async move {
        let head = read_head(&mut stream).await;
        let path = head.split(' ').nth(1).unwrap();
        let text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{path}", path.len());
        stream.write_all(text.as_bytes()).await.unwrap();
    })
    .await;
    let outgoing = std::sync::Arc::new(local().await);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..50 {
        let outgoing = outgoing.clone();
        calls.spawn(async move {
            let answer = soon(outgoing.send(get(&format!("http://localhost:{}/{number}", address.port())))).await;
            assert_eq!(answer.unwrap().body, format!("/{number}"));
        });
    }
    calls.join_all().await;
}
