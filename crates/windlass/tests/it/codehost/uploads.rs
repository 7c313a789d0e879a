//! Folders that are uploaded, instead of a repository.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_server::uploads::KILL_POINTS;
use windlass_testing::{Kind, testapp};

use crate::deploy::support::*;

/// A folder, and the tar of it.
struct Folder {
    place: TempDir,
}

impl Folder {
    fn new(version: &str) -> Self {
        let folder = Self { place: tempfile::tempdir().unwrap() };
        folder.write(version);
        folder
    }

    fn write(&self, version: &str) {
        let folder = self.place.path().join("folder");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("Dockerfile"), testapp::dockerfile("")).unwrap();
        std::fs::write(folder.join("version"), version).unwrap();
        said(Command::new("tar").arg("-C").arg(&folder).arg("-czf").arg(self.tar()).arg("."));
    }

    fn tar(&self) -> PathBuf {
        self.place.path().join("folder.tar.gz")
    }

    fn size(&self) -> u64 {
        self.tar().metadata().unwrap().len()
    }

    fn sha256(&self) -> String {
        let said = said(Command::new("sha256sum").arg(self.tar()));
        said.split(' ').next().unwrap().to_owned()
    }
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The `data` of the answer; none if the connection ended without one.
pub fn send(platform: &Platform, method: &str, path: &str, body: &Path) -> Option<Value> {
    let url = format!("http://{}/api/v1/deploy/application/upload{path}", platform.process().address);
    let mut curl = Command::new("curl");
    curl.args(["-s", "-X", method, "-H", &format!("Authorization: Bearer {}", platform.token())]);
    let output = curl.arg("--data-binary").arg(format!("@{}", body.display())).arg(url).output().unwrap();
    if !output.status.success() {
        return None;
    }
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["status"], "success", "{answer}");
    Some(answer["data"].clone())
}

fn text<'a>(record: &'a Value, field: &str) -> &'a str {
    record[field].as_str().unwrap_or_else(|| panic!("{field}: {record}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_uploaded_folder_is_served() {
    let platform = Platform::on(Kind::Postgres, &[]).await;
    testapp::base_image().await;
    let body = json!({ "name": "shop", "repository": "push", "stop_seconds": 1, "health_path": "/" });
    let id = id_of(&platform.deploy(&body));
    let folder = Folder::new("first");
    let upload = send(&platform, "POST", &format!("?application_id={id}"), &folder.tar()).unwrap();
    let first = platform.deployed(text(&upload, "deployment_id")).await;
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "first".into()));
    assert_eq!(first["commit_message"], "Upload of shop");

    // By its name, in two parts.
    folder.write("second");
    let query = format!("?name=shop&size={}&sha256={}", folder.size(), folder.sha256());
    let upload = send(&platform, "POST", &query, Path::new("/dev/null")).unwrap();
    let bytes = std::fs::read(folder.tar()).unwrap();
    let part = folder.place.path().join("part");
    let mut done = Value::Null;
    for (offset, bytes) in [(0, &bytes[..100]), (100, &bytes[100..])] {
        std::fs::write(&part, bytes).unwrap();
        done = send(&platform, "PATCH", &format!("/{}?offset={offset}", text(&upload, "id")), &part).unwrap();
    }
    let second = platform.deployed(text(&done, "deployment_id")).await;
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "second".into()));
    // By hand it deploys what was uploaded last; and what was there before is gone back to.
    let again = platform.call("POST", "/deploy/application/redeploy", &json!({ "id": id }));
    assert_eq!(platform.deployed(&id_of(&again)).await["commit_hash"], second["commit_hash"]);
    let back = platform.call("POST", "/deploy/application/rollback", &json!({ "id": first["id"] }));
    platform.deployed(&id_of(&back)).await;
    assert_eq!(platform.visit("shop.localhost", "/").await, (200, "first".into()));
}

/// Wherever the server is killed: what was received stays, and the last part, asked for again, deploys it once.
#[tokio::test(flavor = "multi_thread")]
async fn a_crash_loses_no_upload() {
    let mut platform = Platform::start().await;
    testapp::base_image().await;
    let body = json!({ "name": "shop", "repository": "push", "stop_seconds": 1, "health_path": "/" });
    let id = id_of(&platform.deploy(&body));
    let (folder, nothing) = (Folder::new("first"), Path::new("/dev/null"));
    for point in KILL_POINTS {
        folder.write(point);
        let query = format!("?application_id={id}&size={}&sha256={}", folder.size(), folder.sha256());
        let upload = send(&platform, "POST", &query, nothing).unwrap();
        let path = format!("/{}", text(&upload, "id"));
        platform.kill_server();
        platform.start_server(Some(point));
        let answer = send(&platform, "PATCH", &format!("{path}?offset=0"), &folder.tar());
        assert_eq!(answer, None, "{point}");
        platform.wait_for_death();
        platform.start_server(None);
        let last = format!("{path}?offset={}", folder.size());
        let done = send(&platform, "PATCH", &last, nothing).unwrap();
        assert_eq!(done, send(&platform, "PATCH", &last, nothing).unwrap(), "{point}");
        let deployment = platform.deployed(text(&done, "deployment_id")).await;
        assert_eq!(platform.visit("shop.localhost", "/").await, (200, point.into()));
        let deployments = platform.application(&id)["deployments"].clone();
        let of_it =
            deployments.as_array().unwrap().iter().filter(|one| one["commit_hash"] == deployment["commit_hash"]);
        assert_eq!(of_it.count(), 1, "{point}: {deployments}");
        platform.settled().await;
        // Nothing of it is left but the branch.
        let pushed = platform.data_dir().join("pushed");
        let mut git = Command::new("git");
        let references =
            said(git.arg("-C").arg(pushed.join(format!("{id}.git"))).args(["for-each-ref", "--format=%(refname)"]));
        assert_eq!(references.trim(), "refs/heads/main", "{point}");
        assert_eq!(std::fs::read_dir(pushed.join("uploads")).unwrap().count(), 0, "{point}");
    }
}
