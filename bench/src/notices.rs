//! Notices: how soon a receiver hears of an event, beside requests that go straight to it; and pages of a log of a thousand notices and of
//! a million.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{Channel, NoticeState, Timestamp};
use windlass_store::Db;
use windlass_store::notices::{self, Notice};

use crate::http::{Caller, read_answer};
use crate::process::Process;

/// Each with an application, and with a channel of its own.
const ORGANIZATIONS: usize = 200;
const CONNECTIONS: usize = 32;
/// Events a second.
const OFFERED: [usize; 3] = [50, 500, 1_000];
const SECONDS: usize = 10;
/// How long the last ones may take to arrive.
const DEADLINE: Duration = Duration::from_secs(120);
const FEW: u128 = 1_000;
const MANY: u128 = 1_000_000;
/// Written in one transaction.
const AT_ONCE: u128 = 10_000;
const REQUESTS: usize = 100;
const SETTINGS: [&str; 12] = [
    "--allow-private-targets",
    "true",
    "--open-registration",
    "true",
    "--login-attempts",
    "100000",
    "--kept-notices",
    "10000000",
    "--edge-http",
    "127.0.0.1:0",
    "--edge-https",
    "127.0.0.1:0",
];

#[tokio::main]
pub async fn measure() {
    let url = std::env::var("TEST_DATABASE_URL").expect("run `scripts/bench notices`: it starts a PostgreSQL server");
    let mut report = serde_json::Map::new();
    for (name, url) in [("sqlite", None), ("postgres", Some(url.as_str()))] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (windlass, _) = Process::windlass_with(folder.path(), url, &SETTINGS);
        let caller = Caller::register(windlass.port);
        let deliveries = deliveries(&windlass);
        println!("{name}: {deliveries:#}");
        let log = pages(&caller, &folder.path().join("windlass.db"), url).await;
        println!("{name}: {log:#}");
        report.insert(name.to_owned(), json!({ "deliveries": deliveries, "log": log }));
    }
    let report = Value::Object(report);
    crate::report::write(Path::new("bench/results/notices.json"), &report);
    println!("{report:#}");
}

/// An organization that is told of every change of its application.
struct Sender {
    caller: Caller,
    labels: String,
}

fn deliveries(windlass: &Process) -> Value {
    let receiver = Receiver::start();
    let senders: Vec<Sender> = (0..ORGANIZATIONS).map(|number| sender(windlass.port, &receiver, number)).collect();
    let direct = straight(&receiver);
    let offered: Vec<Value> = OFFERED.iter().map(|rate| offer(&senders, &receiver, *rate)).collect();
    json!({ "straight": direct, "offered": offered, "peak_mb": windlass.peak_mb() })
}

/// Of a user of its own: the answer to a change shows all organizations of the user.
fn sender(port: u16, receiver: &Receiver, number: usize) -> Sender {
    let caller = Caller::register_as(port, &format!("user-{number}@example.org"));
    let webhook_url = format!("http://127.0.0.1:{}/{number}", receiver.port);
    caller.post("/notification/webhook", &json!({ "type": "webhook", "webhook_url": webhook_url }));
    let told = json!({ "channel": "webhook", "events": ["application.updated"], "recoveries": false });
    caller.post("/notification/preferences", &told);
    // Nothing is deployed before a push.
    let body = json!({ "name": format!("app-{number}"), "repository": "push" });
    let application = caller.post("/deploy/application", &body);
    let labels = format!("/deploy/application/labels?id={}", application["id"].as_str().expect("an id"));
    Sender { caller, labels }
}

/// What the receiver takes without anything in between.
fn straight(receiver: &Receiver) -> Value {
    let count = OFFERED[1] * 2;
    let next = AtomicUsize::new(0);
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                while next.fetch_add(1, Ordering::Relaxed) < count {
                    let mut stream = TcpStream::connect(("127.0.0.1", receiver.port)).expect("a connection");
                    let request = "POST /straight HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
                    stream.write_all(request.as_bytes()).expect("a request");
                    read_answer(&mut BufReader::new(stream));
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    receiver.take();
    json!({ "a_second": count as f64 / seconds })
}

/// Changes labels at a rate, each of the next organization, until all have arrived. An organization is told in order, so the first notice
/// that arrives is that of its first change.
fn offer(senders: &[Sender], receiver: &Receiver, rate: usize) -> Value {
    let (next, sent) = (AtomicUsize::new(0), Mutex::new(vec![Vec::new(); senders.len()]));
    let count = rate * SECONDS;
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let due = began + Duration::from_secs_f64(number as f64 / rate as f64);
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    let which = number % senders.len();
                    let begun = Instant::now();
                    let label = format!("{rate}-{number}");
                    senders[which].caller.put(&senders[which].labels, &json!({ "labels": [label] }));
                    sent.lock().expect("no thread has failed")[which].push(begun);
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    let sent = sent.into_inner().expect("no thread has failed");
    let arrived = receiver.until(count);
    let mut times: Vec<f64> = sent
        .iter()
        .enumerate()
        .flat_map(|(which, sent)| sent.iter().zip(&arrived.events[&which]))
        .map(|(sent, arrived)| arrived.saturating_duration_since(*sent).as_secs_f64() * 1_000.0)
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let last = arrived.last.saturating_duration_since(began).as_secs_f64();
    json!({
        "offered_a_second": rate, "changes_a_second": count as f64 / seconds, "requests": arrived.requests,
        "delivered_a_second": count as f64 / last, "median_ms": at(0.5), "p99_ms": at(0.99), "most_ms": at(1.0),
    })
}

/// Takes everything, and writes down when it came.
struct Receiver {
    port: u16,
    arrived: Arc<Mutex<Arrived>>,
}

#[derive(Clone)]
struct Arrived {
    /// When each event of an organization arrived, alone or folded with others.
    events: HashMap<usize, Vec<Instant>>,
    requests: usize,
    last: Instant,
}

impl Arrived {
    fn nothing() -> Self {
        Self { events: HashMap::new(), requests: 0, last: Instant::now() }
    }

    fn take(&mut self, path: &str, body: &[u8]) {
        let now = Instant::now();
        let carries =
            serde_json::from_slice::<Value>(body).ok().and_then(|body| body["data"]["count"].as_u64()).unwrap_or(1);
        let organization = path.trim_start_matches('/').parse().unwrap_or(usize::MAX);
        self.events.entry(organization).or_default().extend((0..carries).map(|_| now));
        self.requests += 1;
        self.last = now;
    }
}

impl Receiver {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let arrived = Arc::new(Mutex::new(Arrived::nothing()));
        let shared = arrived.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || drop(serve(stream, &shared)));
            }
        });
        Self { port, arrived }
    }

    /// What has arrived, and begins anew.
    fn take(&self) -> Arrived {
        std::mem::replace(&mut *self.arrived.lock().expect("no thread has failed"), Arrived::nothing())
    }

    fn until(&self, events: usize) -> Arrived {
        let until = Instant::now() + DEADLINE;
        loop {
            let so_far: usize = self.arrived.lock().expect("no thread has failed").events.values().map(Vec::len).sum();
            if so_far >= events {
                return self.take();
            }
            assert!(Instant::now() < until, "{so_far} of {events} have arrived");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn serve(stream: TcpStream, arrived: &Mutex<Arrived>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if stream.read_line(&mut first)? == 0 {
            return Ok(());
        }
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line)?;
            if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or_default();
            }
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        arrived.lock().expect("no thread has failed").take(first.split(' ').nth(1).unwrap_or_default(), &body);
        stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")?;
    }
}

