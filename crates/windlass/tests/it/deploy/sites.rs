//! Sites: files that the edge serves without a container.

use std::path::PathBuf;

use serde_json::json;
use windlass_testing::git::Repository;
use windlass_testing::{Kind, base_images};

use super::crowd::{Crowd, all_answered};
use super::support::*;

fn write(repository: &Repository, version: &str) {
    let (page, style) = (format!("page {version}"), format!("style {version}"));
    let files = [
        ("index.html", page.as_str()),
        ("about.html", "about"),
        ("assets/style.css", style.as_str()),
        ("404.html", "not here"),
        (".env", "SECRET=1"),
        ("Dockerfile.old", "FROM scratch"),
        ("_redirects", "/old/* /about\n/bad nowhere\n"),
    ];
    repository.commit(&files, version);
}

/// Of an application, with drafts.
fn sites_of(platform: &Platform, application_id: &str) -> Vec<PathBuf> {
    let installations = std::fs::read_dir(platform.data_dir().join("sites")).into_iter().flatten().flatten();
    let applications = installations.map(|one| one.path().join(application_id));
    applications
        .flat_map(|one| std::fs::read_dir(one).into_iter().flatten().flatten())
        .map(|site| site.path())
        .collect()
}

/// What visitors get of each version.
fn all_of(versions: &[&str], visits: &[super::crowd::Visit]) {
    all_answered(visits);
    for visit in visits {
        let text = &visit.answer.as_ref().unwrap().1;
        assert!(versions.iter().any(|version| text == &format!("page {version}")), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite() {
    a_site_is_deployed_changed_and_brought_back(Kind::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres() {
    a_site_is_deployed_changed_and_brought_back(Kind::Postgres).await;
}

/// Under visitors, none of whom loses a request.
async fn a_site_is_deployed_changed_and_brought_back(kind: Kind) {
    let platform = Platform::on(kind, &[]).await;
    let repository = platform.git.repository("site");
    write(&repository, "one");
    let application = platform.deploy(&body("site", &repository));
    let (id, first) = (id_of(&application), newest_deployment(&application));
    let deployed = platform.deployed(&first).await;
    assert_eq!(
        (&deployed["artifact"], &deployed["container_status"], &deployed["instances"]),
        (&json!("site"), &json!(""), &json!([])),
    );
    assert_eq!(platform.application(&id)["status"]["status"], "running");
    let visit = async |path: &str| platform.visit("site.localhost", path).await;
    assert_eq!(visit("/assets/style.css").await, (200, "style one".to_owned()));
    assert_eq!(visit("/about").await, (200, "about".to_owned()));
    assert_eq!(visit("/nothing").await, (404, "not here".to_owned()));
    assert_eq!(visit("/.env").await.0, 404);
    assert_eq!((visit("/old/page").await.0, visit("/_redirects").await.0), (301, 404));
    let told = "Not followed: line 2 of _redirects: where it leads must begin with /, http:// or https://.";
    assert!(platform.story(&first).contains(told), "{}", platform.story(&first));
    let crowd = Crowd::come(platform.edge().await, "site.localhost");
    write(&repository, "two");
    let second = newest_deployment(&platform.deploy(&body("site", &repository)));
    platform.deployed(&second).await;
    assert_eq!(visit("/").await, (200, "page two".to_owned()));
    let rollback = id_of(&platform.call("POST", "/deploy/application/rollback", &json!({ "id": first })));
    platform.deployed(&rollback).await;
    assert_eq!(visit("/").await, (200, "page one".to_owned()));
    let restart = id_of(&platform.call("POST", "/deploy/application/restart", &json!({ "id": id })));
    platform.deployed(&restart).await;
    all_of(&["one", "two"], &crowd.go().await.0);
    assert_eq!((containers_of(&id).len(), images_of(&id).len()), (0, 0));
    assert_eq!(sites_of(&platform, &id).len(), 2);
    platform.call("POST", "/deploy/application/stop", &json!({ "id": id }));
    until("it is stopped", async || (visit("/").await.0 == 503).then_some(())).await;
    let start = id_of(&platform.call("POST", "/deploy/application/start", &json!({ "id": id })));
    platform.deployed(&start).await;
    assert_eq!(visit("/").await, (200, "page one".to_owned()));
    platform.call("DELETE", "/deploy/application", &json!({ "id": id, "name": "site" }));
    until("its files are gone", async || sites_of(&platform, &id).is_empty().then_some(())).await;
}

/// What was a container becomes a site, and the other way round, without a lost request.
#[tokio::test(flavor = "multi_thread")]
async fn a_site_takes_the_place_of_containers_and_they_its() {
    let platform = Platform::start().await;
    let repository = repository(&platform, "both", "one");
    let mut body = body("both", &repository);
    let application = platform.deploy(&body);
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let crowd = Crowd::come(platform.edge().await, "both.localhost");
    repository.commit(&[("public/index.html", "page")], "a page");
    (body["build_pack"], body["base_path"]) = (json!("static"), json!("/public"));
    let site = newest_deployment(&platform.deploy(&body));
    assert_eq!(platform.deployed(&site).await["artifact"], "site");
    platform.settled().await;
    assert_eq!(platform.visit("both.localhost", "/").await, (200, "page".to_owned()));
    assert_eq!(containers_of(&id), [""; 0], "what it replaced was drained and removed");
    (body["build_pack"], body["base_path"]) = (json!("dockerfile"), json!("/"));
    let image = newest_deployment(&platform.deploy(&body));
    assert_eq!(platform.deployed(&image).await["artifact"], "image");
    let back = id_of(&platform.call("POST", "/deploy/application/rollback", &json!({ "id": site })));
    platform.deployed(&back).await;
    let (visits, _) = crowd.go().await;
    all_answered(&visits);
    assert_eq!(platform.visit("both.localhost", "/").await, (200, "page".to_owned()));
}

/// As `npm` would have it without a network: the tool that builds is a part of the repository.
const PACKAGE: &str = r#"{ "name": "shop", "scripts": { "build": "mkdir -p dist/a && cp draft dist/index.html && cp draft dist/a/b.js" },
  "devDependencies": { "vite": "file:./tools/vite" } }"#;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_build_makes_is_served() {
    let image = base_images::node().await;
    let platform = Platform::on(Kind::Sqlite, &["--base-images", &format!("node={image}")]).await;
    let repository = platform.git.repository("built");
    for version in ["one", "two"] {
        let files = [
            ("package.json", PACKAGE),
            ("tools/vite/package.json", r#"{ "name": "vite", "version": "5.0.0" }"#),
            ("index.html", "not built"),
            ("draft", version),
        ];
        repository.commit(&files, version);
        let application = platform.deploy(&body("built", &repository));
        let (id, deployment) = (id_of(&application), newest_deployment(&application));
        let deployed = platform.deployed(&deployment).await;
        assert_eq!(deployed["artifact"], "site", "{deployed}");
        assert_eq!(platform.visit("built.localhost", "/a/b.js").await, (200, version.to_owned()));
        // The page reads the path itself.
        assert_eq!(platform.visit("built.localhost", "/orders/7").await, (200, version.to_owned()));
        assert_eq!((containers_of(&id).len(), images_of(&id).len()), (0, 0));
        let site = &sites_of(&platform, &id)[0];
        assert!(!site.join("etc").exists() && !site.join("dev").exists(), "files of the engine are in it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_site_fails_with_its_reason() {
    let platform = Platform::on(Kind::Sqlite, &["--site-mib", "1", "--site-files", "5"]).await;
    let large = "x".repeat(600 << 10);
    let many: Vec<(String, &str)> = (0..6).map(|number| (format!("file{number}"), "x")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let cases = [
        (
            "large",
            vec![("a", large.as_str()), ("b", &large)],
            "ceiling_reached",
            "more than 1 MiB, the limit that site-mib",
        ),
        ("many", many, "ceiling_reached", "more than 5 files and folders, the limit that site-files"),
        ("hidden", vec![(".a", "x"), (".b/c", "x")], "no_build_pack", "there is no file to serve. Set base_path"),
    ];
    for (name, files, class, words) in cases {
        let repository = platform.git.repository(name);
        repository.commit(&files, name);
        let mut body = body(name, &repository);
        body["build_pack"] = json!("static");
        let application = platform.deploy(&body);
        let ended = platform.ended(&newest_deployment(&application)).await;
        assert_eq!(ended["failure"], class, "{ended}");
        assert!(ended["reason"].as_str().unwrap().contains(words), "{ended}");
        assert!(sites_of(&platform, &id_of(&application)).is_empty(), "{name}");
    }
}

/// What an organization may take of the disk holds for sites too, and one that is refused leaves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn sites_count_for_the_ceiling() {
    let platform = Platform::on(Kind::Sqlite, &["--organization-images-mib", "1"]).await;
    let half = "x".repeat(600 << 10);
    for (name, state) in [("first", "deployed"), ("second", "failed")] {
        let repository = platform.git.repository(name);
        repository.commit(&[("index.html", &half)], name);
        let mut body = body(name, &repository);
        (body["build_pack"], body["build_command"]) = (json!("static"), json!("make"));
        let application = platform.deploy(&body);
        let deployment = newest_deployment(&application);
        let ended = platform.ended(&deployment).await;
        assert_eq!(ended["status"]["status"], state, "{ended}");
        assert!(platform.story(&deployment).contains("The language and the commands are not used"));
        assert_eq!(sites_of(&platform, &id_of(&application)).len(), usize::from(state == "deployed"));
        if state == "failed" {
            assert_eq!(ended["failure"], "ceiling_reached");
        }
    }
}

/// A folder of the image that the repository's own Dockerfile makes.
#[tokio::test(flavor = "multi_thread")]
async fn a_dockerfile_makes_a_site() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("made");
    let dockerfile = format!(
        "FROM {}\nCOPY page /srv/www/index.html\nRUN [\"/bin/busybox\", \"ln\", \"-s\", \"/etc/passwd\", \"/srv/www/out\"]\n",
        windlass_testing::testapp::base_image().await
    );
    repository.commit(&[("Dockerfile", &dockerfile), ("page", "made")], "a site");
    let mut body = body("made", &repository);
    body["output_path"] = json!("/srv/www");
    let deployment = newest_deployment(&platform.deploy(&body));
    assert_eq!(platform.deployed(&deployment).await["artifact"], "site");
    assert_eq!(platform.visit("made.localhost", "/").await, (200, "made".to_owned()));
    assert_eq!(platform.visit("made.localhost", "/out").await.0, 404);
    assert!(platform.story(&deployment).contains("Not in it: links that lead elsewhere"), "it is not said");
    body["output_path"] = json!("/srv/nothing");
    let ended = platform.ended(&newest_deployment(&platform.deploy(&body))).await;
    assert_eq!(ended["failure"], "no_build_pack");
    assert!(
        ended["reason"].as_str().unwrap().starts_with("output_path: the image that was built has no folder"),
        "{ended}"
    );
    assert_eq!(platform.visit("made.localhost", "/").await, (200, "made".to_owned()), "the release before goes on");
}

/// Statuses say what is.
#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_gone_are_noticed() {
    let platform = Platform::start().await;
    let repository = platform.git.repository("lost");
    write(&repository, "one");
    let application = platform.deploy(&body("lost", &repository));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let site = sites_of(&platform, &id).remove(0);
    let elsewhere = platform.data_dir().join("elsewhere");
    let status = || platform.application(&id)["status"]["status"].clone();
    std::fs::rename(&site, &elsewhere).unwrap();
    until("it is failed", async || (status() == "failed").then_some(())).await;
    until("visitors are told", async || (platform.visit("lost.localhost", "/").await.0 == 503).then_some(())).await;
    let restart = id_of(&platform.call("POST", "/deploy/application/restart", &json!({ "id": id })));
    assert_eq!(platform.ended(&restart).await["failure"], "image_missing");
    std::fs::rename(&elsewhere, &site).unwrap();
    until("it runs again", async || (status() == "running").then_some(())).await;
    until("visitors are served", async || (platform.visit("lost.localhost", "/").await.0 == 200).then_some(())).await;
}

/// At each point before and after what leaves a trace.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_is_no_harm() {
    let mut platform = Platform::start().await;
    let repository = platform.git.repository("tough");
    write(&repository, "0");
    let application = platform.deploy(&body("tough", &repository));
    let id = id_of(&application);
    platform.deployed(&newest_deployment(&application)).await;
    let points = ["site-written", "deploy-built", "deploy-image-stored", "deploy-switched", "deploy-published"];
    let crowd = Crowd::come(platform.edge().await, "tough.localhost");
    for (number, point) in points.into_iter().enumerate() {
        let version = (number + 1).to_string();
        write(&repository, &version);
        platform.kill_server();
        platform.start_server(Some(point));
        platform.ask("POST", "/deploy/application", &body("tough", &repository));
        platform.wait_for_death();
        platform.start_server(None);
        let newest = newest_deployment(&platform.application(&id));
        assert_eq!(platform.ended(&newest).await["status"]["status"], "deployed", "{point}");
        assert_eq!(platform.visit("tough.localhost", "/").await, (200, format!("page {version}")), "{point}");
    }
    all_of(&["0", "1", "2", "3", "4", "5"], &crowd.go().await.0);
    let sites = sites_of(&platform, &id);
    let left: Vec<_> =
        sites.iter().filter(|site| site.file_name().unwrap().to_string_lossy().starts_with('.')).collect();
    assert!(left.len() <= 1, "drafts are left: {left:?}");
    assert_eq!(sites.len() - left.len(), 6);
}

/// They cost disk, and nothing else: no container, and no memory to speak of.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn a_thousand() {
    const SITES: usize = 1_000;
    let platform = Platform::on(Kind::Sqlite, &["--organization-applications", "2000"]).await;
    let repository = platform.git.repository("many");
    write(&repository, "many");
    let before = edge_kib(&platform).await;
    let mut waiting: Vec<(String, String)> = Vec::new();
    for number in 0..SITES {
        let name = format!("many{number}");
        let application = platform.deploy(&body(&name, &repository));
        waiting.push((name, newest_deployment(&application)));
        // A deployment waits for its turn; not hundreds of them.
        if waiting.len() >= 20 {
            let (_, deployment) = waiting.remove(0);
            platform.deployed(&deployment).await;
        }
    }
    for (_, deployment) in waiting {
        platform.deployed(&deployment).await;
    }
    for number in 0..SITES {
        assert_eq!(platform.visit(&format!("many{number}.localhost"), "/").await, (200, "page many".to_owned()));
    }
    let grown = edge_kib(&platform).await.saturating_sub(before);
    println!("the edge has grown by {grown} KiB for {SITES} sites");
    assert!(grown < 64 * 1024, "the edge has grown by {grown} KiB for {SITES} sites");
    assert_eq!(
        docker(&["ps", "--all", "--quiet", "--filter", &format!("label=windlass.instance={}", platform.instance)]),
        ""
    );
}

/// The memory that the edge has.
async fn edge_kib(platform: &Platform) -> u64 {
    let pid = windlass_server::edge::hello(&platform.data_dir()).await.unwrap().pid;
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
