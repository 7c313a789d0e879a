//! What was done, which user did it, and that a later change of the log is found.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::service::audit::denials::{self, write_down};
use windlass_server::service::audit::verify::{Report, verify};
use windlass_server::service::audit::{Action, Actor, Change, Resource};
use windlass_store::{Kind, audit};
use windlass_testing::on_both_databases;

use crate::support::{Person, TestServer, kind, server, snapshot};

on_both_databases!(server: activities_can_be_filtered, pages, what_is_out_of_range_is_refused, the_instance_has_activities_too,
    messages_are_for_people, concurrent_writers_keep_the_chains, removing_a_whole_chain_is_found,
    refusals_are_counted_together, no_refusal_is_lost, a_chain_begins_once, entries_before_the_first_are_found, what_is_of_another_past_is_found,
    readers_see_what_they_may);
on_both_databases!(kind: tampering_is_found, going_on_heals_nothing);

const LIMIT: Duration = Duration::from_secs(30);

async fn activities(server: &TestServer, person: &Person, query: &str) -> Value {
    server.get(&format!("/audit/logs?{query}")).by(person).within(person.organization_id).ok().await
}

fn messages(data: &Value) -> Vec<&str> {
    data["activities"].as_array().unwrap().iter().map(|activity| activity["message"].as_str().unwrap()).collect()
}

/// Ada's organization with a known history.
async fn history(server: &TestServer) -> (Person, Person) {
    let ada = server.admin().await;
    server.app.clock.advance_seconds(3_600);
    let grace = server.join(&ada, "Grace", Role::Admin).await;
    server.app.clock.advance_seconds(3_600);
    server.put("/organizations", json!({ "name": "Zürich Engines" })).by(&grace).ok().await;
    (ada, grace)
}

async fn activities_can_be_filtered(server: TestServer) {
    let (ada, grace) = history(&server).await;
    let all = [
        "Grace updated the organization Zürich Engines",
        "Grace joined as admin",
        "Ada invited grace@example.org as admin",
        "Ada created the organization Analytical Engines",
    ];
    let actor = format!("actor={}", grace.user_id);
    for (query, expected) in [
        ("", &all[..]),
        ("search=&action=&actor=&from=&to=&resource_type=&page=", &all[..]),
        ("action=update", &all[..1]),
        ("resource_type=member", &all[1..2]),
        ("resource_type=application", &[]),
        ("actor=Grace", &all[..2]),
        (actor.as_str(), &all[..2]),
        ("actor=grace", &[]),
        ("search=GRACE@EXAMPLE", &all[1..3]),
        ("search=Z%C3%9CRICH", &all[..1]),
        ("search=127.0.0.1", &all[..]),
        ("search=%25", &[]),
        ("from=2026-01-01T01:00:00Z", &all[..3]),
        ("from=2026-01-01T01:00:00Z&to=2026-01-01T02:00:00Z", &all[1..3]),
        ("to=2026-01-01", &[]),
        ("from=2026-01-01&action=create&actor=Ada&resource_type=organization", &all[3..]),
    ] {
        let data = activities(&server, &ada, query).await;
        assert_eq!(messages(&data), expected, "{query}");
        assert_eq!(data["pagination"]["total_count"], expected.len(), "{query}");
    }
    // Of the newest activity, everything.
    snapshot("audit_activity", &activities(&server, &ada, "page_size=1").await);
}

async fn pages(server: TestServer) {
    let ada = server.admin().await;
    for number in 1..=24 {
        server.put("/organizations", json!({ "description": number.to_string() })).by(&ada).ok().await;
    }
    let page = async |query: &str| {
        let data = activities(&server, &ada, query).await;
        let pagination = data["pagination"].as_object().unwrap().values().cloned().collect::<Vec<_>>();
        (data["activities"].as_array().unwrap().len(), Value::from(pagination))
    };
    assert_eq!(page("").await, (10, json!([1, 10, 25, 3, true, false])));
    assert_eq!(page("page=3").await, (5, json!([3, 10, 25, 3, false, true])));
    assert_eq!(page("page=2&pageSize=20").await, (5, json!([2, 20, 25, 2, false, true])));
    assert_eq!(page("page=4").await, (0, json!([4, 10, 25, 3, false, true])));
    assert_eq!(page("page=1000000000&page_size=100").await, (0, json!([1_000_000_000, 100, 25, 1, false, true])));
    assert_eq!(page("page=2&page_size=7&action=update").await, (7, json!([2, 7, 24, 4, true, true])));
    // Every entry once, however it is paged.
    let mut seen = Vec::new();
    for number in 1..=9 {
        let data = activities(&server, &ada, &format!("page_size=3&page={number}")).await;
        seen.extend(data["activities"].as_array().unwrap().iter().map(|activity| activity["id"].to_string()));
    }
    assert_eq!(seen.len(), 25);
    assert!(seen.is_sorted_by(|a, b| a > b), "newest first, none twice: {seen:?}");
}

