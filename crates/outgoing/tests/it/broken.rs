//! Servers that break off, or speak something else.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;
use windlass_outgoing::CallError;

use crate::support::{called, get, local, read_head, serve, soon};

fn closed_early() -> CallError {
    CallError::ClosedEarly { host: "127.0.0.1".to_owned() }
}

fn bad_answer() -> CallError {
    CallError::BadAnswer { host: "127.0.0.1".to_owned() }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let parts = [
        "",
        "HTTP/1.1 200",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ];
    for part in parts {
        assert_eq!(called(part).await.unwrap_err(), closed_early(), "{part}");
    }
    assert!(closed_early().is_temporary());
}

#[tokio::test]
async fn a_server_that_closes_at_once() {
    let address = serve(|stream| async { drop(stream) }).await;
    let outgoing = local().await;
    for scheme in ["http", "https"] {
        let error = soon(outgoing.send(get(&format!("{scheme}://{address}/")))).await.unwrap_err();
        assert_eq!(error, closed_early(), "{scheme}");
    }
}

#[tokio::test]
async fn what_is_not_http_is_no_answer() {
    let long = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "x".repeat(1 << 20));
    let answers = [
        "SSH-2.0-OpenSSH_9.2p1\r\n",
        "hello there, this is no HTTP\r\n\r\n",
        "\x15\x03\x01\x00\x02\x02\x50",
        "HTTP/1.1 two hundred\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfive\r\nhello\r\n",
        &long,
    ];
    for answer in answers {
        assert_eq!(called(answer).await.unwrap_err(), bad_answer(), "{answer:.80}");
    }
    assert!(!bad_answer().is_temporary());
}

/// The greeting arrives before or after the request is sent; it means the same.
#[tokio::test]
async fn a_server_that_speaks_first_is_not_http() {
    let address = serve(|mut stream| async move {
        stream.write_all(b"SSH-2.0-OpenSSH_9.2p1\r\n").await.unwrap();
        read_head(&mut stream).await;
    })
    .await;
    let outgoing = local().await;
    for _ in 0..20 {
        let error = soon(outgoing.send(get(&format!("http://{address}/")))).await.unwrap_err();
        assert_eq!(error, bad_answer());
    }
}

#[tokio::test]
async fn a_port_where_nothing_listens() {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let error = soon(local().await.send(get(&format!("http://{address}/")))).await.unwrap_err();
    assert_eq!(error, CallError::Refused { address });
    assert!(error.is_temporary());
    assert_eq!(error.to_string(), format!("Nothing accepts connections at {address}."));
}
