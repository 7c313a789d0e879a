//! Log lines in pages, and searched.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{LogStep, LogStream, Role, Timestamp};
use windlass_store::Kind;
use windlass_store::logs::{Batch, LogLine};
use windlass_testing::{DatabaseLocation, on_both_databases, on_sqlite_and_long_on_postgres};

use crate::deploys::{least, most};
use crate::support::{Person, START, TestServer, id_of, kind, server, snapshot};

on_both_databases!(server: relations_are_written_once, relations_have_a_bound, a_place_in_the_future, cursors_lose_nothing, pages_by_number, filters, colours_are_shown_on_request, searches_find_any_case,
    bad_parameters, foreign_logs, a_viewer_sees_masks, lines_outlive_their_deployment,
    what_cannot_be_stored_waits_for_a_while, lines_that_cannot_be_stored_hold_up_no_others);
on_sqlite_and_long_on_postgres!(server: patterns_that_look_dangerous);
on_both_databases!(kind: a_search_that_takes_long_goes_on, an_organization_keeps_no_more_than_the_operator_gives);

/// An application with one deployment.
pub struct Shop {
    pub server: TestServer,
    pub ada: Person,
    pub application: Uuid,
    pub deployment: Uuid,
}

impl Shop {
    /// What retention does.
    pub async fn trim(&self, keep_bytes: i64) {
        let (store, now) = (&self.server.app.logs.store, self.server.app.now());
        while store.trim(self.application, keep_bytes, Timestamp::from_micros(0), now).await.unwrap() > 0 {}
    }

    pub async fn new(server: TestServer) -> Self {
        let ada = server.admin().await;
        let shop = server.deploy(&ada, least("shop")).await;
        Self { application: id_of(&shop), deployment: id_of(&shop["deployments"][0]), server, ada }
    }

    /// What is there about its logs, under the path that ends so.
    pub fn path(&self, end: &str) -> String {
        format!("/deploy/application/logs/{}{end}", self.application)
    }

    pub fn path_of_deployment(&self, end: &str) -> String {
        format!("/deploy/application/deployments/{}/logs{end}", self.deployment)
    }

    /// `line 1`, `line 2` and so on.
    pub async fn print(&self, numbers: impl Iterator<Item = u32>) {
        self.server.print(self.deployment, numbers.map(|number| format!("line {number}"))).await;
    }

    async fn page(&self, query: &str) -> (Vec<String>, String) {
        let page = self.server.get(&self.path(&format!("?{query}"))).by(&self.ada).ok().await;
        (texts(&page), page["next_cursor"].as_str().unwrap().to_owned())
    }

    async fn found(&self, query: &str) -> Vec<String> {
        self.page(query).await.0
    }

    pub async fn redeploy(&self) -> Uuid {
        let redeploy = json!({ "id": self.application });
        id_of(&self.server.post("/deploy/application/redeploy", redeploy).by(&self.ada).ok().await)
    }
}

fn texts(page: &Value) -> Vec<String> {
    page["logs"].as_array().unwrap().iter().map(|line| line["log"].as_str().unwrap().to_owned()).collect()
}

pub fn numbered(numbers: impl Iterator<Item = u32>) -> Vec<String> {
    numbers.map(|number| format!("line {number}")).collect()
}

pub fn escape(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

async fn relations_are_written_once(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, most("Shop")).await;
    let path = format!("/deploy/application/logs/{}", id_of(&shop));
    let page = server.get(&path).by(&ada).ok().await;
    let line = &page["logs"][0];
    assert_eq!((&line["application"]["id"], &line["application_id"]), (&shop["id"], &shop["id"]));
    assert_eq!(line["application_deployment"]["id"], line["application_deployment_id"]);
    // The same fields as anywhere else, in the same order.
    let keys = |record: &Value| record.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&line["application"]), keys(&shop));
    assert_eq!(keys(&line["application_deployment"]), keys(&shop["deployments"][0]));
    snapshot("logs_without_relations", &server.get(&format!("{path}?relations=none")).by(&ada).ok().await);
}

