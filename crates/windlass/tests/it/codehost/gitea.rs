//! The whole way with a code host: connected, its private repository deployed, its pushes served, its commits told what became of
//! them. The same walk goes to what stands in for Gitea and to a real one.

use serde_json::{Value, json};
use windlass_server::reports::KILL_POINTS;
use windlass_testing::Kind;
use windlass_testing::gitea::Gitea;

use super::forge::{Checkout, Forge};
use super::real_gitea::RealGitea;
use crate::deploy::support::*;

/// Code hosts are at public addresses, but for tests.
pub const PRIVATE: [&str; 2] = ["--allow-private-targets", "true"];

/// A platform with a connection to a code host, and an application of its private repository that serves the version `first`.
pub struct Connected<'a> {
    pub platform: &'a Platform,
    pub forge: &'a Forge,
    pub connection: String,
    pub checkout: Checkout,
    pub application: String,
}

impl<'a> Connected<'a> {
    pub async fn new(platform: &'a Platform, forge: &'a Forge) -> Self {
        let connection = connect(platform, forge);
        let checkout = forge.private_repository("shop");
        let first = checkout.push("first");
        let application = platform.deploy(&application(platform, &connection));
        let connected = Self { platform, forge, connection, checkout, application: id_of(&application) };
        platform.deployed(&newest_deployment(&application)).await;
        connected.reported(&first, "success").await;
        connected
    }

    pub fn hook(&self, method: &str) -> Value {
        let path = format!("/deploy/application/{}/webhook/register", self.application);
        self.platform.call(method, &path, &Value::Null)
    }

    async fn serves(&self, version: &str) {
        until(&format!("{version} is served"), async || {
            (self.platform.visit("shop.localhost", "/").await == (200, version.to_owned())).then_some(())
        })
        .await;
    }

    /// Waits until the code host's own API says so of the commit; the status.
    async fn reported(&self, commit: &str, state: &str) -> Value {
        reported(self.forge, &self.checkout.full_name, commit, state).await
    }

    /// Deployments of a commit that a push has asked for.
    fn pushed(&self, commit: &str) -> Vec<Value> {
        pushed(self.platform, &self.application, commit)
    }

    async fn hooks_are(&self, count: usize) {
        until(&format!("there are {count} webhooks"), async || {
            (self.forge.hooks(&self.checkout.full_name).len() == count).then_some(())
        })
        .await;
    }
}

fn connection_body(forge: &Forge, token: &str) -> Value {
    json!({ "name": "forge", "host": "gitea", "base_url": forge.url, "token": token })
}

fn connect(platform: &Platform, forge: &Forge) -> String {
    id_of(&platform.call("POST", "/connections", &connection_body(forge, &forge.token)))
}

/// Of the repository `shop`, at the address that the connection gives for it.
fn application(platform: &Platform, connection: &str) -> Value {
    let path = format!("/connections/{connection}/repositories?search=shop");
    let found = platform.call("GET", &path, &Value::Null);
    let repository = &found["repositories"][0];
    assert_eq!(repository["is_private"], true, "{found}");
    json!({
        "name": "shop",
        "repository": repository["clone_url"],
        "connection_id": connection,
        "drain_seconds": 20,
        "stop_seconds": 1,
        "health_path": "/",
    })
}

async fn reported(forge: &Forge, full_name: &str, commit: &str, state: &str) -> Value {
    let statuses = until(&format!("{commit} is told to be a {state}"), async || {
        let statuses = forge.statuses(full_name, commit);
        (statuses.last()?["status"] == state).then_some(statuses)
    })
    .await;
    let last = statuses.last().unwrap().clone();
    assert_eq!(last["context"], "windlass/shop", "{last}");
    last
}

fn pushed(platform: &Platform, application: &str, commit: &str) -> Vec<Value> {
    let application = platform.application(application);
    let all = application["deployments"].as_array().unwrap().iter();
    let of_push = |deployment: &&Value| deployment["triggered_by"] == "push" && deployment["commit_hash"] == commit;
    all.filter(of_push).cloned().collect()
}

