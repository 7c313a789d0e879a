//! What the next deploy would change, asked before it is begun.

use serde_json::{Value, json};
use windlass_api::{ContainerStatus, Role};
use windlass_store::containers::{self, Container, Purpose, Stage};
use windlass_store::{releases, volumes};
use windlass_testing::git::{GitServer, Repository};
use windlass_testing::{Kind, on_both_databases};

use crate::build_plans::until;
use crate::deploys::{least, most};
use crate::support::{Person, START, TestServer, id_of, kind, server};

on_both_databases!(
    server: nothing_changes_right_after_a_deploy, each_change_says_how_far_it_reaches, a_commit_is_something_to_build,
    the_repository_may_not_answer, values_are_shown_to_those_who_may_read_them, visitors_wait_for_a_volume,
    what_was_stopped_and_what_never_ran, tenants_know_nothing_of_each_other
);
on_both_databases!(kind: a_repository_that_hangs_is_not_waited_for);

/// A repository with one commit, and an application of it whose newest commit is live.
async fn deployed(server: &TestServer, person: &Person, git: &GitServer, mut body: Value) -> (Repository, Value) {
    let repository = git.repository(&id_of(&json!({ "id": server.app.new_id() })).to_string());
    let hash = repository.commit(&[("Dockerfile", "FROM scratch\n")], "First");
    body["repository"] = json!(repository.url());
    let shop = server.running(person, body).await;
    let mut tx = server.app.db.begin().await.unwrap();
    let release = id_of(&shop["deployments"][0]);
    releases::set_commit(&mut tx, release, &hash, "Ada <ada@example.org>", "First").await.unwrap();
    tx.commit().await.unwrap();
    (repository, shop)
}

async fn plan(server: &TestServer, person: &Person, application: &Value) -> Value {
    server.get(&format!("/deploy/application/{}/plan", id_of(application))).by(person).ok().await
}

async fn change(server: &TestServer, person: &Person, application: &Value, mut body: Value) {
    body["id"] = application["id"].clone();
    server.put("/deploy/application", body).by(person).ok().await;
}

/// Each as `field variable effect`.
fn summary(plan: &Value) -> Vec<String> {
    let text = |change: &Value, field: &str| change[field].as_str().unwrap().to_owned();
    let words = |change: &Value| ["field", "variable", "effect"].map(|field| text(change, field)).join(" ");
    plan["changes"].as_array().unwrap().iter().map(words).collect()
}

fn dockerfile(name: &str) -> Value {
    json!({ "name": name, "repository": "", "build_pack": "dockerfile" })
}

async fn nothing_changes_right_after_a_deploy(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let (_, shop) = deployed(&server, &ada, &git, most("shop")).await;
    let found = plan(&server, &ada, &shop).await;
    assert_eq!(
        (&found["changes"], &found["effect"], &found["is_gapless"]),
        (&json!([]), &json!("nothing"), &json!("yes"))
    );
    assert_eq!((&found["gap"], &found["commit_problem"]), (&json!(""), &json!("")));
    assert_eq!(found["live_deployment_id"], shop["deployments"][0]["id"]);
    assert_eq!(found["release_id"], shop["deployments"][0]["id"]);
    assert_eq!((&found["branch"], &found["commit_message"]), (&json!("main"), &json!("First")));
    assert_eq!(found["commit_hash"], found["newest_commit_hash"]);
    // Variables of previews are no part of a release.
    change(&server, &ada, &shop, json!({ "preview_variables": { "GREETING": "another" } })).await;
    assert_eq!(plan(&server, &ada, &shop).await["effect"], "nothing");
}