/// The application stands in every line, with all its variables, which are JSON in JSON.
async fn relations_have_a_bound(server: TestServer) {
    let shop = Shop::new(server).await;
    let variables = json!({ "A": "\"".repeat(30_000), "B": "\\".repeat(30_000) });
    let update = json!({ "id": shop.application, "environment_variables": variables });
    shop.server.put("/deploy/application", update).by(&shop.ada).ok().await;
    shop.print(1..=200).await;
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = shop.path(&format!("?page_size=1000&before={cursor}"));
        let reply = shop.server.get(&path).by(&shop.ada).send().await;
        assert!(reply.text.len() <= 8 * 1024 * 1024, "{}", reply.text.len());
        assert_eq!(reply.json["message"], "Log lines");
        seen.extend(texts(&reply.json["data"]));
        cursor = reply.json["data"]["next_cursor"].as_str().unwrap().to_owned();
        if cursor.is_empty() {
            break;
        }
        assert!(reply.text.len() > 7 * 1024 * 1024, "{}", reply.text.len());
    }
    assert_eq!(seen, numbered((1..=200).rev()));
    assert_eq!(shop.found("page_size=1000&relations=none").await.len(), 200);
}

/// A cursor beyond the end is taken for the end.
async fn a_place_in_the_future(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=3).await;
    let (lines, cursor) = shop.page("after=1000").await;
    assert_eq!((lines.len(), cursor.as_str()), (0, "3"));
    shop.print(4..=5).await;
    assert_eq!(shop.found(&format!("after={cursor}")).await, numbered(4..=5));
}

async fn cursors_lose_nothing(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=2_500).await;
    let (mut seen, mut cursor) = shop.page("page_size=999&relations=none").await;
    let mut next = 2_501;
    while !cursor.is_empty() {
        // What comes meanwhile moves nothing.
        shop.print(next..next + 7).await;
        next += 7;
        let (lines, after) = shop.page(&format!("page_size=400&before={cursor}&relations=none")).await;
        seen.extend(lines);
        cursor = after;
    }
    assert_eq!(seen, numbered((1..=2_500).rev()));
    // The other way, until nothing is left.
    let (mut seen, mut cursor) = shop.page("after=0&page_size=1000&relations=none").await;
    loop {
        let (lines, after) = shop.page(&format!("after={cursor}&page_size=1000&relations=none")).await;
        if lines.is_empty() {
            assert_eq!(after, cursor);
            break;
        }
        seen.extend(lines);
        cursor = after;
    }
    assert_eq!(seen, numbered(1..next));
}

async fn pages_by_number(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=1_250).await;
    for query in ["", "&search_term=line", &format!("&deployment_id={}", shop.deployment)] {
        let mut seen = Vec::new();
        for page in 1..=13 {
            let (lines, cursor) = shop.page(&format!("page={page}&relations=none{query}")).await;
            assert_eq!(cursor.is_empty(), page == 13, "{page} {cursor}");
            seen.extend(lines);
        }
        assert_eq!(seen, numbered((1..=1_250).rev()), "{query}");
        for page in ["14", "1000000000"] {
            assert_eq!(shop.page(&format!("page={page}{query}")).await, (Vec::new(), String::new()));
        }
        let last = shop.found(&format!("page=2&pageSize=1000&relations=none{query}")).await;
        assert_eq!(last, numbered((1..=250).rev()));
    }
}