async fn walk(forge: &Forge) {
    let platform = Platform::on(Kind::Sqlite, &PRIVATE).await;
    let (status, refused) = platform.try_call("POST", "/connections", &connection_body(forge, &"0".repeat(40)));
    assert_eq!(status, 400, "{refused}");
    assert!(refused["message"].as_str().unwrap().starts_with("token: "), "{refused}");
    let connected = Connected::new(&platform, forge).await;
    look_around(&connected);
    connected.serves("first").await;
    assert_eq!(connected.hook("POST")["is_registered"], true);
    connected.hooks_are(1).await;
    a_push_is_served(&connected).await;
    a_push_that_fails_changes_nothing(&connected).await;
    all_is_taken_back(&connected).await;
}

/// What the connection can reach.
fn look_around(connected: &Connected) {
    let Connected { platform, connection, checkout, .. } = connected;
    let get = |what: &str| platform.call("GET", &format!("/connections/{connection}/{what}"), &Value::Null);
    checkout.git(&["tag", "v1"]);
    checkout.git(&["tag", "--annotate", "--message", "Second", "v2"]);
    for reference in ["refs/tags/v1", "refs/tags/v2", "HEAD:refs/heads/feature/x"] {
        checkout.push_reference(reference);
    }
    let head = checkout.git(&["rev-parse", "HEAD"]);
    let named = |references: &Value| {
        let all = references["references"].as_array().unwrap().iter();
        assert!(all.clone().all(|reference| reference["commit_hash"] == head), "{references}");
        let mut names: Vec<String> = all.map(|one| one["name"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    let name = &checkout.full_name;
    assert_eq!(named(&get(&format!("branches?repository={name}"))), ["feature/x", "main"]);
    assert_eq!(named(&get(&format!("tags?repository={name}"))), ["v1", "v2"]);
    let page = get(&format!("tags?repository={name}&page_size=1"));
    assert_eq!((page["references"].as_array().unwrap().len(), &page["next_page"]), (1, &json!(2)), "{page}");
    let all = get("repositories");
    assert_eq!(all["repositories"][0]["full_name"], json!(name), "{all}");
    assert_eq!(get("repositories?search=nothing")["repositories"], json!([]));
}

async fn a_push_is_served(connected: &Connected<'_>) {
    let second = connected.checkout.push("second");
    connected.serves("second").await;
    let status = connected.reported(&second, "success").await;
    assert!(status["target_url"].as_str().unwrap().starts_with("http://shop."), "{status}");
    assert_eq!(connected.forge.states(&connected.checkout.full_name, &second), ["pending", "success"]);
    let deployments = connected.pushed(&second);
    assert_eq!(deployments.len(), 1, "{deployments:?}");
}

async fn a_push_that_fails_changes_nothing(connected: &Connected<'_>) {
    let broken = connected.checkout.push_with("ENV EXIT_CODE=3", "third");
    let status = connected.reported(&broken, "failure").await;
    assert!(status["description"].as_str().unwrap().starts_with("crashed_at_start: "), "{status}");
    assert_eq!(connected.forge.states(&connected.checkout.full_name, &broken), ["pending", "failure"]);
    assert_eq!(connected.platform.visit("shop.localhost", "/").await, (200, "second".to_owned()));
}

async fn all_is_taken_back(connected: &Connected<'_>) {
    let Connected { platform, connection, application, .. } = connected;
    assert_eq!(connected.hook("DELETE")["is_registered"], false);
    connected.hooks_are(0).await;
    // Twice is once.
    connected.hook("POST");
    connected.hook("POST");
    connected.hooks_are(1).await;
    let path = format!("/connections/{connection}");
    let (status, refused) = platform.try_call("DELETE", &path, &Value::Null);
    assert_eq!(status, 409, "{refused}");
    platform.call("DELETE", "/deploy/application", &json!({ "id": application, "name": "shop" }));
    connected.hooks_are(0).await;
    platform.settled().await;
    platform.call("DELETE", &path, &Value::Null);
    assert_eq!(platform.try_call("GET", &path, &Value::Null).0, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn from_a_connection_to_served_pushes_and_back() {
    let gitea = Gitea::start();
    walk(&Forge::of(&gitea)).await;
    let answers: Vec<_> = gitea.deliveries().iter().map(|delivery| (delivery.event.clone(), delivery.status)).collect();
    assert_eq!(answers, [("push".to_owned(), Some(200)), ("push".to_owned(), Some(200))]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn from_a_connection_to_served_pushes_and_back_with_a_real_gitea() {
    let gitea = RealGitea::start();
    walk(&gitea.forge).await;
}

/// A server that dies before or after it tells the code host, or before it could: the push is deployed once, and its commit is
/// told so in the end.
async fn survives_a_crash(kind: Kind) {
    let (gitea, mut platform) = (Gitea::start(), Platform::on(kind, &PRIVATE).await);
    let forge = Forge::of(&gitea);
    let Connected { application, checkout, .. } = Connected::new(&platform, &forge).await;
    let path = format!("/deploy/application/{application}/webhook/register");
    for point in KILL_POINTS {
        platform.settled().await;
        platform.kill_server();
        platform.start_server(Some(point));
        // It has another port now.
        platform.call("POST", &path, &Value::Null);
        let commit = checkout.push(point);
        platform.wait_for_death();
        platform.start_server(None);
        was_told_once(&platform, &gitea, &application, &checkout, &commit).await;
    }
    platform.settled().await;
    platform.call("POST", &path, &Value::Null);
    assert_eq!(gitea.hooks().len(), 1, "those with the ports before are gone");
    gitea.fail(503);
    let commit = checkout.push("untold");
    let deployment =
        until("the push has a deployment", async || pushed(&platform, &application, &commit).first().map(id_of)).await;
    platform.deployed(&deployment).await;
    platform.kill_server();
    gitea.go_on();
    assert_eq!(gitea.statuses(&commit), [] as [Value; 0]);
    platform.start_server(None);
    was_told_once(&platform, &gitea, &application, &checkout, &commit).await;
    let all = platform.application(&application)["deployments"].as_array().unwrap().len();
    assert_eq!(all, 1 + KILL_POINTS.len() + 1, "the first one, and one for each push");
}

async fn was_told_once(platform: &Platform, gitea: &Gitea, application: &str, checkout: &Checkout, commit: &str) {
    let forge = Forge::of(gitea);
    reported(&forge, &checkout.full_name, commit, "success").await;
    let states = forge.states(&checkout.full_name, commit);
    assert!(states == ["pending", "success"] || states == ["success"], "{states:?}");
    let deployments = pushed(platform, application, commit);
    assert_eq!(deployments.len(), 1, "{deployments:?}");
    assert_eq!(deployments[0]["status"]["status"], "deployed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_makes_no_commit_untold_on_sqlite() {
    survives_a_crash(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_crash_makes_no_commit_untold_on_postgres() {
    survives_a_crash(Kind::Postgres).await;
}

/// A code host that does not answer holds up nothing, and hears of it later.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_the_code_host_delays_only_the_status() {
    let (gitea, platform) = (Gitea::start(), Platform::on(Kind::Sqlite, &PRIVATE).await);
    let forge = Forge::of(&gitea);
    let connected = Connected::new(&platform, &forge).await;
    connected.hook("POST");
    gitea.fail(503);
    let second = connected.checkout.push("second");
    connected.serves("second").await;
    assert_eq!(gitea.statuses(&second), [] as [Value; 0]);
    gitea.go_on();
    connected.reported(&second, "success").await;
    assert_eq!(connected.pushed(&second).len(), 1);
}
