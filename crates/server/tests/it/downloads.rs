//! Log lines as a file, and how many can read at once.

use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::json;
use windlass_api::{LogStep, LogStream, Role};
use windlass_server::App;
use windlass_store::Kind;
use windlass_testing::{DatabaseLocation, on_both_databases};

use crate::deploys::least;
use crate::logs::{Shop, numbered};
use crate::support::{Person, TestServer, id_of, kind, server};

on_both_databases!(server: files, links_name_their_organization, long_files, a_file_that_breaks_off, lines_that_go_meanwhile, an_application_that_goes_meanwhile);
on_both_databases!(kind: a_file_ends_with_the_membership, what_is_found_late, only_so_many_read_at_once);

/// More than all buffers on the way can hold.
const MANY: usize = 32_000;

impl Shop {
    async fn file(&self, path: &str) -> String {
        self.server.get(path).by(&self.ada).send().await.text
    }

    pub async fn print_many(&self) {
        for _ in 0..MANY / 1_000 {
            self.server.print(self.deployment, (0..1_000).map(|_| "x".repeat(1_000))).await;
        }
    }

    /// A file of which only the first part was taken.
    async fn begun(&self, by: &Person) -> (String, Incoming) {
        let mut body = self.server.get(&self.path("/download")).by(by).open().await.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        (String::from_utf8(first.to_vec()).unwrap(), body)
    }
}

async fn files(server: TestServer) {
    let shop = Shop::new(server).await;
    assert_eq!(shop.file(&shop.path("/download")).await, "");
    let lines = [(LogStream::Stdout, LogStep::Run, "out"), (LogStream::Windlass, LogStep::PostRun, "tab\tand ünïcode")];
    for (stream, step, text) in lines {
        let line = shop.server.line(stream, step, text.to_owned());
        shop.server.store_lines(shop.deployment, vec![line]).await;
    }
    let other = shop.redeploy().await;
    shop.server.print(other, std::iter::once("of another".to_owned())).await;
    let reply = shop.server.get(&shop.path("/download")).by(&shop.ada).send().await;
    assert_eq!(reply.headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(reply.headers["content-disposition"], "attachment; filename=\"shop-2026-01-01.log\"");
    assert_eq!(reply.headers["cache-control"], "no-store");
    let first = "2026-01-01T00:00:00.000000Z stdout   run      out\n";
    let second = "2026-01-01T00:00:00.000000Z windlass post_run tab\tand ünïcode\n";
    let third = "2026-01-01T00:00:00.000000Z stdout   build    of another\n";
    assert_eq!(reply.text, [first, second, third].concat());
    for (path, expected) in [
        (shop.path_of_deployment("/download"), [first, second].concat()),
        (shop.path(&format!("/download?deployment_id={other}")), third.to_owned()),
        (shop.path("/download?stream=windlass"), second.to_owned()),
        (shop.path("/download?search_term=O&regex=^o"), [first, third].concat()),
        (shop.path("/download?end_time=2026-01-01"), String::new()),
    ] {
        assert_eq!(shop.file(&path).await, expected, "{path}");
    }
}

/// A file ends with the newest line at the time of the request, however much is printed meanwhile.
async fn long_files(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print(1..=5_000).await;
    let mut body = shop.server.get(&shop.path("/download")).by(&shop.ada).open().await.into_body();
    let mut text = body.frame().await.unwrap().unwrap().into_data().unwrap().to_vec();
    assert!(text.len() < 1_000_000, "a page at a time");
    shop.print(5_001..=5_100).await;
    text.extend(body.collect().await.unwrap().to_bytes());
    let lines = String::from_utf8(text).unwrap();
    let lines: Vec<_> = lines.lines().map(|line| line.split_at(46).1.to_owned()).collect();
    assert_eq!(lines, numbered(1..=5_000));
    let found = shop.file(&shop.path("/download?regex=^line+[0-9]*99$")).await;
    assert_eq!(found.lines().count(), 51);
}

async fn a_file_that_breaks_off(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print_many().await;
    let (_, body) = shop.begun(&shop.ada).await;
    shop.server.app.logs.store.close().await;
    // Before the first byte there is an answer, afterwards only the end of the connection.
    shop.server.get(&shop.path("/download")).by(&shop.ada).fails(503, "unavailable").await;
    assert!(body.collect().await.is_err(), "half of a file was taken for the whole");
}

/// A client cannot take what is left for the whole.
async fn lines_that_go_meanwhile(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print_many().await;
    let (first, body) = shop.begun(&shop.ada).await;
    shop.trim(1_000_000).await;
    let text = first + str::from_utf8(&body.collect().await.unwrap().to_bytes()).unwrap();
    let (notes, lines): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('['));
    let count = |note: &&str| {
        let count = note.strip_prefix('[')?.strip_suffix(" lines were removed while this was sent]")?;
        count.parse::<usize>().ok()
    };
    let removed: usize = notes.iter().map(|note| count(note).unwrap()).sum();
    assert!(removed > 10_000 && removed + lines.len() == MANY, "{} {notes:?}", lines.len());
    // What was removed before does not count.
    let later = shop.file(&shop.path("/download")).await;
    assert!(later.lines().count() <= 1_000 && !later.contains('['), "{}", later.lines().count());
}

