//! One edge after another, with encrypted visitors.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use tokio_rustls::rustls::client::ClientConfig;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{HandshakeKind, SupportedProtocolVersion};
use windlass_edge::routes::RouteSet;

use super::app::App;
use super::authority::{Authority, SecuredVisitor, handshake};
use super::support::{Home, everything_to, until};

const NAME: &str = "shop.example.org";

/// What became of the visitors of one kind.
#[derive(Default)]
struct Progress {
    stop: AtomicBool,
    done: [AtomicUsize; 3],
}

/// Comes again on the same connection for as long as it lasts. Whether it was told to go or was refused, only a request that was
/// sent and not answered is lost.
async fn stay(edge: SocketAddr, config: ClientConfig, progress: Arc<Progress>, kind: usize) -> Vec<String> {
    let mut lost = Vec::new();
    'connections: while !progress.stop.load(Ordering::SeqCst) {
        let mut visitor = match SecuredVisitor::connect(edge, NAME, config.clone()).await {
            Ok(visitor) => visitor,
            Err(error) => {
                lost.push(format!("a handshake: {error}"));
                continue;
            }
        };
        while !progress.stop.load(Ordering::SeqCst) {
            match visitor.get(NAME, "/slow").await {
                Ok(answer) if answer.status == 200 && answer.body == "app" => {
                    progress.done[kind].fetch_add(1, Ordering::SeqCst);
                    if answer.headers.get("connection").is_some_and(|value| value == "close") {
                        continue 'connections;
                    }
                }
                Ok(answer) => lost.push(format!("{} {}", answer.status, answer.body)),
                // It was never sent: the edge had said that it goes.
                Err(error) if was_never_seen(&error) => continue 'connections,
                Err(error) => lost.push(format!("kind {kind}: {error:?}")),
            }
        }
    }
    lost
}

/// Whether the request was not sent, or came after the last one that the edge has said it answers: a client sends it again.
fn was_never_seen(error: &hyper::Error) -> bool {
    error.is_canceled() || error.is_closed() || format!("{error:?}").contains("GoAway(b\"\", NO_ERROR, Remote)")
}

/// Comes on a new connection each time.
async fn come_anew(edge: SocketAddr, config: ClientConfig, progress: Arc<Progress>) -> Vec<String> {
    let mut lost = Vec::new();
    while !progress.stop.load(Ordering::SeqCst) {
        match visit(edge, config.clone()).await {
            Ok(_) => drop(progress.done[2].fetch_add(1, Ordering::SeqCst)),
            Err(error) => lost.push(error.to_string()),
        }
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
    lost
}

/// One request on a connection of its own, and how its handshake was.
async fn visit(edge: SocketAddr, config: ClientConfig) -> std::io::Result<Option<HandshakeKind>> {
    let mut stream = handshake(edge, NAME, config).await?;
    let kind = stream.get_ref().1.handshake_kind();
    let request = format!("GET / HTTP/1.1\r\nhost: {NAME}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    match answer.starts_with("HTTP/1.1 200") && answer.ends_with("app") {
        true => Ok(kind),
        false => Err(std::io::Error::other(answer)),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hand_overs_lose_no_encrypted_visitor() {
    let (home, app, authority) = (Home::new(), App::start("app").await, Authority::new());
    let mut current = home.edge().await;
    let certificates = vec![authority.issue("shop", &[NAME])];
    let routes = RouteSet { certificates, ..everything_to(app.address) }.with_version();
    home.control().await.apply(routes).await.unwrap();
    let edge = home.hello().await.listening_https[0];
    let client = |protocols: &[&str], version: &'static SupportedProtocolVersion| authority.client(protocols, version);

    let (progress, mut visitors) = (Arc::new(Progress::default()), JoinSet::new());
    for _ in 0..3 {
        visitors.spawn(stay(edge, client(&["http/1.1"], &TLS13), progress.clone(), 0));
        visitors.spawn(stay(edge, client(&["h2"], &TLS13), progress.clone(), 1));
        visitors.spawn(come_anew(edge, client(&["http/1.1"], &TLS12), progress.clone()));
    }
    let again = client(&["http/1.1"], &TLS13);
    assert_eq!(visit(edge, again.clone()).await.unwrap(), Some(HandshakeKind::Full));
    let mut before = Vec::new();
    for _ in 0..5 {
        let next = home.hand_over(&mut current).await;
        before.push(std::mem::replace(&mut current, next));
        let counts = || progress.done.each_ref().map(|done| done.load(Ordering::SeqCst));
        let earlier = counts();
        until("visitors of all kinds are served", async || {
            counts().iter().zip(earlier).all(|(now, earlier)| *now > earlier + 3).then_some(())
        })
        .await;
        // The ticket is the process's before.
        assert_eq!(visit(edge, again.clone()).await.unwrap(), Some(HandshakeKind::Resumed));
    }
    progress.stop.store(true, Ordering::SeqCst);
    let lost: Vec<String> = visitors.join_all().await.concat();
    assert!(lost.is_empty(), "{lost:?}");
    for edge in &mut before {
        assert!(edge.ended().await.success(), "{}", edge.log());
    }
}
