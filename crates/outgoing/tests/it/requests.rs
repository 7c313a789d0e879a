//! What a server is sent.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use windlass_outgoing::{Call, Method};

use crate::support::{get, local, read_head, serve, soon};

/// The request as it arrived: the lines of its head in order, and its body.
async fn sent(make: impl FnOnce(&str) -> Call) -> (Vec<String>, String) {
    let (tell, mut told) = mpsc::unbounded_channel();
    let address = serve(move |mut stream| {
        let tell = tell.clone();
        async move {
            let head = read_head(&mut stream).await;
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
            let mut body = vec![0; length.parse().unwrap()];
            stream.read_exact(&mut body).await.unwrap();
            tell.send((head, body)).unwrap();
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await.unwrap();
        }
    })
    .await;
    let answer = soon(local().await.send(make(&address.to_string()))).await.unwrap();
    assert_eq!(answer.status, 204);
    let (head, body) = told.recv().await.unwrap();
    let mut lines: Vec<String> =
        head.trim_end().lines().map(|line| line.replace(&address.to_string(), "HOST")).collect();
    lines[1..].sort();
    (lines, String::from_utf8(body).unwrap())
}

fn our_name() -> String {
    format!("user-agent: windlass/{}", env!("CARGO_PKG_VERSION"))
}

#[tokio::test]
async fn a_request_says_what_it_must_and_nothing_else() {
    let (head, body) = sent(|host| get(&format!("http://{host}/a/b?c=d%20e#f"))).await;
    let expected = ["GET /a/b?c=d%20e HTTP/1.1", "accept-encoding: identity", "connection: close", "host: HOST"];
    assert_eq!(head, [&expected.map(str::to_owned)[..], &[our_name()]].concat());
    assert_eq!(body, "");
}

#[tokio::test]
async fn headers_and_body_of_the_caller_arrive() {
    let (head, body) = sent(|host| {
        let mut call = get(&format!("http://{host}/"));
        call.method = Method::PATCH;
        call.headers.insert("authorization", "Bearer abc".parse().unwrap());
        call.headers.insert("user-agent", "another".parse().unwrap());
        call.body = "{}".into();
        call
    })
    .await;
    assert_eq!(head[0], "PATCH / HTTP/1.1");
    for line in ["authorization: Bearer abc", "user-agent: another", "content-length: 2"] {
        assert!(head.contains(&line.to_owned()), "{line} is not in {head:?}");
    }
    assert_eq!(body, "{}");
}

#[tokio::test]
async fn an_empty_post_says_that_it_is_empty() {
    let (head, _) = sent(|host| Call { method: Method::POST, ..get(&format!("http://{host}/")) }).await;
    assert!(head.contains(&"content-length: 0".to_owned()), "{head:?}");
}

#[tokio::test]
async fn a_caller_does_not_decide_how_a_message_is_sent() {
    let (head, body) = sent(|host| {
        let mut call = get(&format!("http://{host}/"));
        call.method = Method::POST;
        let wrong = [
            ("host", "internal"),
            ("content-length", "99"),
            ("transfer-encoding", "chunked"),
            ("connection", "keep-alive"),
            ("accept-encoding", "gzip"),
            ("upgrade", "h2c"),
            ("expect", "100-continue"),
        ];
        for (name, value) in wrong {
            call.headers.insert(name, value.parse().unwrap());
        }
        call.body = "abc".into();
        call
    })
    .await;
    let expected =
        ["POST / HTTP/1.1", "accept-encoding: identity", "connection: close", "content-length: 3", "host: HOST"];
    assert_eq!(head, [&expected.map(str::to_owned)[..], &[our_name()]].concat());
    assert_eq!(body, "abc");
}
