//! Where calls may go.

use tokio::net::TcpListener;
use windlass_outgoing::{CallError, Outgoing, Settings};

use crate::support::{assert_untouched, get, soon};

#[tokio::test]
async fn private_addresses_are_refused_in_every_disguise() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let outgoing = Outgoing::new(Settings::default()).await.unwrap();
    let hosts = [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "0x7f.1",
        "0x7f000001",
        "017700000001",
        "2130706433",
        "１２７.0.0.1",
        "%31%32%37.0.0.1",
        "0",
        "169.254.169.254",
        "10.0.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fd00::1]",
        "localhost",
        "LocalHost",
    ];
    for host in hosts {
        for scheme in ["http", "https"] {
            let call = get(&format!("{scheme}://{host}:{port}/"));
            let error = soon(outgoing.send(call)).await.unwrap_err();
            assert!(matches!(error, CallError::PrivateAddress { .. }), "{host}: {error:?}");
            assert!(!error.is_temporary());
        }
    }
    assert_untouched(&listener).await;
}

#[tokio::test]
async fn a_refusal_names_the_host_and_not_the_address() {
    let outgoing = Outgoing::new(Settings::default()).await.unwrap();
    let error = soon(outgoing.send(get("http://localhost/"))).await.unwrap_err();
    assert_eq!(error.to_string(), "The host localhost leads to a private address.");
}

/// Whether the name's servers can be asked depends on the machine.
#[tokio::test]
async fn a_name_that_does_not_exist() {
    let outgoing = Outgoing::new(Settings::default()).await.unwrap();
    let host = "nothing.invalid".to_owned();
    let error = soon(outgoing.send(get("http://nothing.invalid/"))).await.unwrap_err();
    assert!(
        [CallError::NameNotFound { host: host.clone() }, CallError::LookupFailed { host }].contains(&error),
        "{error:?}"
    );
}

#[tokio::test]
async fn addresses_that_cannot_be_called() {
    let outgoing = Outgoing::new(Settings::default()).await.unwrap();
    for url in ["ftp://example.org/", "http://me:secret@example.org/", "http://example.org:0/"] {
        let error = soon(outgoing.send(get(url))).await.unwrap_err();
        assert!(matches!(error, CallError::BadUrl { .. }), "{url}: {error:?}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
