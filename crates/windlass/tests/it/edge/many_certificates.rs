//! An edge with as many certificates as it takes: each name has its own, one is replaced while visitors come, and an edge that is started
//! again has them all.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinSet;
use tokio_rustls::rustls::version::TLS13;
use windlass_edge::routes::{Certificate, RouteSet};

use super::app::App;
use super::authority::{Authority, handshake};
use super::support::{Home, everything_to};

/// What an edge takes.
const MOST: usize = 10_000;

fn name(number: usize) -> String {
    format!("shop-{number}.example.org")
}

async fn shown(authority: &Authority, edge: std::net::SocketAddr, name: &str) -> std::io::Result<Vec<u8>> {
    let stream = handshake(edge, name, authority.client(&["http/1.1"], &TLS13)).await?;
    Ok(stream.get_ref().1.peer_certificates().expect("a certificate")[0].to_vec())
}

/// Comes anew again and again, by one name after another. How often, and what went wrong.
async fn come(authority: Arc<Authority>, edge: std::net::SocketAddr, stop: Arc<AtomicBool>) -> (usize, Vec<String>) {
    let (mut visits, mut failed) = (0, Vec::new());
    while !stop.load(Ordering::SeqCst) {
        match shown(&authority, edge, &name(visits % 100)).await {
            Ok(_) => visits += 1,
            Err(error) => failed.push(error.to_string()),
        }
    }
    (visits, failed)
}

async fn serves_many(count: usize) {
    let (home, app, authority) = (Home::new(), App::start("app").await, Arc::new(Authority::new()));
    let mut first = home.edge().await;
    let mut certificates: Vec<Arc<Certificate>> =
        (0..count).map(|number| authority.issue(&format!("shop-{number}"), &[&name(number)])).collect();
    let table = |certificates: &[Arc<Certificate>]| {
        RouteSet { certificates: certificates.to_vec(), ..everything_to(app.address) }.with_version()
    };
    home.control().await.apply(table(&certificates)).await.unwrap();
    let edge = home.hello().await.listening_https[0];
    let mut seen = std::collections::HashSet::new();
    for number in [0, 1, count / 2, count - 1] {
        assert!(
            seen.insert(shown(&authority, edge, &name(number)).await.unwrap()),
            "{number} has another's certificate"
        );
    }

    let (stop, mut visitors) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
    for _ in 0..4 {
        visitors.spawn(come(authority.clone(), edge, stop.clone()));
    }
    let before = shown(&authority, edge, &name(7)).await.unwrap();
    certificates[7] = authority.issue("shop-7-renewed", &[&name(7)]);
    home.control().await.apply(table(&certificates)).await.unwrap();
    let after = shown(&authority, edge, &name(7)).await.unwrap();
    assert_ne!(before, after, "the new one is not served");
    stop.store(true, Ordering::SeqCst);
    for (visits, failed) in visitors.join_all().await {
        assert!(visits > 0 && failed.is_empty(), "{visits} visits, failed: {failed:?}");
    }

    // From the file: no server tells it.
    first.signal(rustix::process::Signal::KILL);
    first.was_killed().await;
    let second = home.edge().await;
    let edge = home.answers_as(second.pid()).await.listening_https[0];
    assert_eq!(shown(&authority, edge, &name(7)).await.unwrap(), after);
    assert!(shown(&authority, edge, &name(count - 1)).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edge_serves_hundreds_of_certificates() {
    serves_many(300).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn an_edge_serves_as_many_certificates_as_it_takes() {
    serves_many(MOST).await;
}
