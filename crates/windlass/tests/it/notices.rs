//! Notices of a real server that is killed, and of one whose receivers hang.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_durable::kill_point::VARIABLE;
use windlass_server::notify::{FOLD_KILL_POINT, KILL_POINTS};
use windlass_server::vault::ring::FILE_NAME;
use windlass_testing::receiver::{Manner, Receiver};
use windlass_testing::{DatabaseLocation, Kind};

use crate::process::{DEADLINE, Process, token_in, windlass};

/// A hundred of those that wait are read at once, each of some kilobytes; the rest is what an allocator keeps.
const MOST_GROWN: u64 = 32 << 20;
const PRIVATE: [&str; 2] = ["--allow-private-targets", "true"];

/// With the point at which it is to be killed, if it is.
fn start(folder: &Path, point: Option<&str>, arguments: &[&str]) -> Process {
    let mut command: Command = windlass();
    if let Some(point) = point {
        command.env(VARIABLE, point);
    }
    Process::start(command, folder, &[PRIVATE.as_slice(), arguments].concat())
}

fn channel(server: &Process, token: &str, kind: &str, url: &str) {
    server.ok("PUT", "/notification/webhook", token, &json!({ "type": kind, "webhook_url": url }).to_string());
}

/// Something that is told: an API key is made.
fn happen(server: &Process, token: &str, name: &str) {
    server.ok("POST", "/auth/api-keys", token, &json!({ "name": name }).to_string());
}