/// The delivery log of one organization, with few notices and with many.
async fn pages(caller: &Caller, file: &Path, url: Option<&str>) -> Value {
    let organization = caller.get("/organizations")["id"].as_str().expect("an id").parse().expect("an id");
    let mut report = Vec::new();
    let mut written = 0;
    for total in [FEW, MANY] {
        let db = crate::open(file, url).await;
        fill(&db, organization, written..total).await;
        written = total;
        db.close().await;
        crate::analyze(url);
        let times: Value =
            queries(total).into_iter().map(|(name, query)| (name.to_owned(), time(caller, &query))).collect();
        report.push(json!({ "notices": total as u64, "median_ms": times }));
    }
    Value::Array(report)
}

fn queries(total: u128) -> [(&'static str, String); 6] {
    let (middle, newest) = (id(total / 2), id(total));
    [
        ("first page", String::new()),
        ("a page in the middle", format!("before={middle}")),
        ("failed ones, one in a hundred", "state=failed".to_owned()),
        ("of a channel", format!("channel=slack&before={newest}")),
        ("of an application, one in a thousand", format!("application_id={}", application(7))),
        ("of one that is gone", format!("application_id={}", Uuid::nil())),
    ]
}

/// In order of time, as the server makes them, in a year without others.
const fn id(number: u128) -> Uuid {
    Uuid::from_u128((0x0190_0000_0000_7000_8000_u128 << 48) | number)
}

const fn application(number: u128) -> Uuid {
    Uuid::from_u128((0x0180_0000_0000_7000_8000_u128 << 48) | number)
}

async fn fill(db: &Db, organization: Uuid, numbers: std::ops::Range<u128>) {
    let all: Vec<u128> = numbers.collect();
    for some in all.chunks(usize::try_from(AT_ONCE).expect("a length")) {
        let notices: Vec<Notice> = some.iter().map(|number| notice(organization, *number)).collect();
        let mut tx = db.begin().await.expect("a transaction");
        notices::insert_all(&mut tx, &notices).await.expect("notices");
        tx.commit().await.expect("a commit");
    }
}

fn notice(organization: Uuid, number: u128) -> Notice {
    // Not so old that it would be forgotten.
    let now = 4_000_000_000_000_000;
    let title = format!("shop {number} was deployed");
    Notice {
        id: id(number),
        organization_id: Some(organization),
        channel: if number.is_multiple_of(2) { Channel::Slack } else { Channel::Webhook },
        recipient: String::new(),
        destination: format!("{organization}/webhook"),
        position: i64::try_from(number).expect("a number"),
        event: "deployment.succeeded".to_owned(),
        needs: "deploy:read".to_owned(),
        application_id: Some(application(number % 1_000)),
        message: json!({ "title": title, "lines": ["A change of the prices"], "facts": [["Commit", "0123456789ab"]] })
            .to_string(),
        title,
        sealed_message: None,
        state: if number.is_multiple_of(100) { NoticeState::Failed } else { NoticeState::Sent },
        reason: String::new(),
        carried_by: None,
        carries: 1,
        attempts: 1,
        first_tried_at: Some(now),
        next_attempt_at: None,
        expires_at: None,
        created_at: Timestamp::from_micros(now),
        ended_at: Some(now),
    }
}

fn time(caller: &Caller, query: &str) -> Value {
    let path = format!("/notification/notices?limit=100&{query}");
    caller.get(&path);
    let times = (0..REQUESTS).map(|_| {
        let asked = Instant::now();
        caller.get(&path);
        asked.elapsed().as_secs_f64() * 1_000.0
    });
    json!(crate::report::median(times.collect()))
}
