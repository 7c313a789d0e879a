//! Apps of GitHub: made from a page with one click, for one organization, and used with tokens that are made for each use.

use axum::http::Method;
use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::service::housekeeping;
use windlass_testing::deliveries::{Sample, sample};
use windlass_testing::github::GitHub;
use windlass_testing::{Kind, on_both_databases};

use crate::deliveries::signed_call;
use crate::support::{Person, Reply, TestServer, id_of, kind};

on_both_databases!(
    kind: an_app_is_made_with_one_click, a_link_works_once_and_for_an_hour, who_asked_must_still_be_allowed, an_app_that_fails_is_not_kept,
    an_app_reaches_what_it_is_installed_for, an_app_needs_no_webhook_and_no_keys, deliveries_are_signed_with_the_secret_of_the_app,
    an_app_that_is_gone_is_told, what_is_told_of_an_app_is_not_believed
);

const PRIVATE: (&str, &str) = ("allow-private-targets", "true");
const SHOP: &str = "team/shop";

async fn begin(kind: Kind) -> (TestServer, GitHub, Person) {
    let (server, github) = (TestServer::with(kind, &[PRIVATE]).await, GitHub::start());
    // From here on every answer is searched for them.
    let key = GitHub::PRIVATE_KEY.lines().nth(3).unwrap();
    let secrets = json!({ "key": [key, GitHub::WEBHOOK_SECRET, "a-client-secret-that-is-not-kept"] });
    server.secrets.learn_from_request(secrets.to_string().as_bytes());
    github.add_repository(SHOP).git.commit(&[("README", "A shop")], "First");
    let admin = server.admin().await;
    (server, github, admin)
}

fn body(github: &GitHub, name: &str) -> Value {
    json!({ "name": name, "base_url": github.url() })
}

/// The path of an address of this server.
fn path_of(address: &str) -> String {
    let (_, rest) = address.split_once("://").unwrap();
    rest[rest.find('/').unwrap()..].to_owned()
}

