//! Calls over TLS.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsAcceptor;
use windlass_outgoing::{Answer, CallError, Outgoing, Settings};

use crate::certificates::Issuer;
use crate::support::{answering, get, local, read_head, serve, soon};

/// A server that answers `ok` over TLS.
async fn secured(acceptor: TlsAcceptor) -> SocketAddr {
    serve(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let mut stream = match acceptor.accept(stream).into_fallible().await {
                Ok(stream) => stream,
                // To close at once could take back what the caller has not read yet: why it is refused.
                Err((_, mut stream)) => return drop(stream.read_to_end(&mut Vec::new()).await),
            };
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
            read_head(&mut stream).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        }
    })
    .await
}

async fn trusting(issuer: &Issuer) -> Outgoing {
    let file = issuer.file();
    Outgoing::new(Settings { allow_private: true, extra_roots: Some(file.path().to_owned()) }).await.unwrap()
}

async fn call(outgoing: &Outgoing, host: &str, address: SocketAddr) -> Result<Answer, CallError> {
    soon(outgoing.send(get(&format!("https://{host}:{}/", address.port())))).await
}

/// What TLS has against a connection, in the words that a person reads.
async fn complaint(outgoing: &Outgoing, host: &str, acceptor: TlsAcceptor) -> String {
    let error = call(outgoing, host, secured(acceptor).await).await.unwrap_err();
    assert!(matches!(error, CallError::TlsFailed { .. }), "{error:?}");
    assert!(!error.is_temporary());
    error.to_string()
}

#[tokio::test]
async fn a_certificate_of_a_root_from_the_file_is_trusted() {
    let issuer = Issuer::new("ours");
    let outgoing = trusting(&issuer).await;
    for host in ["localhost", "127.0.0.1"] {
        let address = secured(issuer.server_for(host)).await;
        assert_eq!(call(&outgoing, host, address).await.unwrap().body, "ok", "{host}");
    }
}

#[tokio::test]
async fn a_certificate_that_is_not_right_is_refused_with_the_reason() {
    let issuer = Issuer::new("ours");
    let outgoing = trusting(&issuer).await;
    let begin = "The connection to localhost cannot be secured: its certificate";
    let stranger = Issuer::new("another").server_for("localhost");
    let expected = format!("{begin} is not from an issuer that this machine trusts.");
    assert_eq!(complaint(&outgoing, "localhost", stranger).await, expected);
    let other_name = issuer.server_for("example.org");
    assert_eq!(complaint(&outgoing, "localhost", other_name).await, format!("{begin} is for another name."));
    let expired = issuer.expired_server_for("localhost");
    assert_eq!(complaint(&outgoing, "localhost", expired).await, format!("{begin} has expired."));
}

#[tokio::test]
async fn the_machines_own_roots_do_not_trust_a_stranger() {
    let address = secured(Issuer::new("ours").server_for("localhost")).await;
    let error = call(&local().await, "localhost", address).await.unwrap_err();
    assert!(matches!(error, CallError::TlsFailed { .. } | CallError::NoRoots), "{error:?}");
}

#[tokio::test]
async fn a_server_that_wants_a_certificate_of_the_caller() {
    let issuer = Issuer::new("ours");
    let outgoing = trusting(&issuer).await;
    let words = complaint(&outgoing, "localhost", issuer.strict_server_for("localhost")).await;
    assert!(words.contains("it refused the connection (CertificateRequired)"), "{words}");
}

#[tokio::test]
async fn a_server_without_tls() {
    let address = serve(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await;
    let error = call(&trusting(&Issuer::new("ours")).await, "localhost", address).await.unwrap_err();
    assert_eq!(error.to_string(), "The connection to localhost cannot be secured: it does not answer in TLS.");
}

/// Without the end that TLS marks, what came may be a part only.
#[tokio::test]
async fn an_answer_that_is_cut_off_is_no_answer() {
    let issuer = Issuer::new("ours");
    let outgoing = trusting(&issuer).await;
    for is_marked in [true, false] {
        let acceptor = issuer.server_for("localhost");
        let address = serve(move |stream| {
            let acceptor = acceptor.clone();
            async move {
                let mut stream = acceptor.accept(stream).await.unwrap();
                read_head(&mut stream).await;
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nok").await.unwrap();
                stream.flush().await.unwrap();
                if is_marked {
                    stream.shutdown().await.unwrap();
                }
            }
        })
        .await;
        match call(&outgoing, "localhost", address).await {
            Ok(answer) => assert!(is_marked && answer.body == "ok"),
            Err(error) => {
                assert_eq!((is_marked, error), (false, CallError::ClosedEarly { host: "localhost".to_owned() }));
            }
        }
    }
}

#[tokio::test]
async fn a_file_of_roots_that_cannot_be_read_is_told_at_once() {
    let settings = Settings { allow_private: true, extra_roots: Some("/nonexistent/roots.pem".into()) };
    let error = Outgoing::new(settings).await.err().unwrap();
    assert!(
        error.to_string().starts_with("The root certificates in /nonexistent/roots.pem cannot be used: "),
        "{error}"
    );
}

#[tokio::test]
async fn http_is_not_turned_into_https() {
    let address =
        answering("HTTP/1.1 200 OK\r\nstrict-transport-security: max-age=99\r\ncontent-length: 2\r\n\r\nok").await;
    let outgoing = local().await;
    for _ in 0..2 {
        assert_eq!(soon(outgoing.send(get(&format!("http://{address}/")))).await.unwrap().body, "ok");
    }
}