async fn filters(server: TestServer) {
    let shop = Shop::new(server).await;
    let other = shop.redeploy().await;
    for (second, (deployment, stream, text)) in [
        (shop.deployment, LogStream::Windlass, "begins"),
        (shop.deployment, LogStream::Stdout, "first"),
        (other, LogStream::Stderr, "second"),
        (other, LogStream::Stdout, "third"),
    ]
    .into_iter()
    .enumerate()
    {
        let at = START.plus_seconds(second as i64 * 60);
        let step = if second == 0 { LogStep::Build } else { LogStep::Run };
        let service = if text == "third" { "web".to_owned() } else { String::new() };
        let line = LogLine { stream, service, ..LogLine::note(at, step, text.to_owned()) };
        shop.server.store_lines(deployment, vec![line]).await;
    }
    for (query, expected) in [
        ("stream=stderr".to_owned(), vec!["second"]),
        ("stream=windlass".to_owned(), vec!["begins"]),
        ("stream=windlass,stderr".to_owned(), vec!["second", "begins"]),
        ("step=build".to_owned(), vec!["begins"]),
        ("step=build,run&stream=stdout,windlass".to_owned(), vec!["third", "first", "begins"]),
        ("step=fetch".to_owned(), vec![]),
        ("service=web".to_owned(), vec!["third"]),
        ("service=we".to_owned(), vec![]),
        ("service=web&stream=stderr".to_owned(), vec![]),
        (format!("deployment_id={other}"), vec!["third", "second"]),
        ("start_time=2026-01-01T00:01:00Z".to_owned(), vec!["third", "second", "first"]),
        ("end_time=2026-01-01T00:01:00Z".to_owned(), vec!["begins"]),
        ("start_time=2026-01-01T00:01:00Z&end_time=2026-01-01T00:02:00.000001Z".to_owned(), vec!["second", "first"]),
        ("start_time=2026-01-02".to_owned(), vec![]),
        ("stream=stdout&search_term=IR".to_owned(), vec!["third", "first"]),
        (format!("stream=stdout&deployment_id={other}&regex=^t"), vec!["third"]),
        ("search_term=r&regex=^f".to_owned(), vec!["first"]),
        ("search_term=&stream=&deployment_id=&page=&before=".to_owned(), vec!["third", "second", "first", "begins"]),
    ] {
        assert_eq!(shop.found(&query).await, expected, "{query}");
        if !query.contains("deployment_id") {
            let mut oldest_first = shop.found(&format!("{query}&after=0")).await;
            oldest_first.reverse();
            assert_eq!(oldest_first, expected, "{query}");
        }
    }
    let page = shop.server.get(&shop.path_of_deployment("?search_term=I&relations=none")).by(&shop.ada).ok().await;
    assert_eq!(texts(&page), ["first", "begins"]);
}

/// Colours are stored, searched past, and shown only where they are asked for.
async fn colours_are_shown_on_request(server: TestServer) {
    let shop = Shop::new(server).await;
    let colored = "\u{1b}[31mer\u{1b}[1mror\u{1b}[0m: no";
    shop.server.print(shop.deployment, [colored.to_owned()].into_iter()).await;
    for query in ["", "search_term=ERROR", "regex=^error:", "colors=false"] {
        assert_eq!(shop.found(query).await, ["error: no"], "{query}");
    }
    assert_eq!(shop.found("search_term=error&colors=true").await, [colored]);
    assert!(shop.found("search_term=31m&colors=true").await.is_empty(), "a colour is no text");
    let file = shop.server.get(&shop.path("/download")).by(&shop.ada).send().await.text;
    assert!(file.ends_with(" error: no\n"), "{file}");
    shop.server.get(&shop.path("?colors=maybe")).by(&shop.ada).fails(400, "invalid_request").await;
}