async fn each_change_says_how_far_it_reaches(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let (_, shop) = deployed(&server, &ada, &git, dockerfile("shop")).await;
    change(&server, &ada, &shop, json!({ "kept_releases": 3, "environment": "staging" })).await;
    let found = plan(&server, &ada, &shop).await;
    assert_eq!(summary(&found), ["environment  nothing", "kept_releases  nothing"]);
    assert_eq!(found["effect"], "nothing");
    change(
        &server,
        &ada,
        &shop,
        json!({ "environment_variables": { "GREETING": "hello" }, "replicas": 2, "port": 80 }),
    )
    .await;
    let found = plan(&server, &ada, &shop).await;
    let expected = [
        "environment  nothing",
        "kept_releases  nothing",
        "port  containers",
        "replicas  containers",
        "environment_variables GREETING containers",
    ];
    assert_eq!(
        (summary(&found).as_slice(), &found["effect"]),
        (&expected.map(str::to_owned)[..], &json!("containers"))
    );
    let greeting = found["changes"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(
        (&greeting["before"], &greeting["after"], &greeting["is_masked"], &greeting["is_cut"]),
        (&Value::Null, &json!("hello"), &json!(false), &json!(false))
    );
    change(&server, &ada, &shop, json!({ "git_in_context": true })).await;
    let found = plan(&server, &ada, &shop).await;
    assert!(summary(&found).contains(&"git_in_context  build".to_owned()), "{found}");
    assert_eq!(found["effect"], "build");
    change(&server, &ada, &shop, json!({ "git_in_context": false, "build_target": "small" })).await;
    assert_eq!(plan(&server, &ada, &shop).await["effect"], "build");
    // Of services the variables are filled into the compose file.
    let body = json!({ "name": "services", "repository": "", "build_pack": "docker-compose" });
    let (_, services) = deployed(&server, &ada, &git, body).await;
    change(&server, &ada, &services, json!({ "environment_variables": { "GREETING": "hello" } })).await;
    assert_eq!(summary(&plan(&server, &ada, &services).await), ["environment_variables GREETING build"]);
}

async fn a_commit_is_something_to_build(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let (repository, shop) = deployed(&server, &ada, &git, dockerfile("shop")).await;
    let hash = repository.commit(&[("a", "")], "Second");
    let found = plan(&server, &ada, &shop).await;
    assert_eq!((summary(&found), &found["newest_commit_hash"]), (vec!["commit_hash  build".to_owned()], &json!(hash)));
    assert_eq!(found["changes"][0]["after"], json!(hash));
    // Another branch with the same commit changes nothing of what is built.
    let live = found["commit_hash"].as_str().unwrap();
    repository.git(&["branch", "old", live]);
    change(&server, &ada, &shop, json!({ "branch": "old" })).await;
    let found = plan(&server, &ada, &shop).await;
    assert_eq!((summary(&found), &found["effect"]), (vec!["branch  nothing".to_owned()], &json!("nothing")));
    // A tag with a message leads to a commit.
    repository.git(&["-c", "user.name=a", "-c", "user.email=a@example.org", "tag", "-a", "-m", "One", "v1", live]);
    change(&server, &ada, &shop, json!({ "branch": "v1" })).await;
    assert_eq!(plan(&server, &ada, &shop).await["newest_commit_hash"], live);
    change(&server, &ada, &shop, json!({ "branch": hash })).await;
    assert_eq!(plan(&server, &ada, &shop).await["newest_commit_hash"], json!(hash));
}

async fn the_repository_may_not_answer(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start().with_token("sesame-of-the-host"));
    let mut body = dockerfile("shop");
    body["repository_token"] = json!("sesame-of-the-host");
    let (_, shop) = deployed(&server, &ada, &git, body).await;
    assert_eq!(plan(&server, &ada, &shop).await["effect"], "nothing");
    change(&server, &ada, &shop, json!({ "repository_token": "another-sesame", "replicas": 2 })).await;
    let found = plan(&server, &ada, &shop).await;
    assert!(found["commit_problem"].as_str().unwrap().contains("repository_token"), "{found}");
    assert_eq!((&found["newest_commit_hash"], &found["effect"]), (&json!(""), &json!("unknown")));
    assert_eq!(summary(&found), ["replicas  containers"]);
    assert!(!found.to_string().contains("sesame"), "{found}");
    change(&server, &ada, &shop, json!({ "repository_token": "sesame-of-the-host", "branch": "none" })).await;
    let found = plan(&server, &ada, &shop).await;
    assert!(found["commit_problem"].as_str().unwrap().contains("\"none\""), "{found}");
    assert_eq!(summary(&found), ["branch  unknown", "replicas  containers"]);
    // What is to be built is known without it.
    change(&server, &ada, &shop, json!({ "base_path": "web" })).await;
    assert_eq!(plan(&server, &ada, &shop).await["effect"], "build");
    let left = std::fs::read_dir(server.app.config.data_dir.join("work")).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).filter(|name| name != "known_hosts").collect();
    assert!(left.is_empty(), "{left:?}");
}

