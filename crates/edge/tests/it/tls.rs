//! Encrypted visitors.

mod authority;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::rustls::HandshakeKind;
use tokio_rustls::rustls::version::{TLS12, TLS13};
use windlass_edge::Settings;
use windlass_edge::routes::{
    Certificate, Challenge, HttpsPolicy, PrivateKey, RedirectSpec, Route, RouteSet, Serves, ServiceSpec,
};

use self::authority::{Authority, Credulous, SecuredVisitor, handshake};
use crate::app::App;
use crate::support::{DEADLINE, TestEdge, everything_to, get, read_all, settings, until};

/// Everything goes to the application, over https with these certificates.
fn secured(app: &App, certificates: &[Arc<Certificate>]) -> RouteSet {
    RouteSet { certificates: certificates.to_vec(), ..everything_to(&[app.address]) }.with_version()
}

#[tokio::test]
async fn visitors_are_served_over_both_versions_of_both_protocols() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    edge.apply(secured(&app, &[authority.issue("one", &["shop.example.org", "*.example.org"])])).await;
    for version in [&TLS12, &TLS13] {
        for (protocols, expected) in [(&["http/1.1"][..], "1.1"), (&["h2", "http/1.1"], "2"), (&[], "1.1")] {
            let config = authority.client(protocols, version);
            let mut visitor = SecuredVisitor::connect(edge.https, "shop.example.org", config).await.unwrap();
            assert_eq!(matches!(visitor, SecuredVisitor::Http2(_)), expected == "2");
            let answer = visitor.get("shop.example.org", "/headers").await.unwrap();
            assert_eq!(answer.status, 200);
            assert!(answer.body.contains("x-forwarded-proto: https"), "{}", answer.body);
            assert!(answer.body.contains("proto=https"), "{}", answer.body);
            let large = Bytes::from(vec![b'x'; 3 << 20]);
            let answer = visitor.post("shop.example.org", "/echo", large.clone()).await.unwrap();
            assert_eq!((answer.status, answer.body.len()), (200, large.len()));
            // Longer than a connection stays at work without a request.
            tokio::time::sleep(Duration::from_millis(250)).await;
            assert_eq!(visitor.get("shop.example.org", "/").await.unwrap().body, "app");
        }
    }
}

#[tokio::test]
async fn a_name_of_its_own_goes_before_all_names_beside_it() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    let (own, beside) = (authority.issue("own", &["shop.example.org"]), authority.issue("beside", &["*.example.org"]));
    edge.apply(secured(&app, &[beside.clone(), own.clone()])).await;
    for (name, expected) in [("shop.example.org", &own), ("SHOP.example.org", &own), ("blog.example.org", &beside)] {
        let stream = handshake(edge.https, name, authority.client(&[], &TLS13)).await.unwrap();
        let shown = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
        assert_eq!(shown, der(expected), "{name}");
    }
    for name in ["example.org", "a.shop.example.org", "other.test"] {
        let refused = handshake(edge.https, name, authority.client(&[], &TLS13)).await.unwrap_err();
        assert!(refused.to_string().contains("alert"), "{name}: {refused}");
    }
    // Without a name, as with an address.
    let refused = handshake(edge.https, "127.0.0.1", authority.client(&[], &TLS13)).await.unwrap_err();
    assert!(refused.to_string().contains("alert"), "{refused}");
}