async fn searches_find_any_case(server: TestServer) {
    let shop = Shop::new(server).await;
    let lines = ["ÄRGER mit Größe", "ΟΔΥΣΣΕΥΣ", "a.b*c", "nothing"].map(str::to_owned);
    shop.server.print(shop.deployment, lines.clone().into_iter()).await;
    for (term, expected) in [("ärger", 0), ("GRÖẞE", 0), ("οδυσσευς", 1), (".B*", 2), ("a.b*c", 2)] {
        assert_eq!(shop.found(&format!("search_term={}", escape(term))).await, [lines[expected].clone()], "{term}");
    }
    assert!(shop.found("search_term=axb").await.is_empty());
    // Spaces are as good as letters.
    assert_eq!(shop.found("search_term=%20mit%20").await, [lines[0].clone()]);
    assert_eq!(shop.found("search_term=%20").await, [lines[0].clone()]);
    assert!(shop.found("search_term=%20%C3%A4rger").await.is_empty());
    assert!(shop.found("regex=nothing%20").await.is_empty());
    assert_eq!(shop.found("regex=%20m&search_term=").await, [lines[0].clone()]);
    assert!(shop.found("regex=NOTHING").await.is_empty());
    for regex in ["(?i)NOTHING", "^no.*g$", r"\bnothing\b", r"^\w{7}$", "noth|xyz"] {
        assert_eq!(shop.found(&format!("regex={}", escape(regex))).await, ["nothing"], "{regex}");
    }
}

/// With the longest lines that there are, and the largest patterns that are taken.
async fn patterns_that_look_dangerous(server: TestServer) {
    const LINES: u32 = 40;
    let shop = Shop::new(server).await;
    // Both what patterns go back and forth on, and what has no order at all.
    let random = |line: u32| {
        let mut bits = line.wrapping_add(1).wrapping_mul(2_654_435_761);
        let mut next = || {
            bits ^= bits << 13;
            bits ^= bits >> 17;
            bits ^= bits << 5;
            if bits & 1 == 0 { 'a' } else { 'c' }
        };
        (0..256 * 1024).map(|_| next()).collect::<String>()
    };
    shop.server.print(shop.deployment, (0..LINES / 2).map(|_| "a".repeat(256 * 1024))).await;
    shop.server.print(shop.deployment, (0..LINES / 2).map(random)).await;
    for regex in [
        "(a+)+$b",
        "(a|a)*b",
        "(a|aa)+$b",
        "(.*a){20}b",
        "(x+x+)+y",
        "^(([a-z])+.)+[A-Z]([a-z])+$",
        "(a?){300}a{300}b",
        "[a-q][^u-z]{13}x",
        "(?s).{0,500}b",
        "a.{200}[0-9]",
        "(?-u:a[a-c]{400}[0-9])",
        "a[ac]{1400}x",
        "a(.a?){500}x",
        "(a|c).{0,300}(a|c).{90}[x-z]",
        r"(\w\s?){19}[0-9]",
        "(.*)(.*)(.*)(.*)(.*)[0-9]$",
    ] {
        let started = Instant::now();
        let path = shop.path(&format!("?regex={}&relations=none", escape(regex)));
        let reply = shop.server.get(&path).by(&shop.ada).send().await;
        let (took, limit) = (started.elapsed(), shop.server.app.config.search_limit);
        assert_eq!((reply.status, texts(&reply.json["data"]).len()), (200, 0), "{regex}");
        // Either everything was looked at, or the answer came in time all the same and says so.
        let (is_through, message) = (reply.json["data"]["next_cursor"] == "", reply.json["message"].as_str().unwrap());
        assert_eq!(message.contains("goes on from next_cursor"), !is_through, "{regex}: {message}");
        assert!(took < limit + Duration::from_secs(5), "{regex}: {took:?}");
    }
    for regex in ["a[ac]{9000}x", r"\w{1000}", "(a{100}){100}"] {
        let path = shop.path(&format!("?regex={}", escape(regex)));
        let message = shop.server.get(&path).by(&shop.ada).fails(400, "invalid_request").await;
        assert_eq!(message, "regex: would take too much memory; repeat less", "{regex}");
    }
}