async fn a_repository_that_hangs_is_not_waited_for(kind: Kind) {
    let server = TestServer::with(kind, &[("request-seconds", "16")]).await;
    let (ada, git) = (server.admin().await, GitServer::start());
    let (_, shop) = deployed(&server, &ada, &git, dockerfile("shop")).await;
    git.hang();
    let mia = server.join(&ada, "mia", Role::Member).await;
    let (first, second) = tokio::join!(plan(&server, &ada, &shop), async {
        until("the repository is asked", async || (git.requests() > 0).then_some(())).await;
        plan(&server, &mia, &shop).await
    });
    assert!(first["commit_problem"].as_str().unwrap().contains("did not answer within 8 seconds"), "{first}");
    assert!(second["commit_problem"].as_str().unwrap().contains("under way in this organization"), "{second}");
    git.go_on();
}

async fn values_are_shown_to_those_who_may_read_them(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let viewer = server.join(&ada, "vera", Role::Viewer).await;
    let (_, shop) = deployed(&server, &ada, &git, most("shop")).await;
    let long = "x".repeat(3_000);
    let variables = json!({ "GREETING": long, "password": "an entirely new secret", "ADDED": "a new value" });
    change(&server, &ada, &shop, json!({ "environment_variables": variables, "build_variables": {} })).await;
    let found = plan(&server, &ada, &shop).await;
    let of = |found: &Value, name: &str| {
        let mut changes = found["changes"].as_array().unwrap().iter();
        changes.find(|change| change["variable"] == name).unwrap().clone()
    };
    let greeting = of(&found, "GREETING");
    assert_eq!((greeting["after"].as_str().unwrap().len(), &greeting["is_cut"]), (2_000, &json!(true)));
    assert_eq!(of(&found, "ADDED")["after"], "a new value");
    for (name, before, after) in
        [("password", json!("********"), json!("********")), ("token", json!("********"), Value::Null)]
    {
        let change = of(&found, name);
        assert_eq!((&change["before"], &change["after"], &change["is_masked"]), (&before, &after, &json!(true)));
    }
    assert!(!found.to_string().contains("entirely new"));
    let seen = plan(&server, &viewer, &shop).await;
    assert_eq!(
        (&of(&seen, "ADDED")["after"], &of(&seen, "GREETING")["before"]),
        (&json!("********"), &json!("********"))
    );
    assert!(!seen.to_string().contains("a new value") && !seen.to_string().contains("xxx"), "{seen}");
}

/// As if the live release had a container with all volumes of the application.
async fn run_container(server: &TestServer, application: &Value) -> Container {
    let mut tx = server.app.db.begin().await.unwrap();
    let all = volumes::of_application(&mut tx, id_of(application)).await.unwrap();
    let mounted = |volume: &volumes::Volume| {
        json!({
            "volume_id": volume.id, "engine_name": volume.engine_name, "host_path": "", "path": volume.path, "shared": volume.shared,
        })
    };
    let row = Container {
        id: server.app.new_id(),
        application_id: id_of(application),
        deployment_id: id_of(&application["deployments"][0]),
        purpose: Purpose::App,
        ordinal: 1,
        service: String::new(),
        port: 0,
        specification_hash: String::new(),
        hosts: "[]".into(),
        stage: Stage::Live,
        name: format!("wl-{}", server.app.new_id().simple()),
        engine_id: "c0ffee".into(),
        status: ContainerStatus::Running,
        address: "10.0.0.2".into(),
        mounts: all.iter().map(mounted).collect::<Value>().to_string(),
        steady_restarts: 0,
        crash_loop: String::new(),
        created_at: START,
    };
    containers::insert(&mut tx, &row).await.unwrap();
    tx.commit().await.unwrap();
    row
}