async fn what_is_out_of_range_is_refused(server: TestServer) {
    let ada = server.admin().await;
    for (query, field) in [
        ("page=0", "page"),
        ("page=-1", "page"),
        ("page=1.5", "page"),
        ("page=x", "page"),
        ("page=99999999999999999999", "page"),
        ("page_size=0", "page_size"),
        ("page_size=101", "page_size"),
        ("pageSize=101", "page"),
        ("action=destroy", "action"),
        ("from=yesterday", "from"),
        ("to=2026-13-01", "to"),
        ("scope=everything", "scope"),
        ("search=a%00b", "search"),
    ] {
        let message = server.get(&format!("/audit/logs?{query}")).by(&ada).fails(400, "invalid_request").await;
        assert!(message.starts_with(field), "{query}: {message}");
    }
    let long = "x".repeat(201);
    server.get(&format!("/audit/logs?search={long}")).by(&ada).fails(400, "invalid_request").await;
}

async fn the_instance_has_activities_too(server: TestServer) {
    let (ada, grace) = history(&server).await;
    let all = activities(&server, &ada, "scope=instance&page_size=100").await;
    let expected = [
        "Grace logged in",
        "Grace registered",
        "Ada logged in",
        "Ada created the organization Analytical Engines",
        "Ada registered",
    ];
    assert_eq!(messages(&all), expected);
    server.get("/audit/logs?scope=instance").by(&grace).fails(403, "forbidden").await;
    let body = json!({ "name": "ci", "permissions": ["audit:read"] });
    let key = server.post("/auth/api-keys", body).by(&ada).ok().await["key"].as_str().unwrap().to_owned();
    let key = Person { token: key, ..ada };
    server.get("/audit/logs?scope=instance").by(&key).fails(403, "forbidden").await;
    server.get("/audit/logs").by(&key).ok().await;
}

/// What each change reads like, in the order in which they are made.
async fn messages_are_for_people(server: TestServer) {
    let ada = server.admin().await;
    let grace = server.join(&ada, "Grace", Role::Viewer).await;
    server
        .post("/organizations/update-user-role", json!({ "user_id": grace.user_id, "role": "admin" }))
        .by(&ada)
        .ok()
        .await;
    let invited = server.post("/organizations/invite/send", json!({ "email": "x@example.org" })).by(&grace).ok().await;
    let path = format!("/organizations/invites/{}", invited["invitation"]["id"].as_str().unwrap());
    server.delete(&path).by(&grace).ok().await;
    let webhook = json!({ "type": "slack", "webhook_url": "https://hooks.example/abc-secret" });
    server.put("/notification/webhook", webhook).by(&ada).ok().await;
    server.put("/notification/webhook", json!({ "type": "slack", "is_active": false })).by(&ada).ok().await;
    server.delete("/notification/webhook").json(json!({ "type": "slack" })).by(&ada).ok().await;
    server.post("/notification/smtp", crate::walk::smtp()).by(&ada).ok().await;
    server.delete("/notification/smtp").by(&ada).ok().await;
    let key = server.post("/auth/api-keys", json!({ "name": "ci" })).by(&ada).ok().await;
    let with_key = Person { token: key["key"].as_str().unwrap().into(), ..ada.clone() };
    server.put("/organizations", json!({ "description": "by a program" })).by(&with_key).ok().await;
    let path = format!("/auth/api-keys/{}", key["api_key"]["id"].as_str().unwrap());
    server.delete(&path).by(&ada).ok().await;
    server.post("/organizations", json!({ "name": "Another" })).by(&ada).ok().await;
    server.post("/organizations/remove-user", json!({ "user_id": grace.user_id })).by(&ada).ok().await;

    let data = activities(&server, &ada, "page_size=100").await;
    let mut lines: Vec<_> = messages(&data);
    lines.reverse();
    snapshot("audit_messages", &json!(lines));
    let by_key = activities(&server, &ada, "action=update&page_size=1&resource_type=organization").await;
    assert_eq!(by_key["activities"][0]["metadata"]["api_key"], "ci");
}