#[tokio::test]
async fn what_cannot_be_used_is_refused_before_it_is_served() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    let (good, other) =
        (authority.issue("shop", &["shop.example.org"]), authority.issue("other", &["other.example.org"]));
    edge.apply(secured(&app, std::slice::from_ref(&good))).await;
    let garbage = |pem: &str| {
        pem.lines()
            .map(|line| if line.starts_with('-') { line } else { "AAAA" })
            .fold(String::new(), |text, line| text + line + "\n")
    };
    let encrypted = good.key_pem.pem().replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    for (wrong, problem) in [
        (Certificate { key_pem: other.key_pem.clone(), ..(*good).clone() }, "certificates[0].key_pem: is not the key"),
        (Certificate { key_pem: PrivateKey::new(encrypted), ..(*good).clone() }, "certificates[0].key_pem: "),
        (
            Certificate { key_pem: PrivateKey::new(garbage(good.key_pem.pem())), ..(*good).clone() },
            "certificates[0].key_pem: ",
        ),
        (Certificate { chain_pem: garbage(&good.chain_pem), ..(*good).clone() }, "certificates[0].chain_pem: "),
    ] {
        let refused = edge.control().await.apply(secured(&app, &[Arc::new(wrong)])).await.unwrap_err().to_string();
        assert!(refused.contains(problem), "{refused}");
        let lines: Vec<&str> = good.key_pem.pem().lines().collect();
        assert!(!refused.contains(lines[1]), "a key is shown");
    }
    authority.visit(edge.https, "shop.example.org").await.unwrap();
}

/// What is inside of a PEM.
fn der(certificate: &Certificate) -> Vec<u8> {
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    CertificateDer::from_pem_slice(certificate.chain_pem.as_bytes()).unwrap().to_vec()
}

#[tokio::test]
async fn a_request_for_a_host_of_another_certificate_is_misdirected() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    let shop = authority.issue("shop", &["shop.example.org", "*.shops.example.org"]);
    edge.apply(secured(&app, &[shop, authority.issue("bank", &["bank.example.org"])])).await;
    for is_http2 in [false, true] {
        let connect = async || match is_http2 {
            false => authority.visit(edge.https, "shop.example.org").await.unwrap(),
            true => authority.visit_http2(edge.https, "shop.example.org").await.unwrap(),
        };
        for (host, status) in [
            ("shop.example.org", 200),
            ("one.shops.example.org", 200),
            ("bank.example.org", 421),
            ("shops.example.org", 421),
            ("deep.one.shops.example.org", 421),
        ] {
            assert_eq!(connect().await.get(host, "/").await.unwrap().status, status, "{host}");
        }
    }
    assert_eq!(app.requests(), 4);
}

#[tokio::test]
async fn a_certificate_is_replaced_without_a_failed_handshake() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    let certificates = [0, 1].map(|number| authority.issue(&format!("shop-{number}"), &["shop.example.org"]));
    edge.apply(secured(&app, &certificates[..1])).await;
    let is_over = AtomicBool::new(false);
    let visit = async || {
        let mut visits = 0;
        while !is_over.load(Ordering::Relaxed) {
            let mut visitor = authority.visit(edge.https, "shop.example.org").await.unwrap();
            assert_eq!(visitor.get("shop.example.org", "/").await.unwrap().status, 200);
            visits += 1;
        }
        visits
    };
    let change = async {
        for round in 0..100 {
            edge.apply(secured(&app, &certificates[round % 2..=round % 2])).await;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        is_over.store(true, Ordering::Relaxed);
    };
    let (one, other, ()) = tokio::join!(visit(), visit(), change);
    assert!(one + other > 20, "{one} and {other} visits");
    let stream = handshake(edge.https, "shop.example.org", authority.client(&[], &TLS13)).await.unwrap();
    assert_eq!(stream.get_ref().1.peer_certificates().unwrap()[0].to_vec(), der(&certificates[1]));
}

#[tokio::test]
async fn visitors_who_come_again_skip_the_expensive_part() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    edge.apply(secured(&app, &[authority.issue("shop", &["shop.example.org"])])).await;
    for version in [&TLS12, &TLS13] {
        let config = authority.client(&["http/1.1"], version);
        let mut kinds = Vec::new();
        for _ in 0..2 {
            let mut stream = handshake(edge.https, "shop.example.org", config.clone()).await.unwrap();
            kinds.push(stream.get_ref().1.handshake_kind());
            // The ticket of TLS 1.3 comes with the first bytes of an answer.
            stream.write_all(b"GET / HTTP/1.1\r\nhost: shop.example.org\r\nconnection: close\r\n\r\n").await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
        }
        assert_eq!(kinds, [Some(HandshakeKind::Full), Some(HandshakeKind::Resumed)], "{version:?}");
    }
}

