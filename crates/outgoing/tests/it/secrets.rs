//! No error tells what a request carried.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use windlass_outgoing::{Call, Limits, Method, Outgoing, Settings};

use crate::certificates::Issuer;
use crate::support::{answering, get, local, serve, soon};

fn with_secrets(origin: &str) -> Call {
    let mut call = get(&format!("{origin}/hidden-path?token=hidden-query#hidden-part"));
    call.method = Method::POST;
    call.headers.insert("authorization", "Bearer hidden-header".parse().unwrap());
    call.body = "hidden-body".into();
    call.limits = Limits { time: Duration::from_secs(5), answer_bytes: 3 };
    call
}

async fn failed(outgoing: &Outgoing, call: Call) {
    let error = soon(outgoing.send(call)).await.unwrap_err();
    for text in [format!("{error}"), format!("{error:?}"), format!("{error:#?}")] {
        assert!(!text.contains("hidden"), "{text}");
    }
}

#[tokio::test]
async fn errors_are_silent_about_the_request() {
    let outgoing = local().await;
    let echo = "HTTP/1.1 hidden-header\r\n\r\n";
    let long = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhidden-body";
    let part = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nhi";
    for answer in [echo, long, part] {
        failed(&outgoing, with_secrets(&format!("http://{}", answering(answer).await))).await;
    }
    for origin in
        ["http://127.0.0.1:1", "http://nothing.invalid", "ftp://a.org", "http://u:hidden@a.org", "http://a.org:0"]
    {
        failed(&outgoing, with_secrets(origin)).await;
    }
    failed(&Outgoing::new(Settings::default()).await.unwrap(), with_secrets("http://localhost")).await;
}

#[tokio::test]
async fn errors_of_tls_and_time_are_silent_too() {
    let outgoing = local().await;
    let acceptor = Issuer::new("another").server_for("localhost");
    let untrusted = serve(move |stream| {
        let acceptor = acceptor.clone();
        async move { drop(acceptor.accept(stream).await) }
    })
    .await;
    failed(&outgoing, with_secrets(&format!("https://localhost:{}", untrusted.port()))).await;
    let silent = serve(|mut stream| async move { drop(stream.read_to_end(&mut Vec::new()).await) }).await;
    let mut call = with_secrets(&format!("http://{silent}"));
    call.limits.time = Duration::from_millis(100);
    failed(&outgoing, call).await;
}
