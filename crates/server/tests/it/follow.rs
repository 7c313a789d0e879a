//! Following log lines.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::time::timeout;
use windlass_api::{LogStep, LogStream, Role};
use windlass_server::App;
use windlass_store::logs::Batch;
use windlass_store::{Kind, applications};
use windlass_testing::{DatabaseLocation, on_both_databases};

use crate::logs::{Shop, escape, numbered};
use crate::support::{Call, EVENT_STREAM, Person, TestServer, id_of, kind, server};

on_both_databases!(server: the_newest_lines_and_what_comes, resuming, a_gap_is_told, filtered, of_a_deployment, ends_with_the_server,
    lines_of_another_server);
on_both_databases!(kind: heartbeats_come, ends_with_the_login, ends_with_the_membership, ends_with_the_application);

const NEXT_EVENT_LIMIT: Duration = Duration::from_secs(20);

/// What a follower has been sent and not looked at yet.
pub struct Events {
    pub body: Incoming,
    text: String,
    /// What it began with.
    begin: String,
}

#[derive(Debug, PartialEq)]
pub struct Event {
    pub id: String,
    pub name: String,
    pub data: Value,
}

impl Events {
    pub async fn open(call: Call<'_>) -> Self {
        let answer = call.open().await;
        assert_eq!(answer.status(), 200);
        assert_eq!(answer.headers()["content-type"], EVENT_STREAM);
        assert_eq!(answer.headers()["cache-control"], "no-store");
        assert_eq!(answer.headers()["x-accel-buffering"], "no");
        let mut events = Self { body: answer.into_body(), text: String::new(), begin: String::new() };
        let begin = events.part().await.unwrap();
        events.begin = begin.strip_prefix("retry: 1000\nid: ").unwrap().to_owned();
        events
    }