async fn report(server: &TestServer) -> Report {
    verify(&server.app.db, &server.app.audit_key).await.unwrap()
}

async fn concurrent_writers_keep_the_chains(server: TestServer) {
    let ada = server.admin().await;
    let mut people = vec![ada.clone()];
    for number in 1..8 {
        people.push(server.join(&ada, &format!("writer{number}"), Role::Admin).await);
    }
    // Each writes to the shared chain, to the instance's, and to several at once, in different orders.
    let writer = async |person: &Person| {
        for round in 0..12 {
            let text = json!({ "description": format!("round {round}") });
            server.put("/organizations", text).by(person).within(ada.organization_id).ok().await;
            server.patch("/user/settings/theme", json!({ "theme": format!("t{round}") })).by(person).ok().await;
            server.post("/organizations", json!({ "name": "New" })).by(person).within(ada.organization_id).ok().await;
        }
    };
    let (a, b, c, d, e, f, g, h) =
        (&people[0], &people[1], &people[2], &people[3], &people[4], &people[5], &people[6], &people[7]);
    tokio::join!(writer(a), writer(b), writer(c), writer(d), writer(e), writer(f), writer(g), writer(h));
    let report = report(&server).await;
    assert_eq!(report.broken, []);
    assert_eq!(report.chains, 1 + 1 + 8 * 12);
    let shared = activities(&server, &ada, "").await["pagination"]["total_count"].clone();
    assert_eq!(shared, 1 + 2 * 7 + 2 * 8 * 12);
}

/// The very first entries of all, at once: one begins the chain, the others go on with it.
async fn a_chain_begins_once(server: TestServer) {
    let write = async || {
        let mut work = server.app.begin().await.unwrap();
        let change = Change {
            organization_id: None,
            action: Action::Update,
            resource: Resource::User,
            resource_id: Uuid::nil(),
            summary: "did something",
            details: &[],
        };
        work.record(&Actor::Operator, &change);
        work.commit().await.unwrap();
    };
    tokio::join!(write(), write(), write(), write());
    let report = report(&server).await;
    assert_eq!((report.entries, report.broken), (4, vec![]));
}

