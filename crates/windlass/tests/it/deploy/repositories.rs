//! What repositories may look like, and what is said about those that cannot be built.

use serde_json::{Value, json};
use windlass_testing::testapp;

use super::engine_lost::is_alone;
use super::support::*;

/// Deploys what the default branch holds, to its end.
async fn deploy(platform: &Platform, body: &Value) -> Value {
    platform.ended(&newest_deployment(&platform.deploy(body))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stage_is_built_by_its_name() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("stages");
    let dockerfile = testapp::dockerfile("").replacen("\n", " AS app\n", 1) + "FROM scratch AS tests\nCOPY nothing /\n";
    repository.commit(&[("Dockerfile", &dockerfile), ("version", "one")], "Two stages");
    let mut body = body("stages", &repository);
    body["build_target"] = json!("app");
    platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    body["build_target"] = json!("tests");
    let failed = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(failed["failure"], "build_failed");
}

/// The history is in the context when it is asked for, unless `.dockerignore` leaves it out.
#[tokio::test(flavor = "multi_thread")]
async fn a_build_gets_the_repository_when_it_is_asked_for() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("history");
    // In one line: the application tells it in a header too.
    let look = "cd /tree && { if [ -d .git ]; then cat .git/HEAD; grep -c refs/tags/v1 .git/packed-refs; cat .git/config; \
                else echo none; fi; } | xargs echo >/version";
    let dockerfile = format!("FROM {}\nCOPY . /tree\nRUN {look}\nEXPOSE 8080\nCMD [\"/testapp\"]\n", testapp::IMAGE);
    repository.commit(&[("web/Dockerfile", &dockerfile)], "One");
    repository.tag("v1");
    let hash = repository.commit(&[("web/file", "two")], "Two");
    let mut body = body("history", &repository);
    body["base_path"] = json!("/web");
    let answered = async |body: &Value| {
        platform.deployed(&newest_deployment(&platform.deploy(body))).await;
        platform.visit("history.localhost", "/").await.1
    };
    assert_eq!(answered(&body).await, "none");
    body["git_in_context"] = json!(true);
    let settings = "[core] repositoryformatversion = 0 filemode = true bare = false";
    assert_eq!(answered(&body).await, format!("{hash} 1 {settings}"));
    repository.commit(&[("web/.dockerignore", ".git\n")], "Three");
    assert_eq!(answered(&body).await, "none");
    platform.settled().await;
    let work = std::fs::read_dir(platform.data_dir().join("work")).unwrap();
    let left: Vec<_> = work.map(|entry| entry.unwrap().file_name()).filter(|name| name != "known_hosts").collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_lfs_are_built_with_their_contents() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("lfs");
    let pointer = repository.in_lfs(b"from lfs");
    let files = [("Dockerfile", &*testapp::dockerfile("")), (".gitattributes", "version filter=lfs\n")];
    repository.commit(&[&files[..], &[("version", &pointer)]].concat(), "A file in LFS");
    let body = body("lfs", &repository);
    let deployed = platform.deployed(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(platform.visit("lfs.localhost", "/").await, (200, "from lfs".into()));
    let story = platform.story(&id_of(&deployed));
    assert!(story.contains("Fetched from Git LFS, files: 1"), "{story}");
    std::fs::remove_dir_all(repository.folder().join("lfs")).unwrap();
    let ended = deploy(&platform, &body).await;
    let reason = ended["reason"].as_str().unwrap();
    assert_eq!(ended["failure"], "repository_damaged", "{reason}");
    assert!(reason.contains("such as version") && reason.contains("git lfs push --all"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dockerfiles_that_could_be_meant_are_listed() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("many");
    let text = testapp::dockerfile("");
    let files =
        ["web/Dockerfile", "services/api/Dockerfile", "ops/web.Dockerfile", "node_modules/x/Dockerfile", "a/README"];
    repository.commit(&files.map(|path| (path, text.as_str())), "Only in folders");
    let ended = deploy(&platform, &body("many", &repository)).await;
    let reason = ended["reason"].as_str().unwrap();
    assert_eq!(ended["failure"], "no_build_pack", "{reason}");
    let listed =
        "There are: ops/web.Dockerfile, services/api/Dockerfile, web/Dockerfile. Set base_path or dockerfile_path.";
    assert!(reason.ends_with(listed), "{reason}");

    let names: Vec<_> = (10..50).map(|number| format!("service-{number}/Dockerfile")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    repository.commit(&files, "Very many");
    let mut more = body("many", &repository);
    more["build_pack"] = json!("dockerfile");
    let ended = deploy(&platform, &more).await;
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("service-10/Dockerfile") && reason.contains(", and more"), "{reason}");
    assert!(reason.matches("Dockerfile,").count() < 20, "{reason}");

    more["base_path"] = json!("/service-10");
    let ended = deploy(&platform, &more).await;
    assert_ne!(ended["failure"], "no_build_pack", "{}", platform.story(&id_of(&ended)));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_dockerfile_may_be_lower_case_or_a_link_within_the_repository() {
    let platform = Platform::start().await;
    let text = testapp::dockerfile("");
    let version = ("100644", "version", "one");
    let repository = platform.git.repository("lower");
    repository.commit_entries("main", &[("100644", "dockerfile", &text), version], "Lower case");
    let ended = deploy(&platform, &body("lower", &repository)).await;
    assert_eq!(ended["status"]["status"], "deployed", "{}", platform.story(&id_of(&ended)));

    let repository = platform.git.repository("linked");
    let entries = [
        ("100644", "docker/app", &*text),
        ("120000", "web/Dockerfile", "../docker/app"),
        ("100644", "web/version", "one"),
        ("120000", "out/Dockerfile", "../../../../../../etc/hostname"),
        ("120000", "absolute/Dockerfile", "/etc/hostname"),
    ];
    repository.commit_entries("main", &entries, "Links");
    let mut linked = body("linked", &repository);
    linked["base_path"] = json!("/web");
    let ended = deploy(&platform, &linked).await;
    assert_eq!(ended["status"]["status"], "deployed", "{}", platform.story(&id_of(&ended)));
    for folder in ["/out", "/absolute"] {
        linked["base_path"] = json!(folder);
        let ended = deploy(&platform, &linked).await;
        assert_eq!(ended["failure"], "no_build_pack", "{}", platform.story(&id_of(&ended)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_deployed_by_its_hash() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("pinned");
    let first = commit(&repository, "one");
    commit(&repository, "two");
    let mut pinned = body("pinned", &repository);
    pinned["branch"] = json!(first);
    let ended = deploy(&platform, &pinned).await;
    assert_eq!(ended["status"]["status"], "deployed", "{}", platform.story(&id_of(&ended)));
    assert_eq!(ended["commit_hash"], first);
    assert_eq!(platform.visit("pinned.localhost", "/").await, (200, "one".into()));
    pinned["branch"] = json!("0123456789012345678901234567890123456789");
    let ended = deploy(&platform, &pinned).await;
    assert_eq!(ended["failure"], "reference_not_found");
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.contains("no commit 0123456789012345678901234567890123456789"), "{reason}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reason_of_a_failed_step_is_its_output_as_plain_text() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("coloured");
    let step = r"RUN echo first; printf '\033[31mnot \033[1mfound\033[0m\n'; exit 3";
    repository.commit(&[("Dockerfile", &testapp::dockerfile(step)), ("version", "one")], "Red");
    let ended = deploy(&platform, &body("coloured", &repository)).await;
    let reason = ended["reason"].as_str().unwrap();
    assert!(reason.ends_with("failed: exit code 3. Its last lines:\nfirst\nnot found"), "{reason}");
    // Lines are stored by a writer of their own, so the last ones may come a moment after the state.
    until("the reason is in the log, line by line", async || {
        platform.story(&id_of(&ended)).ends_with("Its last lines:\nfirst\nnot found").then_some(())
    })
    .await;
}

/// More than a megabyte that cannot be made much smaller.
fn ballast() -> String {
    (0..200_000_u64).map(|number| format!("{:x}\n", number.wrapping_mul(0x9E37_79B9_7F4A_7C15))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_deployment_fetches_what_is_new_and_a_removal_leaves_nothing() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "again", "one");
    let ballast = ballast();
    repository.commit(&[("ballast", &ballast)], "Ballast");
    let body = body("again", &repository);
    let first = deploy(&platform, &body).await;
    assert_eq!(first["status"]["status"], "deployed", "{}", platform.story(&id_of(&first)));
    let before = platform.git.sent();
    assert!(before > 1 << 20, "{before}");
    commit(&repository, "two");
    let second = deploy(&platform, &body).await;
    assert_eq!(second["status"]["status"], "deployed", "{}", platform.story(&id_of(&second)));
    let sent = platform.git.sent() - before;
    assert!(sent < 16 << 10, "{sent} bytes for a small change");
    assert_eq!(platform.visit("again.localhost", "/").await, (200, "two".into()));
    let repositories = platform.data_dir().join("repositories");
    assert!(std::fs::read_dir(&repositories).unwrap().count() > 0);
    platform.call("DELETE", "/deploy/application", &json!({ "id": second["application_id"], "name": "again" }));
    platform.settled().await;
    assert_eq!(std::fs::read_dir(&repositories).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_fetched_is_still_used_after_a_kill_during_a_fetch() {
    let mut platform = Platform::start().await;
    let repository = repository(&platform, "killed", "one");
    let ballast = ballast();
    repository.commit(&[("ballast", &ballast)], "Ballast");
    let body = body("killed", &repository);
    deploy(&platform, &body).await;
    let before = platform.git.sent();
    let hash = commit(&repository, "two");
    platform.git.hang();
    let asked = platform.git.requests();
    let deployment = newest_deployment(&platform.deploy(&body));
    until("git asks", async || (platform.git.requests() > asked).then_some(())).await;
    platform.kill_server();
    platform.git.go_on();
    platform.start_server(None);
    assert_eq!(platform.deployed(&deployment).await["commit_hash"], hash);
    let sent = platform.git.sent() - before;
    assert!(sent < 16 << 10, "{sent} bytes for a small change");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_build_cache_keeps_to_its_budget() {
    // Builds of other tests fill the cache again and again, and need what they fill it with.
    if !is_alone("repositories::the_build_cache_keeps_to_its_budget") {
        return;
    }
    let platform = Platform::on(windlass_testing::Kind::Sqlite, &["--build-cache-mib", "1"]).await;
    let repository = platform.git.repository("growing");
    // Layers of no image are the build cache's alone.
    let step = "RUN head -c 8000000 /dev/urandom > /large\nRUN false";
    repository.commit(&[("Dockerfile", &testapp::dockerfile(step)), ("version", "one")], "Large");
    let ended = deploy(&platform, &body("growing", &repository)).await;
    assert_eq!(ended["failure"], "build_failed", "{}", platform.story(&id_of(&ended)));
    platform.process().wait_for("build-cache-mib");
    let health = until("the cache is within its budget", async || {
        let health = platform.call("GET", "/health", &Value::Null);
        let bytes = health["build_cache"]["bytes"].as_i64().unwrap();
        (bytes <= 1 << 20).then_some(health)
    })
    .await;
    assert_eq!(health["build_cache"]["budget_bytes"], 1 << 20);
    let metrics = platform.process().metrics(platform.token());
    assert!(metrics.contains("\nwindlass_build_cache_bytes "), "{metrics}");
}