#[tokio::test]
async fn an_upgrade_works_over_tls() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    edge.apply(secured(&app, &[authority.issue("shop", &["shop.example.org"])])).await;
    let mut stream = handshake(edge.https, "shop.example.org", authority.client(&[], &TLS13)).await.unwrap();
    let ask = "GET /socket HTTP/1.1\r\nhost: shop.example.org\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    stream.write_all(b"hello").await.unwrap();
    let mut heard = [0; 5];
    stream.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"hello");
}

#[tokio::test]
async fn http_leads_to_https_where_the_route_says_so() {
    let settings = Settings { trusted_proxies: vec!["127.0.0.2".parse().unwrap()], ..settings() };
    let (app, edge, authority) = (App::start("app").await, TestEdge::with(settings).await, Authority::new());
    let mut routes = secured(&app, &[authority.issue("shop", &["shop.example.org"])]);
    let https = HttpsPolicy { redirect: true, hsts_seconds: 3600 };
    routes.routes.push(Route { https, ..Route::new("shop.example.org", "app") });
    let away = Serves::Redirect(RedirectSpec { host: "shop.example.org".into(), permanent: true });
    routes.services.push(ServiceSpec { name: "away".into(), serves: away, access_log: false, access: None });
    routes.routes.push(Route::new("www.example.org", "away"));
    edge.apply(routes.with_version()).await;

    let port = edge.https.port();
    let answer = edge.raw(ask("shop.example.org", "/a%20b?c=d", "")).await;
    assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
    assert!(answer.contains(&format!("location: https://shop.example.org:{port}/a%20b?c=d\r\n")), "{answer}");
    assert!(!answer.contains("strict-transport-security"), "{answer}");

    let mut visitor = authority.visit(edge.https, "shop.example.org").await.unwrap();
    let answer = visitor.get("shop.example.org", "/").await.unwrap();
    assert_eq!((answer.status, &answer.headers["strict-transport-security"]), (200, &"max-age=3600".parse().unwrap()));

    // Others are left alone, and what a stranger says of itself is not believed.
    assert!(edge.raw(ask("blog.example.org", "/", "")).await.starts_with("HTTP/1.1 200"));
    let claim = "x-forwarded-proto: https\r\n";
    assert!(edge.raw(ask("shop.example.org", "/", claim)).await.starts_with("HTTP/1.1 308"));
    for claim in [claim, "x-forwarded-proto: HTTPS, http\r\n"] {
        let answer = through_proxy(&edge, &ask("shop.example.org", "/", claim)).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(answer.contains("strict-transport-security: max-age=3600"), "{answer}");
    }
    let answer = through_proxy(&edge, &ask("shop.example.org", "/", "x-forwarded-proto: http\r\n")).await;
    assert!(answer.contains("location: https://shop.example.org/\r\n"), "{answer}");

    let answer = edge.raw(ask("www.example.org:8080", "/x?y", "")).await;
    assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
    assert!(answer.contains("location: http://shop.example.org:8080/x?y\r\n"), "{answer}");
}

/// From an address that is believed.
async fn through_proxy(edge: &TestEdge, request: &str) -> String {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut proxy = socket.connect(edge.address).await.unwrap();
    proxy.write_all(request.as_bytes()).await.unwrap();
    read_all(&mut proxy).await
}

fn ask(host: &str, path: &str, header: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n{header}connection: close\r\n\r\n")
}

