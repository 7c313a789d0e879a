//! Tables with certificates, and processes that can read only those without.

use std::io::{BufRead, BufReader, IoSlice, Lines, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde_json::{Value, json};
use windlass_durable::lock;
use windlass_edge::control;
use windlass_edge::routes::{
    Certificate, Challenge, FIRST_VERSION, HoldSpec, NEWEST_VERSION, PrivateKey, RouteSet, Serves,
};

use super::app::App;
use super::authority::Authority;
use super::load::Visitor;
use super::successor::receive_line;
use super::support::{DEADLINE, Home, everything_to, until};
use crate::process::{run, windlass};

/// The same in all tables, so that they can be compared.
static CERTIFICATE: LazyLock<Arc<Certificate>> =
    LazyLock::new(|| Authority::new().issue("shop", &["shop.example.org"]));

/// What of the private key would be found wherever it is shown.
fn secret() -> &'static str {
    CERTIFICATE.key_pem.pem().lines().nth(1).unwrap()
}

/// Everything goes to this target, and there is one certificate and one challenge.
fn secured(target: SocketAddr) -> RouteSet {
    let challenge = Challenge {
        host: "shop.example.org".into(),
        token: "token".into(),
        key_authorization: "token.thumbprint".into(),
    };
    RouteSet {
        version: NEWEST_VERSION,
        certificates: vec![CERTIFICATE.clone()],
        challenges: vec![challenge],
        ..everything_to(target)
    }
}

/// All requests wait.
#[expect(clippy::disallowed_methods, reason = "the edge has the machine's clock")]
fn held(limit: Duration) -> RouteSet {
    let until = SystemTime::now().duration_since(UNIX_EPOCH).unwrap() + limit;
    let hold = HoldSpec { most_waiting: 10, until_ms: until.as_millis() as u64 };
    let mut table = everything_to("127.0.0.1:9".parse().unwrap());
    table.services[0].serves = Serves::Held(hold);
    table.with_version()
}

fn saved(home: &Home) -> RouteSet {
    serde_json::from_slice(&std::fs::read(home.route_file()).unwrap()).unwrap()
}

/// What the running process gives to one that asks to take over in these words, and then vanishes.
fn inventory(home: &Home, take_over: &Value) -> Value {
    let mut stream = UnixStream::connect(control::socket(home.path())).unwrap();
    writeln!(stream, "{}", json!({"version": 1, "take_over": take_over})).unwrap();
    let line: Value = serde_json::from_str(&receive_line(&stream).0).unwrap();
    line["ok"].clone()
}

async fn get(home: &Home) -> (u16, String) {
    Visitor::new(home.address().await).get("/").await.unwrap()
}

#[tokio::test]
async fn certificates_are_saved_handed_over_and_never_shown() {
    let (home, app) = (Home::new(), App::start("app").await);
    let mut first = home.edge().await;
    let table = secured(app.address);
    home.control().await.apply(table.clone()).await.unwrap();
    assert_eq!(saved(&home), table);
    let second = home.hand_over(&mut first).await;
    assert_eq!(get(&home).await, (200, "app".into()));
    let given = inventory(&home, &json!({"pid": 1, "route_version": NEWEST_VERSION}));
    assert_eq!(serde_json::from_value::<RouteSet>(given["routes"].clone()).unwrap(), table);
    second.logs("did not take over").await;
    for what in ["show", "stats"] {
        let output = run(windlass().args(["routes", what, "--data-dir"]).arg(home.path()));
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && !shown.contains(secret()), "{shown}");
        assert_eq!(shown.contains("\"key_pem\": \"(hidden)\""), what == "show", "{shown}");
    }
    // From the file, by a process that has no predecessor.
    let log = format!("{}{}", first.log(), second.log());
    drop((first, second));
    let third = home.edge().await;
    assert_eq!(get(&home).await, (200, "app".into()));
    let given = inventory(&home, &json!({"pid": 1, "route_version": NEWEST_VERSION}));
    assert_eq!(serde_json::from_value::<RouteSet>(given["routes"].clone()).unwrap(), table);
    assert!(!log.contains(secret()) && !third.log().contains(secret()), "{log}");
}

#[tokio::test]
async fn the_control_socket_takes_tables_of_both_versions() {
    let (home, app) = (Home::new(), App::start("app").await);
    let edge = home.edge().await;
    let apply = async |table: &RouteSet| home.control().await.apply(table.clone()).await;
    let plain = everything_to(app.address);
    let newest = RouteSet { version: NEWEST_VERSION, ..plain.clone() };
    for table in [&plain, &newest, &secured(app.address), &plain] {
        apply(table).await.unwrap();
        assert_eq!(&saved(&home), table);
        assert_eq!(get(&home).await, (200, "app".into()));
    }
    let mut wrong_key = secured(app.address);
    Arc::make_mut(&mut wrong_key.certificates[0]).key_pem = PrivateKey::new(secret());
    let known = format!("this edge knows versions {FIRST_VERSION} to {NEWEST_VERSION} only");
    for (table, problem) in [
        (RouteSet { version: FIRST_VERSION, ..secured(app.address) }, "certificates and challenges need version 2"),
        (RouteSet { version: NEWEST_VERSION + 1, ..plain.clone() }, known.as_str()),
        (RouteSet { version: 2, ..held(DEADLINE) }, "services that are held need version 3"),
        (wrong_key, "certificates[0].key_pem"),
    ] {
        let refused = apply(&table).await.unwrap_err().to_string();
        assert!(refused.contains(problem) && !refused.contains(secret()), "{refused}");
    }
    assert_eq!(saved(&home), plain);
    assert!(!edge.log().contains(secret()), "{}", edge.log());
}