/// The value of an attribute, as a browser reads it.
fn attribute(html: &str, before: &str, name: &str) -> String {
    let (_, rest) = html.split_once(before).unwrap_or_else(|| panic!("no {before} in {html}"));
    let (_, rest) = rest.split_once(&format!("{name}=\"")).unwrap();
    let (value, _) = rest.split_once('"').unwrap();
    value.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

impl TestServer {
    /// The path of the page from which the app is made.
    async fn app_link(&self, person: &Person, body: Value) -> String {
        let made = self.post("/connections/github-apps", body).by(person).ok().await;
        path_of(made["link"].as_str().unwrap())
    }

    async fn browse(&self, path: &str) -> Reply {
        self.call_raw(Method::GET, path).send().await
    }

    /// The person opens the page and clicks: where GitHub sends the browser.
    async fn click(&self, github: &GitHub, link: &str) -> String {
        let page = self.browse(link).await;
        assert_eq!(page.status, 200, "{}", page.text);
        let (form, field) =
            (attribute(&page.text, "<form", "action"), attribute(&page.text, "name=\"manifest\"", "value"));
        path_of(&github.make_app(&form, &field))
    }

    async fn connect_app(&self, github: &GitHub, person: &Person, name: &str) -> Uuid {
        let link = self.app_link(person, body(github, name)).await;
        let callback = self.click(github, &link).await;
        let reply = self.browse(&callback).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let all = self.get("/connections").by(person).ok().await;
        let all = all["connections"].as_array().unwrap().clone();
        id_of(all.iter().find(|connection| connection["name"] == name).expect("the connection"))
    }

    async fn connections(&self, person: &Person) -> usize {
        self.get("/connections").by(person).ok().await["connections"].as_array().unwrap().len()
    }

    async fn deliver_as_app(&self, sample: &Sample, secret: &str) -> Reply {
        signed_call(self.call(Method::POST, "/webhook"), sample, secret).send().await
    }
}

/// What the app sends when the branch of the repository was pushed to.
fn push(github: &GitHub, full_name: &str, id: &str) -> Sample {
    let mut sample = sample("github", "push-branch-app").with_id(id);
    for field in ["clone_url", "ssh_url", "git_url", "html_url"] {
        sample.body["repository"][field] = json!(format!("{}/{full_name}.git", github.url()));
    }
    sample
}

async fn an_app_is_made_with_one_click(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let mut body = body(&github, "Our <GitHub>");
    body["github_organization"] = json!("team");
    let link = server.app_link(&admin, body).await;
    let page = server.browse(&link).await;
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    let expected =
        format!("default-src 'none'; style-src 'self'; form-action {}; frame-ancestors 'none'", github.url());
    assert_eq!((policy, page.headers["content-type"].to_str().unwrap()), (&*expected, "text/html; charset=utf-8"));
    assert!(
        page.text.contains("<b>Analytical Engines</b>") && page.text.contains("<b>Our &lt;GitHub&gt;</b>"),
        "{}",
        page.text
    );
    assert!(page.text.contains("Ada asked for this app") && !page.text.contains("<script"), "{}", page.text);
    let form = attribute(&page.text, "<form", "action");
    assert!(form.starts_with(&format!("{}/organizations/team/settings/apps/new?state=", github.url())), "{form}");

    let callback = server.click(&github, &link).await;
    let manifest = github.manifest();
    assert_eq!((&manifest["name"], &manifest["public"]), (&json!("Windlass Our <GitHub>"), &json!(false)));
    assert!(manifest["hook_attributes"]["url"].as_str().unwrap().ends_with("/api/v1/webhook"), "{manifest}");
    let reply = server.browse(&callback).await;
    let install_url = format!("{}/github-apps/{}/installations/new", github.url(), GitHub::SLUG);
    assert_eq!((reply.status, reply.headers["location"].to_str().unwrap()), (303, &*install_url), "{}", reply.text);
    let made = server.get("/connections").by(&admin).ok().await["connections"][0].clone();
    let shown = ["name", "kind", "host", "account", "install_url"].map(|field| made[field].as_str().unwrap());
    assert_eq!(shown, ["Our <GitHub>", "github_app", "github", "windlass-for-tests[bot]", &install_url]);
    let text = server.browse("/connections/github-apps/installed").await;
    assert_eq!(text.status, 200);

    // Others learn nothing of it.
    let eve = server.stranger(&admin, "eve").await;
    let path = format!("/connections/{}", id_of(&made));
    server.get(&path).by(&eve).fails(404, "not_found").await;
    assert_eq!(server.connections(&eve).await, 0);
    let log = server.get("/audit/logs").by(&admin).ok().await.to_string();
    assert!(log.contains("connected the GitHub App Our <GitHub>") && log.contains("Ada"), "{log}");
}

async fn a_link_works_once_and_for_an_hour(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let link = server.app_link(&admin, body(&github, "First")).await;
    let callback = server.click(&github, &link).await;
    assert_eq!(server.browse(&callback).await.status, 303);
    for used in [&callback, &link] {
        let reply = server.browse(used).await;
        assert_eq!(reply.status, 404, "{}", reply.text);
        assert!(reply.headers["content-type"].to_str().unwrap().starts_with("text/html"));
        assert!(reply.text.contains("it has expired, or was used"), "{}", reply.text);
    }
    let late = server.app_link(&admin, body(&github, "Late")).await;
    let callback = server.click(&github, &late).await;
    server.app.clock.advance_seconds(3_600);
    for old in [
        &late,
        &callback,
        &"/connections/github-apps/new".to_owned(),
        &"/connections/github-apps/callback?x".to_owned(),
    ] {
        assert_eq!(server.browse(old).await.status, 404);
    }
    assert!(housekeeping::sweep(&server.app).await.unwrap() >= 1);
    assert_eq!(server.connections(&admin).await, 1);
    // Two requests with the same state, at once.
    let link = server.app_link(&admin, body(&github, "Raced")).await;
    let (one, other) = (server.click(&github, &link).await, server.click(&github, &link).await);
    let (a, b) = tokio::join!(server.browse(&one), server.browse(&other));
    let mut answers = [a.status, b.status];
    answers.sort_unstable();
    assert_eq!(answers, [303, 404]);
    // Only so many links work at a time.
    let first = server.app_link(&admin, body(&github, "App 0")).await;
    for number in 1..=10 {
        server.app_link(&admin, body(&github, &format!("App {number}"))).await;
    }
    assert_eq!(server.browse(&first).await.status, 404);
    for (field, value, problem) in [
        ("github_organization", "../x", "github_organization: "),
        ("base_url", "ftp://github.example.org", "base_url: "),
        ("name", "First", "name: there is a connection First already"),
    ] {
        let mut body = body(&github, "Other");
        body[field] = json!(value);
        let reply = server.post("/connections/github-apps", body).by(&admin).send().await;
        let message = reply.json["message"].as_str().unwrap();
        assert!([400, 409].contains(&reply.status) && message.starts_with(problem), "{message}");
    }
}

async fn who_asked_must_still_be_allowed(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let grace = server.join(&admin, "grace", Role::Admin).await;
    let refused = async |path: &str, words: &str| {
        let reply = server.browse(path).await;
        assert_eq!(reply.status, 403, "{}", reply.text);
        assert!(reply.text.contains(words), "{}", reply.text);
    };
    let link = server.app_link(&grace, body(&github, "Grace")).await;
    let callback = server.click(&github, &link).await;
    let demote = json!({ "user_id": grace.user_id, "role": "viewer" });
    server.post("/organizations/update-user-role", demote).by(&admin).ok().await;
    refused(&callback, "connection:create").await;
    refused(&link, "connection:create").await;
    let remove = json!({ "user_id": grace.user_id });
    server.post("/organizations/remove-user", remove).by(&admin).ok().await;
    refused(&callback, "has left the organization").await;

    let key = json!({ "name": "k", "organization_id": admin.organization_id, "permissions": ["connection:create"] });
    let key = server.post("/auth/api-keys", key).by(&admin).ok().await;
    let program = Person { token: key["key"].as_str().unwrap().to_owned(), ..admin.clone() };
    let link = server.app_link(&program, body(&github, "Program")).await;
    let callback = server.click(&github, &link).await;
    let link = server.app_link(&program, body(&github, "Revoked")).await;
    let revoked = server.click(&github, &link).await;
    assert_eq!(server.browse(&callback).await.status, 303);
    server.delete(&format!("/auth/api-keys/{}", id_of(&key["api_key"]))).by(&admin).ok().await;
    refused(&revoked, "not valid any more").await;
    assert_eq!(server.connections(&admin).await, 1);
}

async fn an_app_that_fails_is_not_kept(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let link = server.app_link(&admin, body(&github, "GitHub")).await;
    let callback = server.click(&github, &link).await;
    // What cannot be a code uses nothing up.
    let odd = callback.replace("code=", "code=..%2F");
    assert_eq!(server.browse(&odd).await.status, 400);
    github.fail(503);
    let reply = server.browse(&callback).await;
    assert_eq!(reply.status, 502, "{}", reply.text);
    assert!(reply.text.contains("Ask for a new link"), "{}", reply.text);
    github.go_on();
    assert_eq!(server.browse(&callback).await.status, 404, "the link was used");
    assert_eq!(server.connections(&admin).await, 0);
    // A name that was taken meanwhile is no reason to lose the key.
    let link = server.app_link(&admin, body(&github, "GitHub")).await;
    server.connect_app(&github, &admin, "GitHub").await;
    let callback = server.click(&github, &link).await;
    assert_eq!(server.browse(&callback).await.status, 303);
    let all = server.get("/connections").by(&admin).ok().await;
    assert_eq!(all["connections"][1]["name"], format!("GitHub {}", GitHub::APP_ID));
}

async fn an_app_reaches_what_it_is_installed_for(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let id = server.connect_app(&github, &admin, "GitHub").await;
    let get = |what: &str| server.get(&format!("/connections/{id}/{what}")).by(&admin);
    assert_eq!(get("repositories").ok().await["repositories"], json!([]), "it is installed nowhere");
    let message = get("branches?repository=team/shop").fails(502, "code_host_failed").await;
    let install_url = format!("{}/github-apps/{}/installations/new", github.url(), GitHub::SLUG);
    let expected =
        format!("The app of the connection GitHub is not installed for team/shop. Install it at {install_url}");
    assert_eq!(message, expected);

    for name in ["team/a", "team/b", "ada/blog"] {
        github.add_repository(name);
    }
    github.install("team", &[SHOP, "team/a", "team/b"]);
    github.install("ada", &["ada/blog"]);
    let names = |page: &Value| -> Vec<String> {
        let all = page["repositories"].as_array().unwrap().iter();
        all.map(|repository| repository["full_name"].as_str().unwrap().to_owned()).collect()
    };
    let first = get("repositories?page_size=2").ok().await;
    assert_eq!(
        (names(&first), &first["next_page"]),
        (vec![SHOP.into(), "team/a".into(), "ada/blog".into()], &json!(2))
    );
    let second = get("repositories?page_size=2&page=2").ok().await;
    assert_eq!((names(&second), &second["next_page"]), (vec!["team/b".into()], &Value::Null));
    assert_eq!(names(&get("repositories?search=BLOG").ok().await), ["ada/blog"]);
    assert_eq!(get("branches?repository=team/shop").ok().await["references"][0]["name"], "main");
    let last = github.minted().pop().unwrap();
    assert_eq!((last.asked_for, last.repositories), (vec!["shop".to_owned()], vec![SHOP.to_owned()]));
    assert_eq!(get("tags?repository=team/shop").ok().await["references"], json!([]));
    let message = get("tags?repository=../x").fails(400, "invalid_request").await;
    assert!(message.starts_with("repository: "), "{message}");

    let path = format!("/connections/{id}");
    for (field, value) in [("token", "a-token-of-mine"), ("username", "ada"), ("workspace", "team")] {
        let message = server.put(&path, json!({ field: value })).by(&admin).fails(400, "invalid_request").await;
        assert!(message.starts_with(&format!("{field}: is not for the connection of a GitHub App")), "{message}");
    }
    let renamed = server.put(&path, json!({ "name": "Renamed" })).by(&admin).ok().await;
    assert_eq!((&renamed["name"], &renamed["kind"]), (&json!("Renamed"), &json!("github_app")));
    assert_eq!(get("branches?repository=team/shop").ok().await["references"][0]["name"], "main");
    server.delete(&path).by(&admin).ok().await;
}

async fn an_app_needs_no_webhook_and_no_keys(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let id = server.connect_app(&github, &admin, "GitHub").await;
    github.install("team", &[SHOP]);
    let shop = json!({ "name": "Shop", "repository": format!("{}/{SHOP}.git", github.url()), "connection_id": id });
    let shop = server.running(&admin, shop).await;
    let path = format!("/deploy/application/{}/webhook/register", id_of(&shop));
    let message = server.call(Method::POST, &path).by(&admin).fails(409, "conflict").await;
    assert_eq!(
        message,
        "Shop needs no webhook of its own: the GitHub App of its connection GitHub reports its pushes."
    );
    server.delete(&path).by(&admin).fails(409, "conflict").await;
    let ssh =
        json!({ "name": "Ssh", "repository": format!("ssh://git@127.0.0.1:2222/{SHOP}.git"), "connection_id": id });
    let ssh = server.running(&admin, ssh).await;
    let path = format!("/deploy/application/{}/deploy-key", id_of(&ssh));
    let message = server.call(Method::POST, &path).by(&admin).fails(409, "conflict").await;
    assert!(message.starts_with("The GitHub App of the connection GitHub may not add keys."), "{message}");
}

async fn deliveries_are_signed_with_the_secret_of_the_app(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let eve = server.stranger(&admin, "eve").await;
    let id = server.connect_app(&github, &admin, "GitHub").await;
    let repository = format!("{}/{SHOP}.git", github.url());
    let connected = json!({ "name": "Shop", "repository": repository, "branch": "main", "connection_id": id });
    let connected = id_of(&server.running(&admin, connected).await);
    // Of the same repository, but not through the app.
    let other = json!({ "name": "Other", "repository": repository, "branch": "main" });
    let other = id_of(&server.running(&admin, other.clone()).await);
    let theirs = json!({ "name": "Theirs", "repository": repository, "branch": "main" });
    let theirs = id_of(&server.running(&eve, theirs).await);
    let told = async |sample: &Sample, secret: &str| {
        let reply = server.deliver_as_app(sample, secret).await;
        (reply.status, reply.json["message"].as_str().unwrap().to_owned())
    };
    assert_eq!(told(&push(&github, SHOP, "1"), "a-secret-that-is-wrong").await.0, 401);
    let queued = (200, "A deployment was queued.".to_owned());
    assert_eq!(told(&push(&github, SHOP, "2"), GitHub::WEBHOOK_SECRET).await, queued);
    let verdicts = async |person: &Person, id: Uuid| {
        let all = server.get(&format!("/deploy/application/{id}/deliveries")).by(person).ok().await;
        let all = all["deliveries"].as_array().unwrap().clone();
        all.iter().map(|one| one["verdict"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&admin, connected).await, ["accepted"]);
    assert!(verdicts(&admin, other).await.is_empty() && verdicts(&eve, theirs).await.is_empty());
    // Another host's delivery is not proven by it.
    let mut gitea = sample("gitea", "push-branch").with_id("3");
    gitea.body["repository"]["clone_url"] = json!(repository);
    assert_eq!(told(&gitea, GitHub::WEBHOOK_SECRET).await.0, 401);
    // The application's own secret goes on to count.
    let own = server.webhook_secret(&admin, connected).await;
    assert_eq!(told(&push(&github, SHOP, "4"), &own).await.0, 200);

    let acknowledged = (200, "Acknowledged. It is for no application.".to_owned());
    for name in ["ping-app", "installation-created", "installation-repositories-added", "installation-deleted"] {
        assert_eq!(told(&sample("github", name), GitHub::WEBHOOK_SECRET).await, acknowledged, "{name}");
        assert_eq!(told(&sample("github", name), "a-secret-that-is-wrong").await.0, 401, "{name}");
    }
    assert_eq!(told(&push(&github, "team/unknown", "5"), GitHub::WEBHOOK_SECRET).await, acknowledged);
    let mut ping = sample("github", "ping-app");
    for (header, value) in [("id", "5006"), ("id", "x"), ("type", "repository")] {
        ping.set_header(&format!("x-github-hook-installation-target-{header}"), value);
        assert_eq!(told(&ping, GitHub::WEBHOOK_SECRET).await.0, 401);
    }
    // What was signed with it before counts no more when the connection is another.
    let update = json!({ "id": connected, "connection_id": "" });
    server.put("/deploy/application", update).by(&admin).ok().await;
    assert_eq!(told(&push(&github, SHOP, "6"), GitHub::WEBHOOK_SECRET).await, acknowledged);
    server.delete(&format!("/connections/{id}")).by(&admin).ok().await;
    assert_eq!(told(&push(&github, SHOP, "7"), GitHub::WEBHOOK_SECRET).await.0, 401);
}

async fn an_app_that_is_gone_is_told(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let id = server.connect_app(&github, &admin, "GitHub").await;
    github.fail(401);
    let call = server.get(&format!("/connections/{id}/repositories")).by(&admin);
    let message = call.fails(502, "code_host_failed").await;
    assert!(message.starts_with("GitHub does not accept the key of the connection GitHub"), "{message}");
}

/// The member chose the address, so anything may be there.
async fn what_is_told_of_an_app_is_not_believed(kind: Kind) {
    let (server, github, admin) = begin(kind).await;
    let made = async |name: &str| {
        let link = server.app_link(&admin, body(&github, name)).await;
        let callback = server.click(&github, &link).await;
        server.browse(&callback).await
    };
    for (field, bad, good, status) in [
        ("webhook_secret", Value::Null, json!(GitHub::WEBHOOK_SECRET), 502),
        ("webhook_secret", json!("short"), json!(GitHub::WEBHOOK_SECRET), 502),
        ("slug", json!("a\u{0}b"), json!(GitHub::SLUG), 502),
        ("slug", json!("a".repeat(101)), json!(GitHub::SLUG), 502),
        ("pem", json!("no key"), json!(GitHub::PRIVATE_KEY), 400),
        ("id", json!("no number"), json!(GitHub::APP_ID), 502),
        // Another app's number: its key is not that app's.
        ("id", json!(17), json!(GitHub::APP_ID), 502),
    ] {
        github.tell(field, bad);
        let reply = made("GitHub").await;
        assert_eq!(reply.status, status, "{field}: {}", reply.text);
        assert!(reply.text.contains("Ask for a new link"), "{}", reply.text);
        github.tell(field, good);
    }
    assert_eq!(server.connections(&admin).await, 0);
    // Browsers are sent to that code host and to no other place.
    for (number, page) in ["https://evil.example/apps/x", "javascript:alert(1)", "x"].into_iter().enumerate() {
        github.tell("html_url", json!(page));
        let reply = made(&format!("GitHub {number}")).await;
        assert_eq!((reply.status, reply.headers.contains_key("location")), (200, false), "{}", reply.text);
    }
    let all = server.get("/connections").by(&admin).ok().await;
    let all = all["connections"].as_array().unwrap();
    assert!(all.len() == 3 && all.iter().all(|connection| connection["install_url"] == ""), "{all:?}");
}