async fn visitors_wait_for_a_volume(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let mut body = dockerfile("shop");
    body["volumes"] = json!([{ "name": "data", "path": "/data" }]);
    let (repository, shop) = deployed(&server, &ada, &git, body).await;
    run_container(&server, &shop).await;
    let gapless =
        |found: &Value| (found["is_gapless"].as_str().unwrap().to_owned(), found["gap"].as_str().unwrap().to_owned());
    let (is_gapless, gap) = gapless(&plan(&server, &ada, &shop).await);
    assert!(is_gapless == "no" && gap.contains("The volume data is not shared"), "{is_gapless}: {gap}");
    // With a new commit a Dockerfile still makes an image; only `auto` may find something else.
    repository.commit(&[("a", "")], "Second");
    assert_eq!(gapless(&plan(&server, &ada, &shop).await).0, "no");
    change(&server, &ada, &shop, json!({ "build_pack": "auto" })).await;
    let (is_gapless, gap) = gapless(&plan(&server, &ada, &shop).await);
    assert!(is_gapless == "depends" && gap.starts_with("If an image is built: The volume data"), "{is_gapless}: {gap}");
    change(&server, &ada, &shop, json!({ "build_pack": "static" })).await;
    assert_eq!(gapless(&plan(&server, &ada, &shop).await), ("yes".into(), String::new()), "a site has no containers");
    change(&server, &ada, &shop, json!({ "build_pack": "docker-compose" })).await;
    assert_eq!(gapless(&plan(&server, &ada, &shop).await).0, "depends");
    // Only both releases can share it.
    let path = format!("/deploy/application/{}/volumes/data", id_of(&shop));
    server.put(&path, json!({ "shared": true })).by(&ada).ok().await;
    change(&server, &ada, &shop, json!({ "build_pack": "dockerfile" })).await;
    assert_eq!(gapless(&plan(&server, &ada, &shop).await).0, "no");

    let mut body = dockerfile("shared");
    body["volumes"] = json!([{ "name": "data", "path": "/data", "shared": true }]);
    let (_, shared) = deployed(&server, &ada, &git, body).await;
    run_container(&server, &shared).await;
    assert_eq!(gapless(&plan(&server, &ada, &shared).await), ("yes".into(), String::new()));
    change(&server, &ada, &shared, json!({ "pause": true })).await;
    assert_eq!(gapless(&plan(&server, &ada, &shared).await).0, "yes", "there is no command to pause for");
    change(&server, &ada, &shared, json!({ "pre_run_command": "migrate" })).await;
    let (is_gapless, gap) = gapless(&plan(&server, &ada, &shared).await);
    assert!(is_gapless == "no" && gap.contains("pre_run_command"), "{is_gapless}: {gap}");
    change(&server, &ada, &shared, json!({ "pause": false, "snapshot_before_deploy": true })).await;
    assert_eq!(gapless(&plan(&server, &ada, &shared).await).0, "yes", "no container had the volume yet");
    server.use_volumes(id_of(&shared)).await;
    let (is_gapless, gap) = gapless(&plan(&server, &ada, &shared).await);
    assert!(is_gapless == "no" && gap.contains("snapshot_before_deploy"), "{is_gapless}: {gap}");
    // Volumes are changes too.
    let path = format!("/deploy/application/{}/volumes", id_of(&shared));
    server.post(&path, json!({ "name": "more", "path": "/more", "shared": true })).by(&ada).ok().await;
    let found = plan(&server, &ada, &shared).await;
    assert_eq!(summary(&found).last().unwrap(), "volumes more containers");
    assert_eq!(found["changes"].as_array().unwrap().last().unwrap()["after"], "/more");
}

async fn what_was_stopped_and_what_never_ran(server: TestServer) {
    let (ada, git) = (server.admin().await, GitServer::start());
    let (_, shop) = deployed(&server, &ada, &git, dockerfile("shop")).await;
    server.post("/deploy/application/stop", json!({ "id": shop["id"] })).by(&ada).ok().await;
    change(&server, &ada, &shop, json!({ "replicas": 2 })).await;
    let found = plan(&server, &ada, &shop).await;
    assert_eq!((&found["release_id"], &found["effect"]), (&shop["deployments"][0]["id"], &json!("containers")));
    let never = server.deploy(&ada, least("never")).await;
    let found = plan(&server, &ada, &never).await;
    let (none, nothing) = (json!(""), json!([]));
    assert_eq!((&found["live_deployment_id"], &found["release_id"], &found["changes"]), (&none, &none, &nothing));
    assert_eq!((&found["effect"], &found["is_gapless"]), (&json!("first"), &json!("yes")));
}

async fn tenants_know_nothing_of_each_other(server: TestServer) {
    let ada = server.admin().await;
    let shop = server.running(&ada, least("shop")).await;
    let eve = server.stranger(&ada, "eve").await;
    let path = format!("/deploy/application/{}/plan", id_of(&shop));
    server.get(&path).by(&eve).fails(404, "not_found").await;
    let message = server.get("/deploy/application/17/plan").by(&eve).fails(400, "invalid_request").await;
    assert_eq!(message, "application_id: must be a UUID");
}
