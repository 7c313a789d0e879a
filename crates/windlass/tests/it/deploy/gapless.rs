//! No request is lost: not by a deploy, a rollback or a restart of the application, nor by the end of the server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};
use windlass_store::{deployments, releases};

use super::crowd::{Crowd, Visit, all_answered};
use super::support::*;
use super::visitor::Visitor;

const LEAST_PER_SECOND: f64 = 300.0;

/// Around the instant from which visitors are sent elsewhere, and while what they were sent to before is ended.
const DEATHS: [&str; 7] = [
    "deploy-before-switch",
    "deploy-switched",
    "deploy-published",
    "deploy-deployed",
    "finish-begun",
    "finish-drained",
    "finish-stopped",
];

/// When each version was live, in microseconds since 1970: not before its switch was decided, and to requests that were sent
/// until the next one said that it is deployed.
struct Timeline {
    began: (Instant, i64),
    switches: Vec<Switch>,
}

struct Switch {
    version: String,
    decided: i64,
    told: i64,
}

impl Timeline {
    fn begin() -> Self {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap();
        Self { began: (Instant::now(), i64::try_from(now.as_micros()).unwrap()), switches: Vec::new() }
    }

    /// A deployment that has just said that it is deployed.
    async fn add(&mut self, platform: &Platform, version: &str, deployment: &str) {
        let db = platform.database().await;
        let mut conn = db.read().await.unwrap();
        let row = deployments::get(&mut conn, deployment.parse().unwrap()).await.unwrap().unwrap();
        let release = releases::get(&mut conn, row.release_id).await.unwrap().unwrap();
        drop(conn);
        db.close().await;
        let (decided, told) = (release.live_at.unwrap(), row.finished_at.unwrap());
        self.switches.push(Switch { version: version.to_owned(), decided, told });
    }

    fn micros(&self, at: Instant) -> i64 {
        self.began.1 + i64::try_from(at.saturating_duration_since(self.began.0).as_micros()).unwrap()
    }