#[tokio::test]
async fn challenges_are_answered_before_any_route() {
    let (app, edge, authority) = (App::start("app").await, TestEdge::start().await, Authority::new());
    // No certificate: visitors are not sent to where there is nothing.
    let mut routes = everything_to(&[app.address]);
    routes.routes[0].https.redirect = true;
    let challenge = |host: &str| Challenge {
        host: host.into(),
        token: "to-ken".into(),
        key_authorization: "to-ken.thumb-print".into(),
    };
    routes.challenges = vec![challenge("shop.example.org")];
    routes.proofs = vec![authority.proof("shop.example.org", &[7; 32])];
    edge.apply(routes.with_version()).await;

    let path = "/.well-known/acme-challenge/to-ken";
    let answer = edge.raw(ask("Shop.example.org:80", path, "")).await;
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("\r\n\r\nto-ken.thumb-print"), "{answer}");
    for (host, path) in [("other.example.org", path), ("shop.example.org", "/.well-known/acme-challenge/other")] {
        assert!(edge.raw(ask(host, path, "")).await.ends_with("\r\n\r\napp"), "{host}{path}");
    }
    assert_eq!(app.requests(), 2);

    let mut config = authority.client(&["acme-tls/1"], &TLS13);
    config.dangerous().set_certificate_verifier(Arc::new(Credulous));
    let stream = handshake(edge.https, "shop.example.org", config.clone()).await.unwrap();
    let (_, connection) = stream.get_ref();
    assert_eq!(connection.alpn_protocol(), Some(&b"acme-tls/1"[..]));
    let shown = connection.peer_certificates().unwrap()[0].to_vec();
    assert!(shown.windows(32).any(|part| part == [7; 32]));
    // No visitor is shown it, and there is none for others.
    assert!(handshake(edge.https, "shop.example.org", authority.client(&["http/1.1"], &TLS13)).await.is_err());
    assert!(handshake(edge.https, "other.example.org", config).await.is_err());
}

#[tokio::test]
async fn silence_and_nonsense_end_and_hold_up_no_other_visitor() {
    let settings = Settings { head_limit: Duration::from_millis(300), threads: 1, ..settings() };
    let (app, edge, authority) = (App::start("app").await, TestEdge::with(settings).await, Authority::new());
    edge.apply(secured(&app, &[authority.issue("shop", &["shop.example.org"])])).await;
    let mut silent = TcpStream::connect(edge.https).await.unwrap();
    let mut plain = TcpStream::connect(edge.https).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nhost: shop.example.org\r\n\r\n").await.unwrap();
    // The beginning of a hello that is to be 16 kB long.
    let mut endless = TcpStream::connect(edge.https).await.unwrap();
    endless.write_all(&[22, 3, 1, 0x40, 0, 1, 0, 0x3f, 0xfc, 3, 3]).await.unwrap();
    let mut visitor = authority.visit(edge.https, "shop.example.org").await.unwrap();
    assert_eq!(visitor.get("shop.example.org", "/").await.unwrap().status, 200);
    for stream in [&mut silent, &mut plain, &mut endless] {
        let mut answer = Vec::new();
        let ended = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut answer)).await;
        assert!(ended.is_ok(), "the edge waits");
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    }
    until("only the visitor is left", async || (edge.stats().await.open_connections == 1).then_some(())).await;
}

#[tokio::test]
async fn an_address_that_asks_for_many_handshakes_waits() {
    let settings = Settings { address_handshakes: 2, head_limit: Duration::from_secs(1), ..settings() };
    let (app, edge, authority) = (App::start("app").await, TestEdge::with(settings).await, Authority::new());
    edge.apply(secured(&app, &[authority.issue("shop", &["shop.example.org"])])).await;
    // Eight at once are free; the next two come in time, and no more.
    let visits = (0..20).map(|_| authority.visit(edge.https, "shop.example.org"));
    let served = futures_of(visits).await.into_iter().filter(Result::is_ok).count();
    assert!((8..=11).contains(&served), "{served}");
    // Plain visitors are not concerned.
    assert_eq!(edge.visitor().await.send(get("/")).await.unwrap().status(), 200);
}

async fn futures_of<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = all.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        pending.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(value) => {
                done.push(value);
                false
            }
            std::task::Poll::Pending => true,
        });
        if pending.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done
}