/// By hand, in the database: each change is found, with the entry that shows it.
async fn tampering_is_found(kind: Kind) {
    // Entries of the organization's chain: 1 created, 2 invited, 3 joined, 4 updated.
    let of_organization = "chain_id = (select id from organizations)";
    let copied = "chain_id, seq, id, actor_id, actor, action, resource, resource_id, message, metadata, search_text, \
                  created_at, mac";
    let shifted = copied.replace("seq", "seq + 1");
    let cases = [
        (vec![format!("update audit_entries set actor = 'Eve' where {of_organization} and seq = 2")], 2),
        (vec![format!("update audit_entries set message = 'nothing' where {of_organization} and seq = 3")], 3),
        (vec![format!("update audit_entries set created_at = created_at + 1 where {of_organization} and seq = 1")], 1),
        (vec![format!("update audit_entries set actor_id = null where {of_organization} and seq = 4")], 4),
        (vec![format!("update audit_entries set search_text = '' where {of_organization} and seq = 4")], 4),
        // The same letters, but the first of one field is now the last of the field before it.
        (
            vec![format!(
                "update audit_entries set action = action || substr(resource, 1, 1), resource = substr(resource, 2) \
                 where {of_organization} and seq = 3"
            )],
            3,
        ),
        (vec![format!("delete from audit_entries where {of_organization} and seq = 2")], 2),
        (vec![format!("delete from audit_entries where {of_organization} and seq = 4")], 4),
        (vec![format!("delete from audit_entries where {of_organization} and seq >= 2")], 2),
        (vec![format!("delete from audit_entries where {of_organization}")], 1),
        // Renumbered, so that there is no gap.
        (
            vec![
                format!("delete from audit_entries where {of_organization} and seq = 3"),
                format!("update audit_entries set seq = 3 where {of_organization} and seq = 4"),
                "update audit_chains set count = 3 where id = (select id from organizations)".to_owned(),
            ],
            3,
        ),
        // Two exchanged.
        (
            vec![
                format!("update audit_entries set seq = 99 where {of_organization} and seq = 2"),
                format!("update audit_entries set seq = 2 where {of_organization} and seq = 3"),
                format!("update audit_entries set seq = 3 where {of_organization} and seq = 99"),
            ],
            2,
        ),
        // One more behind the end, and the head moved along.
        (
            vec![
                format!(
                    "insert into audit_entries ({copied}) select {shifted} from audit_entries where {of_organization} and seq = 4"
                ),
                "update audit_chains set count = 5 where id = (select id from organizations)".to_owned(),
            ],
            5,
        ),
        (
            vec![format!(
                "insert into audit_entries ({copied}) select {shifted} from audit_entries where {of_organization} and seq = 4"
            )],
            5,
        ),
        // The tail cut off, with a head that fits what is left.
        (
            vec![
                format!("delete from audit_entries where {of_organization} and seq = 4"),
                format!(
                    "update audit_chains set count = 3, last_mac = (select mac from audit_entries where {of_organization} \
                     and seq = 3) where id = (select id from organizations)"
                ),
            ],
            3,
        ),
        (vec!["update audit_chains set count = 3 where id = (select id from organizations)".to_owned()], 4),
        (vec!["delete from audit_chains where id = (select id from organizations)".to_owned()], 5),
        (
            vec![
                "delete from audit_chains where id = (select id from organizations)".to_owned(),
                format!("delete from audit_entries where {of_organization}"),
            ],
            1,
        ),
    ];
    for (statements, seq) in cases {
        let server = server(kind).await;
        let (ada, _) = history(&server).await;
        assert_eq!(report(&server).await.broken, []);
        for statement in &statements {
            assert!(server.place.execute(statement).await > 0, "{statement}");
        }
        let broken = report(&server).await.broken;
        let places: Vec<_> = broken.iter().map(|broken| (broken.chain_id, broken.seq)).collect();
        assert_eq!(places, [(ada.organization_id, seq)], "{statements:?}: {broken:?}");
    }
}

/// Even when nothing of it is left, the organization included: the instance's chain knows that there was one.
async fn removing_a_whole_chain_is_found(server: TestServer) {
    let ada = server.admin().await;
    let doomed = server.post("/organizations", json!({ "name": "Doomed" })).by(&ada).ok().await;
    let doomed: Uuid = doomed["id"].as_str().unwrap().parse().unwrap();
    server.delete("/organizations").json(json!({ "id": doomed })).by(&ada).ok().await;
    assert_eq!(report(&server).await.broken, []);
    let gone = "not in (select id from organizations) and chain_id <> (select chain_id from audit_entries order by chain_id limit 1)";
    assert_eq!(server.place.execute(&format!("delete from audit_entries where chain_id {gone}")).await, 2);
    let orphans = "id not in (select id from organizations) and id not in (select chain_id from audit_entries)";
    assert_eq!(server.place.execute(&format!("delete from audit_chains where {orphans}")).await, 1);
    let broken = report(&server).await.broken;
    assert_eq!(
        (broken.len(), broken[0].chain_id, broken[0].problem.as_str()),
        (1, doomed, "the whole chain is missing")
    );
}