    /// At the instant of the answer, or while the request was under way.
    fn was_live(&self, version: &str, visit: &Visit) -> bool {
        let (sent, answered) = (self.micros(visit.sent), self.micros(visit.ended));
        self.switches.iter().enumerate().any(|(number, switch)| {
            let next = self.switches.get(number + 1);
            switch.version == version && switch.decided <= answered && next.is_none_or(|next| sent <= next.told)
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_while_everything_changes() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "busy", "v0");
    let mut body = body("busy", &repository);
    body["kept_releases"] = json!(30);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let edge = platform.edge().await;
    let mut timeline = Timeline::begin();
    timeline.add(&platform, "v0", &newest_deployment(&application)).await;
    let crowd = Crowd::come(edge, "busy.localhost");
    let senders = Senders::come(edge);

    let mut slow = Vec::new();
    let mut releases: Vec<(String, String)> = Vec::new();
    for turn in 1..=2 * DEATHS.len() {
        let version = format!("v{turn}");
        commit(&repository, &version);
        if turn % 5 == 1 {
            slow.push(slow_visit(edge));
        }
        let deployment = match DEATHS.get(turn / 2).filter(|_| turn % 2 == 1) {
            None => newest_deployment(&platform.deploy(&body)),
            Some(point) => {
                // What was replaced before is gone: the server is to die when it ends what this deployment replaces.
                platform.settled().await;
                platform.kill_server();
                platform.start_server(Some(point));
                platform.ask("POST", "/deploy/application", &body);
                platform.wait_for_death();
                platform.start_server(None);
                newest_deployment(&platform.application(&id))
            }
        };
        platform.deployed(&deployment).await;
        assert_eq!(platform.visit("busy.localhost", "/").await, (200, version.clone()));
        timeline.add(&platform, &version, &deployment).await;
        releases.push((deployment, version));
    }
    for turn in 0..5 {
        let (deployment, version) = releases[turn * 3].clone();
        let rollback = platform.call("POST", "/deploy/application/rollback", &json!({ "id": deployment }));
        platform.deployed(&id_of(&rollback)).await;
        timeline.add(&platform, &version, &id_of(&rollback)).await;
    }
    let live = releases[12].1.clone();
    for _ in 0..5 {
        let restart = platform.call("POST", "/deploy/application/restart", &json!({ "id": id }));
        platform.deployed(&id_of(&restart)).await;
        timeline.add(&platform, &live, &id_of(&restart)).await;
    }
    assert_eq!(slow.len(), 3);
    for slow in slow {
        let (status, version) = slow.await.unwrap().unwrap();
        assert_eq!(status, 200);
        assert!(version.starts_with('v'), "{version}");
    }
    senders.all_arrived().await;
    let (visits, time) = crowd.go().await;
    check(&visits, time, &timeline);
    platform.settled().await;
    assert_eq!(containers_of(&id).len(), 1);
    no_request_was_cut(&platform, &id);
}

/// Visitors who send something, and get it back.
struct Senders {
    stop: Arc<AtomicBool>,
    sending: JoinSet<(usize, Vec<String>)>,
}

impl Senders {
    fn come(edge: SocketAddr) -> Self {
        let (stop, mut sending) = (Arc::new(AtomicBool::new(false)), JoinSet::new());
        for number in 0..3 {
            sending.spawn(send_again_and_again(edge, number, stop.clone()));
        }
        for _ in 0..2 {
            sending.spawn(upload_again_and_again(edge, stop.clone()));
        }
        Self { stop, sending }
    }

    async fn all_arrived(self) {
        self.stop.store(true, Ordering::SeqCst);
        for (number, (sent, lost)) in self.sending.join_all().await.into_iter().enumerate() {
            assert_eq!(lost, [""; 0], "of {sent} that sender {number} has sent");
            assert!(sent > 5, "sender {number}: {sent}");
        }
    }
}

async fn send_again_and_again(edge: SocketAddr, number: usize, stop: Arc<AtomicBool>) -> (usize, Vec<String>) {
    let (mut visitor, mut sent, mut lost) = (Visitor::new(edge, "busy.localhost"), 0, Vec::new());
    while !stop.load(Ordering::SeqCst) {
        let text = format!("{number}-{sent} ").repeat(4_000);
        match visitor.post("/echo", text.clone().into()).await {
            Ok((200, back)) if back == text => {}
            other => lost.push(format!("{:.200}", format!("{other:?}"))),
        }
        sent += 1;
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    (sent, lost)
}

/// In pieces, over more time than a switch takes.
async fn upload_again_and_again(edge: SocketAddr, stop: Arc<AtomicBool>) -> (usize, Vec<String>) {
    let (mut sent, mut lost) = (0, Vec::new());
    while !stop.load(Ordering::SeqCst) {
        if let Err(problem) = upload_slowly(edge).await {
            lost.push(problem);
        }
        sent += 1;
    }
    (sent, lost)
}

async fn upload_slowly(edge: SocketAddr) -> Result<(), String> {
    const PIECES: usize = 20;
    let piece = "slowly ".repeat(500);
    let words = |error: std::io::Error| error.to_string();
    let mut stream = TcpStream::connect(edge).await.map_err(words)?;
    let length = PIECES * piece.len();
    let head =
        format!("POST /echo HTTP/1.1\r\nhost: busy.localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.map_err(words)?;
    for _ in 0..PIECES {
        stream.write_all(piece.as_bytes()).await.map_err(words)?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.map_err(words)?;
    let whole = answer.starts_with("HTTP/1.1 200") && answer.matches("slowly ").count() == PIECES * 500;
    if whole { Ok(()) } else { Err(format!("{} bytes: {answer:.300}", answer.len())) }
}

/// A request that takes longer than a deployment.
fn slow_visit(edge: SocketAddr) -> JoinHandle<Result<(u16, String), String>> {
    tokio::spawn(async move { Visitor::new(edge, "busy.localhost").get("/slow?ms=10000").await })
}

fn check(visits: &[Visit], time: Duration, timeline: &Timeline) {
    all_answered(visits);
    for visit in visits {
        let Ok((_, version)) = &visit.answer else { continue };
        assert!(timeline.was_live(version, visit), "{version} was not live then");
    }
    let rate = visits.len() as f64 / time.as_secs_f64();
    assert!(rate >= LEAST_PER_SECOND, "only {rate:.0} requests a second");
}

fn no_request_was_cut(platform: &Platform, id: &str) {
    let path = format!("/deploy/application/deployments?id={id}&limit=100");
    let all = platform.call("GET", &path, &Value::Null);
    let deployments = all["deployments"].as_array().unwrap();
    assert!(deployments.len() >= 25, "{}", deployments.len());
    for deployment in deployments {
        assert_eq!(deployment["requests_failed"], 0, "{deployment}");
    }
}
