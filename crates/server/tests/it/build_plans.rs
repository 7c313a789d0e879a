//! What a deploy would build, asked for before it is deployed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_api::Role;
use windlass_testing::git::{GitServer, Repository};
use windlass_testing::{Kind, on_both_databases};

use crate::support::{Person, TestServer, kind, server};

on_both_databases!(
    server: the_plan_of_an_application_that_is_not_there_yet, the_services_of_a_compose_file, what_does_not_go_with_services,
    what_the_application_has_counts, who_may_ask
);
on_both_databases!(kind: there_are_few_at_once_and_nothing_is_left);

const PATH: &str = "/deploy/application/preview";
const NODE: [(&str, &str); 2] = [
    ("package.json", r#"{ "scripts": { "start": "node server.js" }, "engines": { "node": "22" } }"#),
    ("server.js", ""),
];

/// Asks again until there is an answer.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// As soon as what was looked at before is removed.
async fn plan(server: &TestServer, person: &Person, body: Value) -> Value {
    let ask = async || {
        let reply = server.post(PATH, body.clone()).by(person).send().await;
        Some(reply).filter(|reply| reply.status != 429)
    };
    let reply = until("the turn is given back", ask).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json["data"].clone()
}

fn repository(git: &GitServer, name: &str, files: &[(&str, &str)]) -> Repository {
    let repository = git.repository(name);
    repository.commit(files, "First");
    repository
}

/// Nothing of what was fetched is left.
async fn until_clean(server: &TestServer) {
    until("everything is removed", async || {
        let entries = std::fs::read_dir(server.app.config.data_dir.join("work")).into_iter().flatten().flatten();
        let left = entries.filter(|entry| entry.file_name() != "known_hosts").count();
        (left == 0).then_some(())
    })
    .await;
}

async fn the_services_of_a_compose_file(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let compose = "
services:
  web: { build: app, ports: ['80:3000'], depends_on: [db], privileged: true }
  db: { image: 'postgres:${KEY}', volumes: ['data:/data'], ports: ['5432:5432'] }
  tools: { image: x, profiles: [tools] }
volumes: { data: }
";
    let files = [("docker/compose.yaml", compose), ("docker/app/Dockerfile", "FROM scratch\n")];
    let body = json!({
        "name": "shop", "repository": repository(&git, "shop", &files).url(), "build_pack": "docker-compose", "base_path": "/docker",
        "environment_variables": { "KEY": "sesame-sesame" }, "secret_names": ["KEY"],
    });
    let found = plan(&server, &ada, body.clone()).await;
    assert_eq!(
        (&found["artifact"], &found["compose_file"]),
        (&json!("services"), &json!("docker/compose.yaml")),
        "{found}"
    );
    let described = |name: &str, more: Value| {
        let mut service = json!({
            "name": name, "image": "", "context_path": "", "port": 0, "is_main": false, "volumes": [], "depends_on": [],
        });
        service.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        service
    };
    let db = described("db", json!({ "image": "postgres:********", "port": 5432, "volumes": ["data"] }));
    let web = json!({ "context_path": "/docker/app", "port": 3000, "is_main": true, "depends_on": ["db"] });
    assert_eq!(found["services"], json!([db, described("web", web)]));
    let warnings = found["warnings"].to_string();
    for words in ["they have profiles: tools", "No ports of the machine", "db", "which needs host access"] {
        assert!(warnings.contains(words), "{words}: {found}");
    }
    let mut other = body;
    other["service"] = json!("tools");
    let refused = plan(&server, &ada, other).await;
    assert!(refused["reason"].as_str().unwrap().contains("Choose one of: db, web."), "{refused}");
}

async fn what_does_not_go_with_services(server: TestServer) {
    let ada = server.admin().await;
    for (field, value) in [
        ("replicas", json!(2)),
        ("pre_run_command", json!("true")),
        ("post_run_command", json!("true")),
        ("output_path", json!("/dist")),
    ] {
        let mut body =
            json!({ "name": "shop", "repository": "https://example.org/a.git", "build_pack": "docker-compose" });
        body[field] = value;
        let reply = server.post("/deploy/application", body).by(&ada).send().await;
        assert!(reply.status == 400 && reply.text.contains(&format!("{field}: must be left out")), "{}", reply.text);
    }
}

async fn the_plan_of_an_application_that_is_not_there_yet(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let ask = async |files: &[(&str, &str)], more: Value| {
        let name = format!("app-{}", server.app.new_id());
        let mut body = json!({ "name": "shop", "repository": repository(&git, &name, files).url() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        plan(&server, &ada, body).await
    };
    let variables = json!({ "MODE": "fast", "KEY": "sesame-sesame", "a-b": "sesame" });
    let found = ask(&NODE, json!({ "build_variables": variables, "secret_names": ["KEY", "a-b"] })).await;
    assert_eq!(
        (&found["artifact"], &found["language"], &found["language_version"]),
        (&json!("image"), &json!("node"), &json!("22"))
    );
    assert_eq!((&found["start_command"], &found["failure"]), (&json!("node server.js"), &json!("")));
    assert_eq!(found["commit_message"], "First");
    let dockerfile = found["dockerfile"].as_str().unwrap();
    assert!(
        dockerfile.contains("ARG MODE") && !dockerfile.contains("ARG KEY") && !dockerfile.contains("sesame"),
        "{dockerfile}"
    );
    assert!(dockerfile.contains("--mount=type=secret,id=KEY [") && !dockerfile.contains("a-b"), "{dockerfile}");
    assert!(found["warnings"].to_string().contains("which are too many: a-b."), "{found}");
    assert!(!found["reasons"].as_array().unwrap().is_empty());
    // What is set beats what is found.
    let set = ask(&NODE, json!({ "start_command": "node other.js", "port": 4000 })).await;
    assert_eq!((&set["start_command"], &set["port"]), (&json!("node other.js"), &json!(4000)));

    let own = ask(&[("web/Dockerfile", "FROM scratch\n")], json!({ "base_path": "/web" })).await;
    assert_eq!(
        (&own["artifact"], &own["context_path"], &own["dockerfile_path"]),
        (&json!("image"), &json!("/web"), &json!("Dockerfile"))
    );
    assert_eq!((&own["dockerfile"], &own["language"]), (&json!("FROM scratch\n"), &json!("")));

    let site = ask(&[("public/index.html", "<p>hello")], json!({})).await;
    assert_eq!(
        (&site["artifact"], &site["output_path"], &site["language"]),
        (&json!("site"), &json!("/public"), &json!("static"))
    );
    let site = ask(
        &[("pages/index.html", "<p>hello")],
        json!({ "build_pack": "static", "output_path": "pages", "language": "go" }),
    )
    .await;
    assert_eq!(
        (&site["artifact"], &site["output_path"], &site["language"]),
        (&json!("site"), &json!("/pages"), &json!(""))
    );
    assert_eq!(site["warnings"].as_array().unwrap().len(), 1, "{site}");

    let several = ask(
        &[("go.mod", "module shop\n"), ("cmd/api/main.go", "package main\n"), ("cmd/job/main.go", "package main\n")],
        json!({}),
    )
    .await;
    assert_eq!((&several["artifact"], &several["failure"]), (&json!(""), &json!("no_build_pack")));
    let programs: Vec<_> = several["choices"].as_array().unwrap().iter().map(|one| &one["program"]).collect();
    assert_eq!(programs, ["cmd/api", "cmd/job"]);
    assert!(several["reason"].as_str().unwrap().contains("Set program to one of them."), "{several}");
    let chosen = ask(
        &[("go.mod", "module shop\n"), ("cmd/api/main.go", "package main\n"), ("cmd/job/main.go", "package main\n")],
        json!({ "program": "cmd/job" }),
    )
    .await;
    assert_eq!((&chosen["artifact"], &chosen["choices"]), (&json!("image"), &json!([])));

    let nothing = ask(&[("notes.txt", "")], json!({})).await;
    assert_eq!((&nothing["failure"], nothing["commit_hash"].as_str().unwrap().len()), (&json!("no_build_pack"), 40));
    let absent = plan(&server, &ada, json!({ "name": "shop", "repository": format!("{}/none.git", git.url()) })).await;
    assert_eq!((&absent["failure"], &absent["commit_hash"]), (&json!("repository_unreachable"), &json!("")));
    let branch = ask(&NODE, json!({ "branch": "none" })).await;
    assert_eq!(branch["failure"], "reference_not_found");

    // A link that leads out of the repository is not read.
    let hostile = git.repository("hostile");
    hostile.commit_entries("main", &[("120000", "Dockerfile", "/etc/passwd")], "Hostile");
    let body = json!({ "name": "shop", "repository": hostile.url() });
    let answer = plan(&server, &ada, body).await;
    assert_eq!((&answer["failure"], &answer["dockerfile"]), (&json!("no_build_pack"), &json!("")));

    let list = server.get("/deploy/applications").by(&ada).ok().await;
    assert_eq!(list["applications"], json!([]));
    until_clean(&server).await;
}

async fn what_the_application_has_counts(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start().with_token("sesame-of-the-host"));
    let repository = repository(&git, "shop", &NODE);
    let least = json!({ "name": "shop", "repository": repository.url() });
    let refused = plan(&server, &ada, least.clone()).await;
    assert_eq!(refused["failure"], "repository_unreachable", "{refused}");
    assert!(!refused.to_string().contains("sesame"));
    let mut body = least.clone();
    body["repository_token"] = json!("sesame-of-the-host");
    assert_eq!(plan(&server, &ada, body.clone()).await["artifact"], "image");
    body["start_command"] = json!("node own.js");
    let before = server.deploy(&ada, body).await;
    let stored = plan(&server, &ada, least.clone()).await;
    assert_eq!((&stored["artifact"], &stored["start_command"]), (&json!("image"), &json!("node own.js")));
    // Asked with other settings, the application keeps its own.
    let mut other = least;
    (other["start_command"], other["base_path"]) = (json!("node third.js"), json!("/none"));
    assert_eq!(plan(&server, &ada, other).await["failure"], "no_build_pack");
    let after = server.get(&format!("/deploy/application?id={}", before["id"].as_str().unwrap())).by(&ada).ok().await;
    for field in ["settings", "base_path", "updated_at", "pending_fields"] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert_eq!(after["deployments"].as_array().unwrap().len(), 1);
    // A domain that another organization has is not asked for.
    let eve = server.stranger(&ada, "eve").await;
    let mut body = json!({ "name": "other", "repository": repository.url(), "domain": before["domain"] });
    body["repository_token"] = json!("sesame-of-the-host");
    assert_eq!(plan(&server, &eve, body).await["artifact"], "image");
    // What a deploy refuses is refused.
    let taken = json!({ "name": "shop", "repository": "https://git.example.org/other.git" });
    server.post(PATH, taken).by(&ada).fails(409, "name_taken").await;
    let message = server.post(PATH, json!({ "name": "shop" })).by(&ada).fails(400, "invalid_request").await;
    assert!(message.starts_with("repository:"), "{message}");
}

async fn who_may_ask(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let body = json!({ "name": "shop", "repository": repository(&git, "shop", &NODE).url() });
    let viewer = server.join(&ada, "vera", Role::Viewer).await;
    server.post(PATH, body.clone()).by(&viewer).fails(403, "forbidden").await;
    let member = server.join(&ada, "mia", Role::Member).await;
    assert_eq!(plan(&server, &member, body.clone()).await["artifact"], "image");
    let key = json!({ "name": "ci", "organization_id": ada.organization_id, "permissions": ["deploy:create"] });
    let key = server.post("/auth/api-keys", key).by(&ada).ok().await;
    let key = Person { token: key["key"].as_str().unwrap().to_owned(), ..ada.clone() };
    server.post(PATH, body).by(&key).fails(403, "forbidden").await;
    let folder = json!({ "name": "local", "repository": "/etc" });
    let theirs = server.stranger(&ada, "eve").await;
    let message = server.post(PATH, folder).by(&theirs).fails(400, "invalid_request").await;
    assert!(message.contains("host access"), "{message}");
}

/// The first one waits for a code host that does not answer.
async fn there_are_few_at_once_and_nothing_is_left(kind: Kind) {
    let server = TestServer::with(kind, &[("request-seconds", "20")]).await;
    let (ada, git) = (server.admin().await, GitServer::start());
    let body = json!({ "name": "shop", "repository": repository(&git, "shop", &NODE).url() });
    git.hang();
    let first = server.post(PATH, body.clone()).by(&ada).fails(503, "unavailable");
    let second = async {
        until("git asks", async || (git.requests() > 0).then_some(())).await;
        let message = server.post(PATH, body.clone()).by(&ada).fails(429, "rate_limited").await;
        assert!(message.contains("in this organization"), "{message}");
    };
    let (first, ()) = tokio::join!(first, second);
    assert!(first.ends_with("A deploy has more."), "{first}");
    git.go_on();
    assert_eq!(plan(&server, &ada, body).await["artifact"], "image");
    until_clean(&server).await;
}