    /// Up to the next empty line; nothing at the end of the stream.
    pub async fn part(&mut self) -> Option<String> {
        loop {
            if let Some((part, rest)) = self.text.split_once("\n\n") {
                let part = part.to_owned();
                self.text = rest.to_owned();
                return Some(part);
            }
            let frame = timeout(NEXT_EVENT_LIMIT, self.body.frame()).await.expect("something in time")?;
            let frame = frame.expect("an orderly end");
            self.text.push_str(str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// The next event that is not a heartbeat.
    pub async fn next(&mut self) -> Option<Event> {
        let deadline = Instant::now() + NEXT_EVENT_LIMIT;
        loop {
            let part = self.part().await?;
            if part.starts_with(":\nid: ") {
                assert!(Instant::now() < deadline, "nothing but heartbeats");
                continue;
            }
            let field = |name: &str| {
                let found = part.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                found.unwrap_or_default().to_owned()
            };
            let data = serde_json::from_str(&field("data")).unwrap();
            return Some(Event { id: field("id"), name: field("event"), data });
        }
    }

    /// The texts of the next so many lines.
    pub async fn lines(&mut self, count: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for _ in 0..count {
            let event = self.next().await.expect("another line");
            assert_eq!((event.name.as_str(), &event.data["cursor"]), ("", &json!(event.id)));
            lines.push(event.data["log"].as_str().unwrap().to_owned());
        }
        lines
    }

    pub async fn ends(mut self) {
        while self.part().await.is_some() {}
    }
}

impl Shop {
    pub async fn follow(&self, end: &str) -> Events {
        Events::open(self.server.get(&self.path(&format!("/follow{end}"))).by(&self.ada)).await
    }

    async fn follow_from(&self, id: &str) -> Events {
        Events::open(self.server.get(&self.path("/follow")).by(&self.ada).header("last-event-id", id)).await
    }
}

async fn the_newest_lines_and_what_comes(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=150).await;
    let mut all = shop.follow("").await;
    assert_eq!(all.lines(100).await, numbered(51..=150));
    let mut some = shop.follow("?tail=3").await;
    let first = some.next().await.unwrap();
    assert_eq!((first.id.as_str(), &first.data["log"]), ("148", &json!("line 148")));
    assert_eq!((&first.data["application"], &first.data["application_deployment"]), (&json!({}), &json!({})));
    assert_eq!(some.lines(2).await, numbered(149..=150));
    // A client that has not even seen the first line asks for it again.
    assert_eq!((all.begin.as_str(), some.begin.as_str()), ("50", "147"));
    assert_eq!(shop.follow_from("147").await.lines(3).await, numbered(148..=150));
    let mut none = shop.follow("?tail=0").await;
    assert_eq!(none.begin, "150");
    // What is embedded elsewhere looks the same.
    let record = shop.server.application(&shop.ada, &json!(shop.application)).await;
    assert_eq!(record["logs"][2], first.data);
    for number in 151..=160 {
        shop.print(std::iter::once(number)).await;
    }
    shop.print(161..=400).await;
    for events in [&mut all, &mut some, &mut none] {
        assert_eq!(events.lines(250).await, numbered(151..=400));
    }
}

async fn resuming(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=1_000).await;
    // `Last-Event-ID` goes before everything else.
    let call = shop.server.get(&shop.path("/follow?after=700&tail=5")).by(&shop.ada).header("last-event-id", "300");
    let mut events = Events::open(call).await;
    assert_eq!(events.lines(3).await, numbered(301..=303));
    drop(events);
    let mut next = 1_001;
    let (mut seen, mut last) = (Vec::new(), "303".to_owned());
    // Again and again, while lines come.
    for round in 0..10 {
        let mut events = shop.follow_from(&last).await;
        shop.print(next..next + 50).await;
        next += 50;
        for _ in 0..100 + round {
            let event = events.next().await.unwrap();
            seen.push(event.data["log"].as_str().unwrap().to_owned());
            last = event.id;
        }
    }
    assert_eq!(seen, numbered(304..304 + seen.len() as u32));
    let mut events = shop.follow("?after=0").await;
    assert_eq!(events.lines(next as usize - 1).await, numbered(1..next));
    // A place that there is not yet is as good as the end.
    let mut events = shop.follow_from("999999999").await;
    shop.print(next..=next).await;
    assert_eq!(events.lines(1).await, numbered(next..=next));
}

async fn a_gap_is_told(server: TestServer) {
    let shop = Shop::new(server).await;
    for batch in 0..20 {
        let lines = (0..100).map(|line| format!("{batch} {line} {}", "x".repeat(1_000)));
        shop.server.print(shop.deployment, lines).await;
    }
    let store = &shop.server.app.logs.store;
    shop.trim(1_000_000).await;
    let first = store.first_seq(shop.application).await.unwrap().unwrap();
    assert!(first > 100, "{first}");
    let mut events = shop.follow_from("5").await;
    let gap = events.next().await.unwrap();
    let expected = Event { id: (first - 1).to_string(), name: "gap".into(), data: json!({ "missing": first - 6 }) };
    assert_eq!(gap, expected);
    assert_eq!(events.next().await.unwrap().id, first.to_string());
    // A client that has been told, and one that begins with the oldest line, miss nothing.
    for mut events in [shop.follow_from(&gap.id).await, shop.follow("?after=0").await] {
        assert_eq!(events.next().await.unwrap().id, first.to_string());
    }
    // Also when nothing is left, and when only some lines are wanted.
    shop.trim(-1).await;
    let mut events = shop.follow_from("1990").await;
    assert_eq!(events.next().await.unwrap().data, json!({ "missing": 10 }));
    let mut filtered = shop.follow("?after=1985&regex=^new").await;
    let gap = filtered.next().await.unwrap();
    assert_eq!(gap, Event { id: "2000".into(), name: "gap".into(), data: json!({ "missing": 15 }) });
    shop.server.print(shop.deployment, std::iter::once("new".to_owned())).await;
    assert_eq!(events.next().await.unwrap().id, "2001");
    assert_eq!(filtered.next().await.unwrap().id, "2001");
}

async fn filtered(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=2_000).await;
    let mut some = shop.follow(&format!("?tail=2&regex={}", escape("^line .*00$"))).await;
    assert_eq!(some.lines(2).await, ["line 1900", "line 2000"]);
    let mut resumed = shop.follow("?after=1500&search_term=LINE+1&regex=99$").await;
    let mut errors = shop.follow("?stream=stderr").await;
    let mut late = shop.follow("?start_time=2026-01-02").await;
    assert_eq!(resumed.lines(5).await, ["line 1599", "line 1699", "line 1799", "line 1899", "line 1999"]);
    shop.print(2_001..=2_350).await;
    shop.print(10_000..=10_200).await;
    let line = shop.server.line(LogStream::Stderr, LogStep::Run, "trouble".into());
    shop.server.store_lines(shop.deployment, vec![line]).await;
    assert_eq!(some.lines(6).await, ["line 2100", "line 2200", "line 2300", "line 10000", "line 10100", "line 10200"]);
    assert_eq!(resumed.lines(2).await, ["line 10099", "line 10199"]);
    assert_eq!(errors.lines(1).await, ["trouble"]);
    shop.server.app.clock.advance_seconds(86_400);
    shop.print(5..=5).await;
    assert_eq!(late.lines(1).await, ["line 5"]);
}

async fn of_a_deployment(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=3).await;
    let other = shop.redeploy().await;
    shop.server.print(other, std::iter::once("of another".to_owned())).await;
    let path = shop.path_of_deployment("/follow");
    let mut own = Events::open(shop.server.get(&path).by(&shop.ada)).await;
    let mut others = shop.follow(&format!("?deployment_id={other}")).await;
    assert_eq!(own.lines(3).await, numbered(1..=3));
    for number in 4..=20 {
        shop.server.print(other, std::iter::once(format!("other {number}"))).await;
        shop.print(std::iter::once(number)).await;
    }
    assert_eq!(own.lines(17).await, numbered(4..=20));
    let mut expected = vec!["of another".to_owned()];
    expected.extend((4..=20).map(|number| format!("other {number}")));
    assert_eq!(others.lines(18).await, expected);
    let call = shop.server.get(&path).by(&shop.ada).header("last-event-id", "2");
    assert_eq!(Events::open(call).await.lines(2).await, numbered(3..=4));
}