async fn bad_parameters(server: TestServer) {
    let shop = Shop::new(server).await;
    let long = format!("search_term={}", "x".repeat(201));
    let shared = [
        (long.as_str(), "search_term"),
        ("search_term=a%00b", "search_term"),
        ("regex=a(", "regex"),
        ("regex=(?%3C!a)b", "regex"),
        ("regex=(a%7B1000%7D)%7B1000%7D", "regex"),
        ("stream=stdin", "stream"),
        ("stream=stdout,", "stream"),
        ("step=dancing", "step"),
        ("start_time=yesterday", "start_time"),
        ("end_time=2026-13-01", "end_time"),
    ];
    let pages = [
        ("page=0", "page"),
        ("page=x", "page"),
        ("page_size=0", "page_size"),
        ("page_size=1001", "page_size"),
        ("before=x", "before"),
        ("after=-1", "after"),
        ("after=99999999999999999999", "after"),
        ("relations=some", "relations"),
        ("page=1&before=3", "before"),
        ("page=1&after=3", "after"),
        ("before=1&after=1", "after"),
    ];
    let following = [("tail=1001", "tail"), ("tail=-1", "tail"), ("after=x", "after")];
    let named = [("deployment_id=17", "deployment_id")];
    for (end, own) in [("", &pages[..]), ("/follow", &following[..]), ("/download", &[][..])] {
        for (query, field) in shared.iter().chain(own) {
            for path in [shop.path(end), shop.path_of_deployment(end)] {
                shop.refuses(&format!("{path}?{query}"), field).await;
            }
        }
        for (query, field) in named {
            shop.refuses(&format!("{}?{query}", shop.path(end)), field).await;
        }
    }
    for seen in ["x", "-1", "1.5"] {
        let call = shop.server.get(&shop.path("/follow")).by(&shop.ada).header("last-event-id", seen);
        assert_eq!(call.fails(400, "invalid_request").await, "last-event-id: must be the id of an event");
    }
    for end in ["", "/follow", "/download"] {
        shop.refuses(&format!("/deploy/application/logs/17{end}"), "application_id").await;
        shop.refuses(&format!("/deploy/application/deployments/17/logs{end}"), "deployment_id").await;
    }
}

impl Shop {
    async fn refuses(&self, path: &str, field: &str) {
        let message = self.server.get(path).by(&self.ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(&format!("{field}: ")) && message.len() < 300, "{path}: {message}");
        assert!(!message.contains('\n'), "{message}");
    }
}

async fn foreign_logs(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=3).await;
    let eve = shop.server.stranger(&shop.ada, "eve").await;
    let theirs = shop.server.deploy(&eve, least("theirs")).await;
    let other = shop.server.deploy(&shop.ada, least("other")).await;
    for end in ["", "/follow", "/download"] {
        for path in [shop.path(end), shop.path_of_deployment(end)] {
            shop.server.get(&path).by(&eve).fails(404, "not_found").await;
            // Whether the caller may know of it is checked before what the caller asks for.
            shop.server.get(&format!("{path}?regex=(")).by(&eve).fails(404, "not_found").await;
        }
        // What is not an id names nothing, for any caller.
        shop.server.get(&shop.path(&format!("{end}?deployment_id=17"))).by(&eve).fails(400, "invalid_request").await;
        for deployment in [&theirs["deployments"][0]["id"], &other["deployments"][0]["id"], &json!(Uuid::nil())] {
            let path = shop.path(&format!("{end}?deployment_id={}", deployment.as_str().unwrap()));
            assert_eq!(shop.server.get(&path).by(&shop.ada).fails(404, "not_found").await, "No such deployment.");
        }
    }
}

async fn a_viewer_sees_masks(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "vera", Role::Viewer).await;
    let shop = server.running(&ada, most("Shop")).await;
    let path = format!("/deploy/application/logs/{}", id_of(&shop));
    let seen = async |person: &Person| {
        let page = server.get(&path).by(person).ok().await;
        let variables = page["logs"][0]["application"]["environment_variables"].as_str().unwrap().to_owned();
        serde_json::from_str::<Value>(&variables).unwrap()
    };
    assert_eq!(seen(&ada).await["GREETING"], "hello");
    assert_eq!(seen(&viewer).await, json!({ "GREETING": "********", "password": "********" }));
}

