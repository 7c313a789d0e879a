//! Encrypted visitors of an application, from the upload of its certificate to the removal.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::json;
use tokio_rustls::rustls::version::TLS13;
use windlass_edge::control::client::Client;
use windlass_edge::routes::Certificate;

use super::support::*;
use crate::edge::authority::{Authority, handshake, pem};

const NAME: &str = "shop.example.org";

async fn encrypted_edge(platform: &Platform) -> SocketAddr {
    let mut client = Client::connect(&platform.data_dir()).await.unwrap();
    client.hello().await.unwrap().listening_https[0]
}

pub(super) fn upload(platform: &Platform, certificate: &Certificate) -> String {
    // As people copy it: with a description, the key in the same file, and the parameters of the curve.
    let key = certificate.key_pem.pem();
    let curve = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    let chain = format!("subject=\tCN = Käse\n{key}{} \nend\n", certificate.chain_pem);
    let body = json!({ "certificate_chain": chain, "private_key": format!("{curve}{key}") });
    id_of(&platform.call("POST", "/certificates", &body))
}

/// The certificate that a visitor is shown, in PEM.
async fn shown(authority: &Authority, edge: SocketAddr) -> Option<String> {
    let stream = handshake(edge, NAME, authority.client(&["http/1.1"], &TLS13)).await.ok()?;
    Some(pem("CERTIFICATE", stream.get_ref().1.peer_certificates()?.first()?))
}

/// Comes again and again, each time with a handshake. What was lost, in words.
async fn come(
    authority: Arc<Authority>,
    edge: SocketAddr,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
) -> Vec<String> {
    let mut lost = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        match authority.visit(edge, NAME).await {
            Err(error) => lost.push(format!("a handshake: {error}")),
            Ok(mut visitor) => match visitor.get(NAME, "/").await {
                Ok(answer) if answer.status == 200 => drop(done.fetch_add(1, Ordering::SeqCst)),
                Ok(answer) => lost.push(format!("{} {}", answer.status, answer.body)),
                Err(error) => lost.push(format!("{error:?}")),
            },
        }
    }
    lost
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_served_until_it_is_removed() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "shop", "one");
    let mut shop = body("shop", &repository);
    shop["domain"] = json!(NAME);
    platform.deployed(&newest_deployment(&platform.deploy(&shop))).await;
    assert_eq!(platform.visit(NAME, "/").await, (200, "one".into()));
    let (edge, authority) = (encrypted_edge(&platform).await, Arc::new(Authority::new()));
    assert!(authority.visit(edge, NAME).await.is_err(), "there is no certificate yet");

    let mut uploaded = vec![upload(&platform, &authority.issue("first", &[NAME]))];
    let mut visitor = until("visitors come encrypted", async || authority.visit(edge, NAME).await.ok()).await;
    let answer = visitor.get(NAME, "/").await.unwrap();
    assert_eq!((answer.status, answer.body.as_str()), (200, "one"));
    assert_eq!(answer.headers["strict-transport-security"], "max-age=2592000");
    assert_eq!(platform.visit(NAME, "/").await.0, 308, "visitors over http are sent to https");

    // Replaced under visitors, of whom each trusts the old and the new one.
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let coming = tokio::spawn(come(authority.clone(), edge, stop.clone(), done.clone()));
    for round in 0..5 {
        let next = authority.issue(&round.to_string(), &[NAME, "*.example.org"]);
        uploaded.push(upload(&platform, &next));
        until("the next certificate is shown", async || {
            (shown(&authority, edge).await.as_deref() == Some(next.chain_pem.as_str())).then_some(())
        })
        .await;
    }
    let before = done.load(Ordering::SeqCst);
    platform.kill_server();
    platform.start_server(None);
    until("visitors came", async || (done.load(Ordering::SeqCst) > before + 20).then_some(())).await;
    stop.store(true, Ordering::SeqCst);
    assert_eq!(coming.await.unwrap(), Vec::<String>::new());

    for id in uploaded {
        platform.call("DELETE", &format!("/certificates/{id}"), &json!(null));
    }
    until("visitors come over http again", async || (platform.visit(NAME, "/").await.0 == 200).then_some(())).await;
    assert!(authority.visit(edge, NAME).await.is_err(), "the certificate is gone");
}