#[tokio::test]
async fn an_older_successor_gets_the_table_that_it_can_read() {
    let (home, app) = (Home::new(), App::start("app").await);
    let _edge = home.edge().await;
    for table in [everything_to(app.address), secured(app.address)] {
        home.control().await.apply(table).await.unwrap();
        // Without a word about versions, as the former one asked.
        let given = inventory(&home, &json!({"pid": 1}))["routes"].clone();
        assert_eq!(given, serde_json::to_value(everything_to(app.address)).unwrap());
        home.hello().await;
    }
    assert_eq!(saved(&home), secured(app.address));
    // One that can hold no request shows a page instead.
    home.control().await.apply(held(DEADLINE)).await.unwrap();
    for version in [FIRST_VERSION, 2] {
        let given = inventory(&home, &json!({"pid": 1, "route_version": version}))["routes"].clone();
        assert_eq!(
            (&given["version"], &given["services"][0]["serves"]),
            (&json!(version), &json!({"page": "starting"}))
        );
        home.hello().await;
    }
}

/// Requests that wait when another process takes over are answered with those that come to the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_wait_are_not_lost_with_a_hand_over() {
    let (home, app) = (Home::new(), App::start("app").await);
    let first = home.edge().await;
    home.control().await.apply(held(DEADLINE)).await.unwrap();
    let address = home.address().await;
    let visit = || tokio::spawn(async move { Visitor::new(address).get("/").await.unwrap() });
    let in_flight = async |count: u64| {
        let look = async || {
            let stats = home.control().await.stats().await.ok()?;
            (stats.services[0].figures.in_flight == count).then_some(())
        };
        until("so many wait", look).await;
    };
    let early = visit();
    in_flight(1).await;
    let second = home.successor();
    home.answers_as(second.pid()).await;
    let late = visit();
    in_flight(2).await;
    home.send_to(app.address).await;
    for answer in [early, late] {
        assert_eq!(answer.await.unwrap(), (200, "app".into()));
    }
    drop((first, second));
}

/// A process of the former version that serves until it is asked to hand over, played by the test.
struct Former {
    control: UnixListener,
    visitors: TcpListener,
    lock: std::fs::File,
    routes: RouteSet,
}

impl Former {
    fn new(home: &Home, routes: RouteSet) -> Self {
        Self {
            control: UnixListener::bind(control::socket(home.path())).unwrap(),
            visitors: TcpListener::bind("127.0.0.1:0").unwrap(),
            lock: lock::take(&home.path().join("edge.lock")).unwrap(),
            routes,
        }
    }

    /// Hands over, and answers its successor from then on; every call that it hears is kept.
    fn hands_over(self, heard: &Mutex<Vec<Value>>) {
        let (mut stream, mut calls) = self.is_asked();
        self.gives(&stream);
        drop((self.control, self.visitors, self.lock));
        while let Some(call) = calls.next().and_then(Result::ok) {
            let call: Value = serde_json::from_str(&call).unwrap();
            heard.lock().unwrap().push(call.clone());
            let reply = match call.as_object().unwrap().keys().find(|name| *name != "version").unwrap().as_str() {
                "apply" => json!({"routes": 1, "build_us": 1, "swap_us": 1}),
                "stats" => {
                    json!({"services": [], "unrouted_requests": 0, "refused_connections": 0, "open_connections": 0})
                }
                _ => json!({}),
            };
            writeln!(stream, "{}", json!({"ok": reply})).unwrap();
            if call.get("stop").is_some() {
                return;
            }
        }
    }

    /// Waits for the caller that asks to take over. The test asks as well who is there, and asks again.
    fn is_asked(&self) -> (UnixStream, Lines<BufReader<UnixStream>>) {
        loop {
            let (stream, _) = self.control.accept().unwrap();
            let mut calls = BufReader::new(stream.try_clone().unwrap()).lines();
            let call: Value = serde_json::from_str(&calls.next().unwrap().unwrap()).unwrap();
            if call["take_over"]["pid"].is_u64() {
                return (stream, calls);
            }
        }
    }

    fn gives(&self, stream: &UnixStream) {
        let inventory = json!({"routes": self.routes, "damaged": null, "requested": ["127.0.0.1:0"]});
        let text = format!("{}\n", json!({"ok": inventory}));
        let sent: [BorrowedFd<'_>; 3] = [self.lock.as_fd(), self.control.as_fd(), self.visitors.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(&sent)));
        let count = sendmsg(stream, &[IoSlice::new(text.as_bytes())], &mut ancillary, SendFlags::empty()).unwrap();
        assert_eq!(count, text.len());
    }
}

#[tokio::test]
async fn an_older_predecessor_is_told_what_it_can_read() {
    let (home, old, new) = (Home::new(), App::start("old").await, App::start("new").await);
    let former = Former::new(&home, everything_to(old.address));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let calls = heard.clone();
    let answering = std::thread::spawn(move || former.hands_over(&calls));
    let mut edge = home.successor();
    home.answers_as(edge.pid()).await;
    assert_eq!(get(&home).await, (200, "old".into()));
    home.control().await.apply(secured(new.address)).await.unwrap();
    assert_eq!(get(&home).await, (200, "new".into()));
    assert_eq!(saved(&home), secured(new.address));
    let find = |name: &str| heard.lock().unwrap().iter().find_map(|call: &Value| call.get(name).cloned());
    assert_eq!(find("apply").unwrap(), serde_json::to_value(everything_to(new.address)).unwrap());
    until("the predecessor is released", async || find("release")).await;
    edge.signal(rustix::process::Signal::TERM);
    assert!(edge.ended().await.success(), "{}", edge.log());
    answering.join().unwrap();
}
