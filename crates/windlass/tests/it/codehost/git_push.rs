//! `git push` to Windlass itself.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_server::pushes::KILL_POINTS;
use windlass_testing::{Kind, testapp};

use super::uploads::send;
use crate::deploy::support::*;

/// A working copy, and where it is pushed to.
struct Copy {
    folder: TempDir,
    remote: String,
}

impl Copy {
    fn new(platform: &Platform, token: &str, organization: &str, application: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let copy = Self { folder, remote: remote(platform, token, organization, application) };
        copy.git(&["init", "-q", "-b", "main"]);
        copy
    }

    fn git(&self, arguments: &[&str]) -> Output {
        git(self.folder.path(), arguments)
    }

    fn commit(&self, version: &str) -> String {
        self.write("Dockerfile", testapp::dockerfile(""));
        self.write("version", version);
        self.commit_all(version)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.folder.path().join(name), content).unwrap();
    }

    fn commit_all(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        String::from_utf8(self.git(&["rev-parse", "HEAD"]).stdout).unwrap().trim().to_owned()
    }

    /// Whether git says that it succeeded, and what it showed.
    fn push(&self, what: &str) -> (bool, String) {
        let output = self.git(&["push", &self.remote, what]);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// The commit of a branch at the other end.
    fn remote_commit(&self, folder: &Path, branch: &str) -> String {
        let output = git(folder, &["rev-parse", "--verify", "-q", branch]);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }
}

fn remote(platform: &Platform, token: &str, organization: &str, application: &str) -> String {
    format!("http://{token}@{}/{organization}/{application}.git", platform.process().address)
}