/// What was broken stays broken, however much is written after it.
async fn going_on_heals_nothing(kind: Kind) {
    let of_organization = "chain_id = (select id from organizations)";
    let head = "id = (select id from organizations)";
    let cut = format!(
        "delete from audit_entries where {of_organization} and seq >= 3; update audit_chains set count = 2, last_mac = \
         (select mac from audit_entries where {of_organization} and seq = 2) where {head}"
    );
    let wiped = format!("delete from audit_entries where {of_organization}; delete from audit_chains where {head}");
    let headless = format!("delete from audit_chains where {head}");
    let lowered = format!("update audit_chains set count = count - 1 where {head}");
    for tampering in [cut, wiped, headless, lowered] {
        let server = server(kind).await;
        let (ada, _) = history(&server).await;
        server.place.execute(&tampering).await;
        for text in ["a", "b", "c"] {
            server.put("/organizations", json!({ "description": text })).by(&ada).ok().await;
        }
        let broken = report(&server).await.broken;
        assert!(broken.len() == 1 && broken[0].chain_id == ada.organization_id, "{tampering}: {broken:?}");
    }
    // The instance's own chain, removed as a whole.
    let server = server(kind).await;
    let (ada, _) = history(&server).await;
    let instance = "(select id from audit_chains order by id limit 1)";
    server.place.execute(&format!("delete from audit_entries where chain_id = {instance}")).await;
    server.place.execute(&format!("delete from audit_chains where id = {instance}")).await;
    server.patch("/user/settings/theme", json!({ "theme": "dark" })).by(&ada).ok().await;
    let broken = report(&server).await.broken;
    assert_eq!(broken.iter().map(|broken| broken.chain_id).collect::<Vec<_>>(), [audit::INSTANCE_CHAIN]);
}

/// Numbers that no entry can have are found too.
async fn entries_before_the_first_are_found(server: TestServer) {
    let (ada, _) = history(&server).await;
    let allow = match server.app.db.kind() {
        Kind::Sqlite => "pragma ignore_check_constraints = on",
        Kind::Postgres => "alter table audit_entries drop constraint audit_entries_seq_check",
    };
    for seq in [0, -5] {
        let forged = format!(
            "{allow}; insert into audit_entries select chain_id, {seq}, id, actor_id, 'Eve', action, resource, resource_id, \
             'forged', metadata, 'forged', created_at, mac from audit_entries \
             where chain_id = (select id from organizations) and seq = 1"
        );
        server.place.execute(&forged.replace("drop constraint", "drop constraint if exists")).await;
        let broken = report(&server).await.broken;
        assert_eq!((broken.len(), broken[0].chain_id, broken[0].seq), (1, ada.organization_id, seq), "{broken:?}");
    }
}

/// Others' keys and the mail settings are not for every reader, neither shown nor found.
/// A database that was put back goes on with numbers that it has given before. Then there are two heads and two entries of one
/// number, all of them written by the server: only the links tell which belong together.
async fn what_is_of_another_past_is_found(server: TestServer) {
    let (ada, _) = history(&server).await;
    let (head, of_organization) = ("id = (select id from organizations)", "chain_id = (select id from organizations)");
    let execute = async |sql: &str| server.place.execute(sql).await;
    let change = async |text: &str| server.put("/organizations", json!({ "description": text })).by(&ada).ok().await;
    let broken = async || {
        let broken = report(&server).await.broken;
        broken.iter().map(|broken| (broken.chain_id, broken.seq)).collect::<Vec<_>>()
    };
    execute(&format!("create table past_head as select count, last_mac, head_mac from audit_chains where {head}"))
        .await;
    change("a").await;
    execute(&format!("create table past_entry as select * from audit_entries where {of_organization} and seq = 5"))
        .await;
    // The head of before, in front of what came after it.
    let [count, last_mac, head_mac] =
        ["count", "last_mac", "head_mac"].map(|column| format!("{column} = (select {column} from past_head)"));
    execute(&format!("update audit_chains set {count}, {last_mac}, {head_mac} where {head}")).await;
    assert_eq!(broken().await, [(ada.organization_id, 5)]);
    execute(&format!("delete from audit_entries where {of_organization} and seq = 5")).await;
    change("b").await;
    change("c").await;
    assert_eq!(broken().await, []);
    // An entry of the other past, in the place of the one that has its number in this one.
    execute(&format!("delete from audit_entries where {of_organization} and seq = 5")).await;
    execute("insert into audit_entries select * from past_entry").await;
    assert_eq!(broken().await, [(ada.organization_id, 6)]);
}