async fn an_application_that_goes_meanwhile(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.print_many().await;
    let (_, body) = shop.begun(&shop.ada).await;
    let mut tx = shop.server.app.db.begin().await.unwrap();
    windlass_store::jobs::withdraw(&mut tx, shop.deployment).await.unwrap();
    windlass_store::applications::delete(&mut tx, shop.application).await.unwrap();
    tx.commit().await.unwrap();
    while !shop.server.app.logs.store.delete_some(shop.application).await.unwrap() {}
    assert!(body.collect().await.is_err(), "half of a file was taken for the whole");
}

async fn a_file_ends_with_the_membership(kind: Kind) {
    let tune = |app: &mut App| app.searches.heartbeat = Duration::from_millis(1);
    let shop = Shop::new(TestServer::tuned(DatabaseLocation::fresh(kind).await, &[], tune).await).await;
    let vera = shop.server.join(&shop.ada, "vera", Role::Viewer).await;
    shop.print_many().await;
    let ((_, theirs), (first, ours)) = (shop.begun(&vera).await, shop.begun(&shop.ada).await);
    let remove = json!({ "user_id": vera.user_id });
    shop.server.post("/organizations/remove-user", remove).by(&shop.ada).ok().await;
    assert!(theirs.collect().await.is_err(), "a member who has left went on reading");
    let text = first + str::from_utf8(&ours.collect().await.unwrap().to_bytes()).unwrap();
    assert_eq!(text.lines().count(), MANY);
}

/// The answer begins before anything is found, and however often the time for one search is over.
async fn what_is_found_late(kind: Kind) {
    let tune = |app: &mut App| app.config.search_limit = Duration::ZERO;
    let shop = Shop::new(TestServer::tuned(DatabaseLocation::fresh(kind).await, &[], tune).await).await;
    shop.print(1..=30_000).await;
    let found = shop.file(&shop.path("/download?regex=29999$")).await;
    assert_eq!(found, "2026-01-01T00:00:00.000000Z stdout   build    line 29999\n");
}

async fn only_so_many_read_at_once(kind: Kind) {
    let shop = Shop::new(TestServer::with(kind, &[("log-followers", "2")]).await).await;
    shop.print(1..=3).await;
    let follow = || shop.server.get(&shop.path("/follow")).by(&shop.ada);
    let first = follow().open().await;
    let second = shop.server.get(&shop.path_of_deployment("/follow")).by(&shop.ada).open().await;
    assert_eq!((first.status(), second.status()), (200.try_into().unwrap(), 200.try_into().unwrap()));
    for path in [shop.path("/follow"), shop.path("/download")] {
        let reply = shop.server.get(&path).by(&shop.ada).send().await;
        assert_eq!((reply.status, &reply.json["error"]), (429, &json!("rate_limited")));
        assert_eq!(reply.headers["retry-after"], "10");
    }
    let metrics = shop.server.call_raw(axum::http::Method::GET, "/metrics").by(&shop.ada).send().await.text;
    assert!(metrics.contains("\nwindlass_log_followers 2\n"), "{metrics}");
    // Others have places of their own.
    let eve = shop.server.stranger(&shop.ada, "eve").await;
    let theirs = shop.server.deploy(&eve, least("theirs")).await;
    let path = format!("/deploy/application/logs/{}/download", id_of(&theirs));
    assert_eq!(shop.server.get(&path).by(&eve).send().await.status, 200);
    // A client that leaves makes room.
    drop(first);
    let deadline = Instant::now() + Duration::from_secs(10);
    while follow().open().await.status() != 200 {
        assert!(Instant::now() < deadline, "the place is not free again");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// A link cannot send a header.
async fn links_name_their_organization(server: TestServer) {
    let shop = Shop::new(server).await;
    shop.server.print(shop.deployment, ["hello".to_owned()].into_iter()).await;
    let second = shop.server.post("/organizations", json!({ "name": "Second" })).by(&shop.ada).ok().await;
    let switch = json!({ "organization_id": second["id"] });
    shop.server.patch("/user/organization", switch).by(&shop.ada).ok().await;
    let path = |id: uuid::Uuid| shop.path(&format!("/download?organization_id={id}"));
    assert!(shop.file(&path(shop.ada.organization_id)).await.ends_with("hello\n"));
    shop.server.get(&path(id_of(&second))).by(&shop.ada).fails(404, "not_found").await;
    shop.server.get(&shop.path("/download")).by(&shop.ada).fails(404, "not_found").await;
    let unknown = shop.server.app.new_id();
    shop.server.get(&path(unknown)).by(&shop.ada).fails(403, "forbidden").await;
    shop.server.get(&shop.path("/download?organization_id=x")).by(&shop.ada).fails(400, "invalid_request").await;
    // Only what changes nothing takes it from there.
    let stop = format!("/deploy/application/stop?organization_id={}", shop.ada.organization_id);
    let body = json!({ "id": shop.application });
    shop.server.post(&stop, body).by(&shop.ada).fails(404, "not_found").await;
}