async fn lines_outlive_their_deployment(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=2).await;
    let gone = Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_00ff_ffff);
    let lines = vec![shop.server.line(LogStream::Stdout, LogStep::Run, "of one that is forgotten".to_owned())];
    let batch = Batch { application_id: shop.application, deployment_id: gone, lines, progress: None };
    shop.server.app.logs.write(batch).await.unwrap();
    let page = shop.server.get(&shop.path("")).by(&shop.ada).ok().await;
    assert_eq!(page["logs"][0]["application_deployment_id"], json!(gone));
    assert_eq!(page["logs"][0]["application_deployment"], json!({}));
    assert_eq!(page["logs"][0]["application"]["name"], "shop");
    assert_eq!(page["logs"][1]["application_deployment"]["id"], json!(shop.deployment));
}

/// Each of them whole, and in the end the caller learns what became of it.
async fn what_cannot_be_stored_waits_for_a_while(server: TestServer) {
    let shop = Shop::new(server).await;
    let server = &shop.server;
    let heads = match server.app.db.kind() {
        Kind::Sqlite => {
            let file = server.place.folder.path().join("logs.db");
            format!("attach '{}' as logs; alter table logs.", file.display())
        }
        Kind::Postgres => "alter table ".to_owned(),
    };
    let [hide, show] = [("log_heads", "hidden"), ("hidden", "log_heads")]
        .map(|(before, after)| format!("{heads}{before} rename to {after}"));
    let write = |text: &str| {
        let lines = vec![server.line(LogStream::Stdout, LogStep::Run, text.to_owned())];
        let (application_id, deployment_id) = (shop.application, shop.deployment);
        let (app, batch) = (server.app.clone(), Batch { application_id, deployment_id, lines, progress: None });
        let stored = tokio::spawn(async move { app.logs.write(batch).await.is_ok() });
        async { tokio::time::timeout(Duration::from_secs(30), stored).await.expect("in time").unwrap() }
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        server.place.execute(&hide).await;
        let stored = write("late");
        while server.app.logs.problem().is_none() {
            assert!(Instant::now() < deadline, "the line was stored nowhere");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        server.place.execute(&show).await;
        // A machine that is too busy brings the table back after the last try.
        if stored.await {
            break;
        }
        assert!(Instant::now() < deadline, "no line waited");
    }
    assert_eq!(shop.found("").await, ["late"]);
    server.place.execute(&hide).await;
    assert!(!write("too late").await);
    server.place.execute(&show).await;
    assert!(write("in time").await);
    assert_eq!(shop.found("").await, ["in time", "late"]);
}

/// The lines of one application are refused by the database; those of another are stored meanwhile.
async fn lines_that_cannot_be_stored_hold_up_no_others(server: TestServer) {
    let shop = Shop::new(server).await;
    let server = &shop.server;
    let other = server.deploy(&shop.ada, least("other")).await;
    let poisoned = id_of(&other);
    server.place.execute(&refuse_lines_of(server, poisoned)).await;
    let write = |application_id, deployment_id, text: &str| {
        let lines = vec![server.line(LogStream::Stdout, LogStep::Run, text.to_owned())];
        let (app, batch) = (server.app.clone(), Batch { application_id, deployment_id, lines, progress: None });
        tokio::spawn(async move { app.logs.write(batch).await.is_ok() })
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let refused = write(poisoned, id_of(&other["deployments"][0]), "refused");
        while server.app.logs.problem().is_none() {
            assert!(Instant::now() < deadline, "nothing was refused");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let stored = tokio::time::timeout(Duration::from_secs(30), write(shop.application, shop.deployment, "stored"));
        assert!(stored.await.expect("in time").unwrap());
        let is_waiting = !refused.is_finished();
        assert!(!refused.await.unwrap());
        // A machine that is too busy tells of the one only when the other is given up.
        if is_waiting {
            break;
        }
        assert!(Instant::now() < deadline, "the lines waited until the others were given up");
    }
    assert_eq!(shop.found("").await.last().unwrap(), "stored");
}

fn refuse_lines_of(server: &TestServer, application: Uuid) -> String {
    match server.app.db.kind() {
        Kind::Sqlite => format!(
            "attach '{}' as logs; create trigger logs.refuse before insert on log_chunks when new.application_id = x'{}' begin select raise(abort, 'refused'); end",
            server.place.folder.path().join("logs.db").display(),
            application.simple()
        ),
        Kind::Postgres => format!(
            "create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$; create trigger refuse before insert on log_chunks for each row when (new.application_id = '{application}') execute function refuse()"
        ),
    }
}

async fn a_search_that_takes_long_goes_on(kind: Kind) {
    let tune = |app: &mut windlass_server::App| app.config.search_limit = Duration::ZERO;
    let shop = Shop::new(TestServer::tuned(DatabaseLocation::fresh(kind).await, &[], tune).await).await;
    shop.print(1..=60_000).await;
    let query = "search_term=5000&relations=none&page_size=1000";
    let expected: Vec<_> = numbered((1..=60_000).rev().filter(|number| number.to_string().contains("5000")));
    let deadline = Instant::now() + Duration::from_secs(60);
    let (mut seen, mut cursor, mut cuts) = (Vec::new(), String::new(), 0);
    loop {
        assert!(Instant::now() < deadline, "the search gets nowhere");
        let path = shop.path(&format!("?{query}&before={cursor}"));
        let reply = shop.server.get(&path).by(&shop.ada).send().await;
        assert_eq!(reply.status, 200);
        seen.extend(texts(&reply.json["data"]));
        let message = reply.json["message"].as_str().unwrap();
        cursor = reply.json["data"]["next_cursor"].as_str().unwrap().to_owned();
        cuts += usize::from(message.contains("goes on from next_cursor"));
        if cursor.is_empty() {
            assert_eq!(message, "Log lines");
            break;
        }
    }
    // One chunk of about 64 KiB at a time.
    assert!((10..40).contains(&cuts), "{cuts}");
    assert_eq!(seen, expected);
    let message =
        shop.server.get(&shop.path("?search_term=5000&page=1000")).by(&shop.ada).fails(503, "time_limit").await;
    assert!(message.starts_with("page: ") && message.contains("next_cursor"), "{message}");
}

async fn an_organization_keeps_no_more_than_the_operator_gives(kind: Kind) {
    const MIB: i64 = 1024 * 1024;
    let server = TestServer::with(kind, &[("organization-log-mib", "4")]).await;
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let mut ids = Vec::new();
    for (person, name, lines) in
        [(&eve, "loud", 4_000), (&eve, "louder", 6_000), (&eve, "quiet", 500), (&ada, "shop", 3_000)]
    {
        let application = server.deploy(person, least(name)).await;
        let deployment = id_of(&application["deployments"][0]);
        for _ in 0..lines / 500 {
            server.print(deployment, (0..500).map(|number| format!("{number:01000}"))).await;
        }
        ids.push(id_of(&application));
    }
    let store = &server.app.logs.store;
    let before = store.kept().await.unwrap();
    windlass_server::logs::retention::trim_all(&server.app, false).await.unwrap();
    let after = store.kept().await.unwrap();
    let [loud, louder, quiet, shop] = <[Uuid; 4]>::try_from(ids).unwrap().map(|id| {
        let bytes = |all: &[windlass_store::logs::Kept]| all.iter().find(|one| one.application_id == id).unwrap().bytes;
        (bytes(&before), bytes(&after))
    });
    assert_eq!((quiet.0, shop.0), (quiet.1, shop.1), "what is little, and another organization's, stays");
    assert!(loud.1 + louder.1 + quiet.1 <= 4 * MIB, "{loud:?} {louder:?} {quiet:?}");
    // Chunks go whole, so a share is not used to its last byte.
    assert!(loud.1 > MIB && louder.1 > MIB, "{loud:?} {louder:?}");
}