async fn readers_see_what_they_may(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "viewer", Role::Viewer).await;
    server.post("/auth/api-keys", json!({ "name": "deploy-robot" })).by(&ada).ok().await;
    server.post("/auth/api-keys", json!({ "name": "mine" })).by(&viewer).ok().await;
    server.post("/notification/smtp", crate::walk::smtp()).by(&ada).ok().await;
    let seen = activities(&server, &viewer, "page_size=3").await;
    let expected = ["Ada: create of the mail server", "viewer made the API key mine", "Ada: create of an API key"];
    assert_eq!(messages(&seen), expected);
    assert_eq!(seen["activities"][2]["metadata"], json!({}));
    assert_eq!(activities(&server, &viewer, "search=robot").await["pagination"]["total_count"], 0);
    assert_eq!(activities(&server, &viewer, "search=mail.example").await["pagination"]["total_count"], 0);
    assert_eq!(activities(&server, &ada, "search=robot").await["pagination"]["total_count"], 1);
    assert_eq!(messages(&activities(&server, &ada, "page_size=1").await), ["Ada added the mail server mail.example"]);
    // Nor which key did something else.
    let key = server.post("/auth/api-keys", json!({ "name": "night-robot" })).by(&ada).ok().await["key"].clone();
    let key = Person { token: key.as_str().unwrap().into(), ..ada.clone() };
    server.put("/organizations", json!({ "description": "by night" })).by(&key).ok().await;
    let seen = activities(&server, &viewer, "page_size=1&action=update").await;
    assert!(!seen.to_string().contains("night-robot"), "{seen}");
    assert_eq!(activities(&server, &viewer, "search=night-robot").await["pagination"]["total_count"], 0);
    let seen = activities(&server, &ada, "page_size=1&action=update").await;
    assert_eq!(seen["activities"][0]["metadata"]["api_key"], "night-robot");
}

async fn refusals_are_counted_together(server: TestServer) {
    let ada = server.admin().await;
    let viewer = server.join(&ada, "Grace", Role::Viewer).await;
    for name in ["a", "b", "c"] {
        server.put("/organizations", json!({ "name": name })).by(&viewer).fails(403, "forbidden").await;
    }
    server.get("/organizations/api-keys").by(&viewer).fails(403, "forbidden").await;
    for email in ["grace@example.org", "grace@example.org", "unknown@example.org", "hunter2@example.org"] {
        let body = json!({ "email": email, "password": "not the password" });
        server.post("/auth/login", body).fails(401, "invalid_credentials").await;
    }
    assert_eq!(activities(&server, &ada, "resource_type=denial").await["pagination"]["total_count"], 0);
    for _ in 0..2 {
        write_down(&server.app).await;
    }
    let here = activities(&server, &ada, "resource_type=denial").await;
    let mut lines = messages(&here);
    lines.sort_unstable();
    let expected = [
        "Grace was refused what needs the permission api_key:read",
        "Grace was refused what needs the permission organization:update (3 times)",
    ];
    assert_eq!(lines, expected);
    let instance = activities(&server, &ada, "scope=instance&resource_type=denial").await;
    let mut lines = messages(&instance);
    lines.sort_unstable();
    assert_eq!(lines, ["Grace was refused a login (2 times)", "an unknown user was refused a login (2 times)"]);
    assert_eq!(report(&server).await.broken, []);
}

/// Neither by a database that is not there for a while, nor by a stop before the minute is over.
async fn no_refusal_is_lost(server: TestServer) {
    let ada = server.admin().await;
    let refused = async || {
        let body = json!({ "email": ada.email, "password": "not the password" });
        server.post("/auth/login", body).fails(401, "invalid_credentials").await;
    };
    let written = async || {
        let instance = activities(&server, &ada, "scope=instance&resource_type=denial").await;
        instance["pagination"]["total_count"].as_i64().unwrap()
    };
    refused().await;
    server.place.execute("alter table audit_entries rename to hidden").await;
    write_down(&server.app).await;
    server.place.execute("alter table hidden rename to audit_entries").await;
    assert_eq!(written().await, 0);

    let (stop, stopped) = watch::channel(false);
    let writing = tokio::spawn(denials::run(server.app.clone(), stopped));
    let deadline = Instant::now() + LIMIT;
    while written().await == 0 {
        assert!(Instant::now() < deadline, "the refusal was forgotten");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    refused().await;
    stop.send_replace(true);
    tokio::time::timeout(LIMIT, writing).await.expect("in time").unwrap();
    assert_eq!(written().await, 2);
}