async fn ends_with_the_server(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print_many().await;
    let (quiet, mut behind) = (shop.follow("").await, shop.follow("?after=0").await);
    behind.lines(1).await;
    shop.server.app.stopping.send_replace(true);
    quiet.ends().await;
    let mut last = 1;
    while let Some(event) = behind.next().await {
        last = event.id.parse().unwrap();
    }
    assert!(last < 30_000, "it was not behind, or went on");
    shop.follow("").await.ends().await;
}

/// A server that sends heartbeats often.
async fn quick(kind: Kind) -> Shop {
    let tune = |app: &mut App| app.searches.heartbeat = Duration::from_millis(100);
    Shop::new(TestServer::tuned(DatabaseLocation::fresh(kind).await, &[], tune).await).await
}

async fn heartbeats_come(kind: Kind) {
    let shop = quick(kind).await;
    let mut events = shop.follow("").await;
    for _ in 0..3 {
        assert_eq!(events.part().await.as_deref(), Some(":\nid: 0"));
    }
    let mut errors = shop.follow("?stream=stderr").await;
    shop.print(1..=7).await;
    assert_eq!(events.lines(7).await, numbered(1..=7));
    assert_eq!(events.part().await.as_deref(), Some(":\nid: 7"));
    // A client that reconnects need not search again through lines that it does not want.
    while errors.part().await.as_deref() != Some(":\nid: 7") {}
}

async fn ends_with_the_login(kind: Kind) {
    let shop = quick(kind).await;
    let login = json!({ "email": shop.ada.email, "password": crate::support::PASSWORD });
    let data = shop.server.post("/auth/login", login).ok().await;
    let second = Person { token: data["access_token"].as_str().unwrap().to_owned(), ..shop.ada.clone() };
    let key = json!({ "name": "k", "organization_id": shop.ada.organization_id, "permissions": ["deploy:read"] });
    let key = shop.server.post("/auth/api-keys", key).by(&shop.ada).ok().await;
    let program = Person { token: key["key"].as_str().unwrap().to_owned(), ..shop.ada.clone() };
    let follow = async |person: &Person| Events::open(shop.server.get(&shop.path("/follow")).by(person)).await;
    let (mut stays, by_login, by_key) = (follow(&shop.ada).await, follow(&second).await, follow(&program).await);
    shop.server.call(axum::http::Method::POST, "/auth/logout").by(&second).ok().await;
    shop.server.delete(&format!("/auth/api-keys/{}", id_of(&key["api_key"]))).by(&shop.ada).ok().await;
    by_login.ends().await;
    by_key.ends().await;
    shop.print(1..=1).await;
    assert_eq!(stays.lines(1).await, numbered(1..=1));
}

async fn ends_with_the_membership(kind: Kind) {
    let shop = quick(kind).await;
    let vera = shop.server.join(&shop.ada, "vera", Role::Viewer).await;
    let mut events = Events::open(shop.server.get(&shop.path("/follow")).by(&vera)).await;
    shop.print(1..=1).await;
    assert_eq!(events.lines(1).await, numbered(1..=1));
    let remove = json!({ "user_id": vera.user_id });
    shop.server.post("/organizations/remove-user", remove).by(&shop.ada).ok().await;
    events.ends().await;
}

async fn ends_with_the_application(kind: Kind) {
    let shop = quick(kind).await;
    let events = shop.follow("").await;
    let mut tx = shop.server.app.db.begin().await.unwrap();
    windlass_store::jobs::withdraw(&mut tx, shop.deployment).await.unwrap();
    applications::delete(&mut tx, shop.application).await.unwrap();
    tx.commit().await.unwrap();
    events.ends().await;
}

/// Only PostgreSQL is shared, and this server is not told what others write.
async fn lines_of_another_server(server: TestServer) {
    let shop = Shop::new(server).await;
    let mut events = shop.follow("").await;
    let store = &shop.server.app.logs.store;
    if !store.is_shared() {
        return;
    }
    let lines = vec![shop.server.line(LogStream::Stdout, LogStep::Run, "from elsewhere".into())];
    let batch = Batch { application_id: shop.application, deployment_id: shop.deployment, lines, progress: None };
    shop.server.place.open_logs().await.append(&[batch]).await.unwrap();
    assert_eq!(events.lines(1).await, ["from elsewhere"]);
    shop.print(1..=1).await;
    assert_eq!(events.lines(1).await, numbered(1..=1));
}