fn git(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
    for (name, value) in [("NAME", "Ada"), ("EMAIL", "ada@example.org")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    command.output().expect("git starts")
}

/// Its id and an API key that may deploy it.
fn pushed_application(platform: &Platform, name: &str) -> (String, String) {
    let body = json!({ "name": name, "repository": "push", "drain_seconds": 5, "stop_seconds": 1, "health_path": "/" });
    let made = platform.deploy(&body);
    assert_eq!(made["deployments"], json!([]), "nothing was pushed yet");
    (id_of(&made), key(platform, &made["organization_id"]))
}

fn key(platform: &Platform, organization_id: &Value) -> String {
    let body = json!({
        "name": "push", "organization_id": organization_id, "permissions": ["deploy:create"],
    });
    platform.call("POST", "/auth/api-keys", &body)["key"].as_str().unwrap().to_owned()
}

fn organization(platform: &Platform, id: &str) -> String {
    platform.application(id)["organization_id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_pushed_is_served_and_the_push_says_so() {
    let platform = Platform::start().await;
    let (id, key) = pushed_application(&platform, "My Shop");
    let copy = Copy::new(&platform, &key, &organization(&platform, &id), "my-shop");
    let repository = platform.data_dir().join(format!("pushed/{id}.git"));
    let first = copy.commit("first");
    let (succeeded, shown) = copy.push("main");
    assert!(succeeded, "{shown}");
    assert!(
        shown.contains("remote: Commit ") && shown.contains("remote: Deployed: http://my-shop.localhost"),
        "{shown}"
    );
    assert_eq!(platform.visit("my-shop.localhost", "/").await, (200, "first".into()));
    let deployments = platform.application(&id)["deployments"].clone();
    assert_eq!((&deployments[0]["commit_hash"], &deployments[0]["triggered_by"]), (&json!(first), &json!("api_key")));

    // Another branch is kept, and deploys nothing.
    copy.git(&["checkout", "-q", "-b", "next"]);
    let next = copy.commit("next");
    let (succeeded, shown) = copy.push("next");
    assert!(succeeded && shown.contains("that would take a push to main"), "{shown}");
    assert_eq!(copy.remote_commit(&repository, "refs/heads/next"), next);
    assert_eq!(platform.application(&id)["deployments"].as_array().unwrap().len(), 1);

    // What does not build is refused, and can be pushed again.
    copy.git(&["checkout", "-q", "main"]);
    copy.write("Dockerfile", "FROM scratch\nRUN nothing\n");
    copy.commit_all("broken");
    for _ in 0..2 {
        let (succeeded, shown) = copy.push("main");
        assert!(!succeeded, "{shown}");
        assert!(shown.contains("! [remote rejected] main -> main (deployment failed: build_failed)"), "{shown}");
        assert!(shown.contains("remote: Failed: build_failed"), "{shown}");
        assert_eq!(copy.remote_commit(&repository, "refs/heads/main"), first, "as if it had not been pushed");
    }
    assert_eq!(platform.visit("my-shop.localhost", "/").await, (200, "first".into()));
    let third = copy.commit("third");
    let (succeeded, shown) = copy.push("main");
    assert!(succeeded, "{shown}");
    assert_eq!(platform.visit("my-shop.localhost", "/").await, (200, "third".into()));
    // By hand it deploys what was pushed last.
    let again = platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    assert_eq!(platform.deployed(&id_of(&again)).await["commit_hash"], json!(third));

    let body = json!({ "id": id, "name": "My Shop" });
    platform.call("DELETE", "/deploy/application", &body);
    until("the repository is gone with the application", async || (!repository.exists()).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_push_and_what() {
    let platform = Platform::on(Kind::Postgres, &["--push-mib", "1"]).await;
    let (id, key) = pushed_application(&platform, "shop");
    let organization = organization(&platform, &id);
    let push = |token: &str, organization: &str, name: &str| {
        let copy = Copy::new(&platform, token, organization, name);
        copy.commit("first");
        copy.push("main")
    };
    let refused = |(succeeded, shown): (bool, String), expected: &str| {
        assert!(!succeeded && shown.contains(expected), "{expected}: {shown}");
    };
    refused(push("wlk_wrong", &organization, "shop"), "could not read Password");
    refused(push(&key, "another", "shop"), "remote: No such organization.");
    refused(push(&key, &organization, "none"), "remote: No such application.");
    let other = platform.call("POST", "/organizations", &json!({ "name": "Other" }));
    let body = json!({ "name": "k", "organization_id": other["id"], "permissions": ["deploy:create"] });
    let their_key = platform.call("POST", "/auth/api-keys", &body)["key"].as_str().unwrap().to_owned();
    refused(push(&their_key, &organization, "shop"), "remote: No such organization.");
    let body = json!({ "name": "r", "organization_id": organization, "permissions": ["deploy:read"] });
    let reader = platform.call("POST", "/auth/api-keys", &body)["key"].as_str().unwrap().to_owned();
    refused(push(&reader, &organization, "shop"), "deploy:create");
    let elsewhere = repository(&platform, "elsewhere", "one");
    platform.deploy(&body_of("elsewhere", elsewhere.url()));
    refused(push(&key, &organization, "elsewhere"), "Push there.");

    // Larger than it may be.
    let copy = Copy::new(&platform, &key, &organization, "shop");
    let mut noise = vec![0_u8; 3 << 20];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom").unwrap(), &mut noise).unwrap();
    copy.write("noise", noise);
    copy.commit("large");
    let (succeeded, shown) = copy.push("main");
    assert!(!succeeded && shown.contains("the push is larger than 1 MiB"), "{shown}");
    assert_eq!(platform.application(&id)["deployments"], json!([]));
    // After all that it still works, also by name and with the token as a password.
    let mut copy = Copy::new(&platform, &format!("ada:{key}"), &organization, "shop");
    copy.remote = copy.remote.replace(&organization, "My%20Organization");
    copy.commit("small");
    let name = json!({ "id": organization, "name": "My Organization", "description": "" });
    platform.call("PUT", "/organizations", &name);
    let (succeeded, shown) = copy.push("main");
    assert!(succeeded, "{shown}");
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "small".into()));
}

/// Killed with the objects taken and nothing queued, and with the deployment queued: the same push is never taken for done, and what
/// it brings is served in the end.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loses_no_push() {
    let mut platform = Platform::start().await;
    let (id, key) = pushed_application(&platform, "shop");
    let organization = organization(&platform, &id);
    let mut copy = Copy::new(&platform, &key, &organization, "shop");
    copy.commit("first");
    assert!(copy.push("main").0);
    for point in KILL_POINTS {
        platform.kill_server();
        platform.start_server(Some(point));
        copy.remote = remote(&platform, &key, &organization, "shop");
        let commit = copy.commit(point);
        let (succeeded, shown) = copy.push("main");
        assert!(!succeeded, "{point}: {shown}");
        platform.wait_for_death();
        platform.start_server(None);
        copy.remote = remote(&platform, &key, &organization, "shop");
        let (succeeded, shown) = copy.push("main");
        assert!(succeeded, "{point}: {shown}");
        until(&format!("{point} is served"), async || {
            (platform.visit("shop.localhost", "/").await == (200, point.into())).then_some(())
        })
        .await;
        let deployments = platform.application(&id)["deployments"].clone();
        let of_it = deployments.as_array().unwrap().iter().filter(|one| one["commit_hash"] == json!(commit));
        assert_eq!(of_it.count(), 1, "{point}: {deployments}");
        platform.settled().await;
    }
}

/// Nothing but the uploaded folder is in its commit, so git cannot tell what was served before it.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_fails_is_not_what_pushes_go_on_from() {
    let platform = Platform::start().await;
    let (id, key) = pushed_application(&platform, "shop");
    let copy = Copy::new(&platform, &key, &organization(&platform, &id), "shop");
    let first = copy.commit("first");
    let (succeeded, shown) = copy.push("main");
    assert!(succeeded, "{shown}");
    let folder = tempfile::tempdir().unwrap();
    let tar = folder.path().join("folder.tar");
    std::fs::write(folder.path().join("Dockerfile"), "FROM scratch\nRUN nothing\n").unwrap();
    let packed = Command::new("tar").arg("-C").arg(folder.path()).arg("-cf").arg(&tar).arg("Dockerfile").status();
    assert!(packed.unwrap().success());
    let upload = send(&platform, "POST", &format!("?application_id={id}"), &tar).unwrap();
    let ended = platform.ended(upload["deployment_id"].as_str().unwrap()).await;
    assert_eq!(ended["status"]["status"], "failed", "{ended}");
    copy.commit("second");
    let (succeeded, shown) = copy.push("main");
    // Of a branch that is not there git says "new branch".
    assert!(succeeded && shown.contains(&format!("{}..", &first[..7])), "{shown}");
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "second".into()));
}

fn body_of(name: &str, repository: &str) -> Value {
    json!({ "name": name, "repository": repository, "health_path": "/" })
}