fn notices(server: &Process, token: &str, query: &str) -> Vec<Value> {
    let all = server.ok("GET", &format!("/notification/notices?limit=100{query}"), token, "");
    all["data"]["notices"].as_array().unwrap().clone()
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The server dies at the point, whatever it is doing for the event then; the next one goes on.
fn dies_at(point: &str) {
    let (folder, receiver) = (TempDir::new().unwrap(), Receiver::start());
    let first = start(folder.path(), None, &[]);
    let token = token_in(&first.register(""));
    channel(&first, &token, "webhook", &receiver.url("/hook"));
    happen(&first, &token, "before");
    until("the first is sent", || notices(&first, &token, "&state=sent").len() == 1);
    drop(first);
    let mut second = start(folder.path(), Some(point), &[]);
    // It may be killed before it answers.
    second.ask("POST", "/auth/api-keys", &token, &json!({ "name": "while it dies" }).to_string());
    assert_eq!(second.wait(), None, "{point}: killed");
    drop(second);
    let third = start(folder.path(), None, &[]);
    happen(&third, &token, "after");
    until(&format!("{point}: three are sent"), || notices(&third, &token, "&state=sent").len() == 3);
    let sent: BTreeSet<_> =
        notices(&third, &token, "").iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect();
    let received: Vec<_> = receiver.received().iter().map(|one| one.header("webhook-id").to_owned()).collect();
    assert_eq!(
        received.iter().cloned().collect::<BTreeSet<_>>(),
        sent,
        "{point}: nothing is lost, and nothing has two ids"
    );
    // Only what was delivered and not recorded came twice.
    let expected = if point == "notice-delivered" { 4 } else { 3 };
    assert_eq!(received.len(), expected, "{point}");
    let keys: Vec<_> =
        receiver.received().iter().map(|one| one.json()["data"]["key"].as_str().unwrap().to_owned()).collect();
    assert!(keys.iter().any(|key| key == "while it dies"), "{point}: {keys:?}");
}

#[test]
fn a_server_that_is_killed_loses_nothing_and_doubles_nothing() {
    for point in KILL_POINTS {
        dies_at(point);
    }
}

/// Many have become one, which was not sent: the next server sends that one, and none of the many.
#[test]
fn a_server_that_is_killed_between_folding_and_sending_sends_the_one() {
    let (folder, away, well) = (TempDir::new().unwrap(), Receiver::start(), Receiver::start());
    away.always(Manner::with_header(503, "retry-after", "3600"));
    let first = start(folder.path(), None, &[]);
    let token = token_in(&first.register(""));
    channel(&first, &token, "webhook", &away.url("/hook"));
    happen(&first, &token, "first");
    until("the first was tried", || notices(&first, &token, "").iter().any(|notice| notice["attempts"] == 1));
    for number in 0..12 {
        happen(&first, &token, &format!("key-{number}"));
    }
    until("the others wait", || notices(&first, &token, "&state=waiting").len() == 13);
    drop(first);
    let mut second = start(folder.path(), Some(FOLD_KILL_POINT), &[]);
    // The first is sent at once then, and what waits behind it is folded. It may be killed before it answers.
    let body = json!({ "type": "webhook", "webhook_url": well.url("/hook") });
    second.ask("PUT", "/notification/webhook", &token, &body.to_string());
    assert_eq!(second.wait(), None, "killed");
    drop(second);
    let third = start(folder.path(), None, &[]);
    until("none waits", || notices(&third, &token, "&state=waiting").is_empty());
    // The one was not sent before, and it was not made twice.
    let folded = notices(&third, &token, "&state=folded");
    let carriers: BTreeSet<_> = folded.iter().map(|one| one["carried_by"].as_str().unwrap().to_owned()).collect();
    assert_eq!(carriers.len(), 1, "{carriers:?}");
    let received: Vec<_> = well.received().iter().map(|one| one.header("webhook-id").to_owned()).collect();
    assert_eq!(received.iter().filter(|id| carriers.contains(*id)).count(), 1, "{received:?}");
    let ids: BTreeSet<_> = received.iter().cloned().collect();
    let sent = notices(&third, &token, "&state=sent");
    assert_eq!(
        ids,
        sent.iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect(),
        "each that was sent, once"
    );
    assert_eq!((received.len(), folded.len() + received.len() - 1), (ids.len(), 13));
}

/// Both read the events and both send, and each receiver hears of each once.
#[tokio::test(flavor = "multi_thread")]
async fn two_servers_tell_everything_once() {
    const KEYS: usize = 40;
    let place = DatabaseLocation::fresh(Kind::Postgres).await;
    let url = place.url.clone().unwrap();
    let (folder, other_folder) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let more = ["--database-url", &url, "--member-keys", "1000", "--account-requests", "0", "--address-requests", "0"];
    let first = start(folder.path(), None, &more);
    let token = token_in(&first.register(""));
    std::fs::copy(folder.path().join(FILE_NAME), other_folder.path().join(FILE_NAME)).unwrap();
    let second = start(other_folder.path(), None, &more);
    let receivers = [Receiver::start(), Receiver::start()];
    for (kind, receiver) in ["webhook", "ntfy"].into_iter().zip(&receivers) {
        channel(&first, &token, kind, &receiver.url("/hook"));
    }
    for number in 0..KEYS {
        happen([&first, &second][number % 2], &token, &format!("key-{number}"));
    }
    let is_told = || {
        let all = notices(&first, &token, "");
        let is_over = |notice: &Value| notice["state"] == "sent" || notice["state"] == "folded";
        all.iter().filter(|notice| notice["carries"] == 0).count() == 2 * KEYS && all.iter().all(is_over)
    };
    until("all are told", is_told);
    let sent = notices(&second, &token, "&state=sent");
    let count = |kind: &str| sent.iter().filter(|notice| notice["channel"] == kind).count();
    assert_eq!((receivers[0].count(), receivers[1].count()), (count("webhook"), count("ntfy")), "each was sent once");
    let mut told: Vec<String> = Vec::new();
    for data in receivers[0].received().iter().map(|one| one.json()["data"].clone()) {
        match data["events"].as_array() {
            // The first ten are named.
            Some(events) => told.extend(events.iter().map(|event| event["data"]["key"].to_string())),
            None => told.push(data["key"].to_string()),
        }
    }
    let names: BTreeSet<_> = told.iter().cloned().collect();
    assert_eq!(names.len(), told.len(), "none is told twice: {told:?}");
}

/// What the server has in memory.
fn resident_bytes(server: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
}

/// So many wait for a destination that hangs; another hears of each event within the time that is left, and what waits takes no memory.
fn others_go_on(events: usize) {
    let folder = TempDir::new().unwrap();
    let (hanging, well) = (Receiver::start(), Receiver::start());
    hanging.always(Manner::Hang);
    let limit = (events + 100).to_string();
    let settings = ["--organization-notices", limit.as_str(), "--notice-seconds", "10", "--key-requests", "0"];
    let more = ["--account-requests", "0", "--address-requests", "0", "--member-keys", "1000"];
    let server = start(folder.path(), None, &[settings.as_slice(), &more].concat());
    let token = token_in(&server.register(""));
    channel(&server, &token, "webhook", &hanging.url("/"));
    happen(&server, &token, "first");
    until("the first hangs", || hanging.count() == 1);
    // A name that is changed is an event that is as quick to make as any.
    server.ok(
        "POST",
        "/notification/preferences",
        &token,
        &json!({ "channel": "webhook", "events": ["application.updated"] }).to_string(),
    );
    let body = json!({ "name": "shop", "repository": "push", "domain": "shop.localhost" });
    let shop = server.ok("POST", "/deploy/application", &token, &body.to_string());
    let rename = |number: usize| {
        let body = json!({ "id": shop["data"]["id"], "name": format!("shop-{number}") });
        server.ok("PUT", "/deploy/application", &token, &body.to_string());
    };
    // What every server keeps once it has worked a while is there by then.
    let warm = events / 5;
    (0..warm).for_each(rename);
    let before = resident_bytes(&server);
    (warm..events).for_each(rename);
    let grown = resident_bytes(&server).saturating_sub(before);
    assert!(grown < MOST_GROWN, "the server grew by {} MiB", grown >> 20);
    channel(&server, &token, "slack", &well.url("/"));
    let began = Instant::now();
    happen(&server, &token, "last");
    until("the other channel hears", || well.count() > 0);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(hanging.count() < 20, "they wait for the one that hangs");
    hanging.always(Manner::status(200));
    until("all are told", || {
        // What waits for its next try is tried at once when the address is saved.
        channel(&server, &token, "webhook", &hanging.url("/again"));
        notices(&server, &token, "&state=waiting").is_empty()
    });
    // Some thousands of events are some messages.
    assert!(hanging.count() < events / 5, "{}", hanging.count());
}

#[test]
fn one_that_hangs_keeps_no_other_waiting() {
    others_go_on(1_000);
}

#[test]
#[ignore = "long: make test-long"]
fn ten_thousand_that_wait_for_one_that_hangs_keep_no_other_waiting() {
    others_go_on(10_000);
}
