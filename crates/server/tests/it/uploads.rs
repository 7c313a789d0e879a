//! Folders that are sent as a tar.

use std::io::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tar::{Builder, EntryType, Header};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use uuid::Uuid;
use windlass_api::Role;
use windlass_server::service::housekeeping;
use windlass_store::Kind;
use windlass_testing::on_both_databases;

use crate::support::{Person, TestServer, id_of, kind, server};
use crate::walk::{Operation, World};

on_both_databases!(
    server: a_folder_in_one_request, a_folder_in_parts, a_cut_connection, what_is_not_what_was_announced,
    hostile_folders, what_belongs_to_others, what_is_forgotten,
);
on_both_databases!(kind: how_much_is_taken, how_long_a_turn_is_waited_for);

/// A tar with one file.
pub fn folder() -> Vec<u8> {
    tar_of(&[("index.html", b"hello")])
}

fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, *content).unwrap();
    }
    tar.into_inner().unwrap()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

const UPLOAD: &str = "/deploy/application/upload";

impl World {
    pub async fn about_upload(&self, operation: &Operation) -> (String, Value) {
        let name = self.application()["name"].clone();
        let application = self.server.post("/deploy/application", json!({ "name": name, "repository": "push" }));
        let application = id_of(&application.by(self.owner()).ok().await);
        let path = announced(application, &folder());
        if operation.id == "upload_application" {
            return (path, Value::Null);
        }
        let id = id_of(&self.server.post(&path, Value::Null).body("").by(self.owner()).ok().await);
        (operation.path.replace("{upload_id}", &id.to_string()), Value::Null)
    }
}

/// The beginning of an upload in parts.
fn announced(application_id: Uuid, tar: &[u8]) -> String {
    format!("{UPLOAD}?application_id={application_id}&size={}&sha256={}", tar.len(), sha256(tar))
}

impl TestServer {
    async fn pushed_application(&self, person: &Person, name: &str) -> Uuid {
        let body = json!({ "name": name, "repository": "push" });
        id_of(&self.post("/deploy/application", body).by(person).ok().await)
    }

    async fn begin_upload(&self, person: &Person, application_id: Uuid, tar: &[u8]) -> Uuid {
        id_of(&self.post(&announced(application_id, tar), Value::Null).body("").by(person).ok().await)
    }

    async fn deployments(&self, person: &Person, application_id: Uuid) -> Vec<Value> {
        let application = self.get(&format!("/deploy/application?id={application_id}")).by(person).ok().await;
        application["deployments"].as_array().unwrap().clone()
    }

    /// What git says in the application's repository; nothing if it fails.
    fn git(&self, application_id: Uuid, arguments: &[&str]) -> String {
        let folder = self.app.config.data_dir.join(format!("pushed/{application_id}.git"));
        let output = Command::new("git").arg("-C").arg(folder).args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Folders with objects of uploads that are not complete.
    fn incoming(&self, application_id: Uuid) -> usize {
        let objects = self.app.config.data_dir.join(format!("pushed/{application_id}.git/objects"));
        let names = std::fs::read_dir(objects).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_str().unwrap().starts_with("tmp_")).count()
    }

    fn upload_files(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.app.config.data_dir.join("pushed/uploads"));
        files.map(|files| files.map(|file| file.unwrap().path()).collect()).unwrap_or_default()
    }
}

async fn a_folder_in_one_request(server: TestServer) {
    let ada = server.admin().await;
    let tar = gzip(&tar_of(&[("./Dockerfile", b"FROM scratch\n"), ("./a b/\u{e4}", b"1"), ("run", b"")]));
    let path = format!("{UPLOAD}?name=My%20Shop&sha256={}", sha256(&tar));
    let upload = server.post(&path, Value::Null).body(tar.clone()).by(&ada).ok().await;
    assert_eq!((&upload["offset"], &upload["size"]), (&json!(tar.len()), &json!(tar.len())));
    let application = upload["application_id"].as_str().unwrap().parse().unwrap();
    let deployments = server.deployments(&ada, application).await;
    assert_eq!((deployments.len(), &deployments[0]["id"]), (1, &upload["deployment_id"]));
    assert_eq!(deployments[0]["commit_hash"], json!(server.git(application, &["rev-parse", "main"])));
    let names = server.git(application, &["-c", "core.quotePath=false", "ls-tree", "-r", "--name-only", "main"]);
    assert_eq!(names, "Dockerfile\na b/\u{e4}\nrun");
    let said = server.git(application, &["log", "--format=%an <%ae> %s", "main"]);
    assert_eq!(said, "Ada <ada@example.org> Upload of My Shop");
    assert_eq!(server.git(application, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(server.git(application, &["fsck", "--strict"]), "");
    assert_eq!(server.incoming(application), 0);
    assert!(server.upload_files().is_empty());

    // By its name it is the same application, and what was there before takes no room for ever.
    let again = server.post(&format!("{UPLOAD}?name=My%20Shop"), Value::Null).body(folder()).by(&ada).ok().await;
    assert_eq!(again["application_id"], upload["application_id"]);
    assert_eq!(server.git(application, &["ls-tree", "-r", "--name-only", "main"]), "index.html");
    assert_eq!(server.git(application, &["rev-list", "--count", "main"]), "1");
    assert_eq!(server.deployments(&ada, application).await.len(), 2);
    let shown = server.get(&format!("{UPLOAD}/{}", id_of(&again))).by(&ada).ok().await;
    assert_eq!(shown, again);
}

async fn a_folder_in_parts(server: TestServer) {
    let ada = server.admin().await;
    let (application, tar) = (server.pushed_application(&ada, "shop").await, folder());
    let path = format!("{UPLOAD}/{}", server.begin_upload(&ada, application, &tar).await);
    let part = |from: usize, to: usize| {
        server.patch(&format!("{path}?offset={from}"), Value::Null).body(tar[from..to].to_vec()).by(&ada)
    };
    assert_eq!(part(0, 700).ok().await["offset"], 700);
    let message = part(0, 700).fails(409, "conflict").await;
    assert!(message.contains("700 bytes were received so far"), "{message}");
    assert_eq!(part(700, 900).ok().await["offset"], 900);
    let shown = server.get(&path).by(&ada).ok().await;
    assert_eq!((&shown["offset"], &shown["deployment_id"]), (&json!(900), &Value::Null));
    assert_eq!(server.deployments(&ada, application).await.len(), 0);
    let done = part(900, tar.len()).ok().await;
    assert!(done["deployment_id"].is_string(), "{done}");
    // A client that has not heard of it asks again.
    for again in [part(tar.len(), tar.len()).ok().await, part(900, tar.len()).ok().await] {
        assert_eq!(again, done);
    }
    assert_eq!(server.deployments(&ada, application).await.len(), 1);
    assert!(server.upload_files().is_empty());
}

async fn a_cut_connection(server: TestServer) {
    let ada = server.admin().await;
    let (application, tar) = (server.pushed_application(&ada, "shop").await, folder());
    let path = format!("{UPLOAD}/{}", server.begin_upload(&ada, application, &tar).await);
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "PATCH /api/v1{path}?offset=0 HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        ada.token,
        tar.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&tar[..600]).await.unwrap();
    let received = async |expected: u64| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while server.get(&path).by(&ada).ok().await["offset"] != expected {
            assert!(Instant::now() < deadline, "{expected} bytes do not arrive");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    received(600).await;
    // The request that is cut off still holds the file.
    let rest = || server.patch(&format!("{path}?offset=600"), Value::Null).body(tar[600..].to_vec()).by(&ada);
    rest().fails(409, "conflict").await;
    drop(stream);
    let deadline = Instant::now() + Duration::from_secs(20);
    let done = loop {
        let reply = rest().send().await;
        if reply.status == 200 {
            break reply.json["data"].clone();
        }
        assert_eq!((reply.status, Instant::now() < deadline), (409, true), "{}", reply.text);
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    assert!(done["deployment_id"].is_string(), "{done}");
    assert_eq!(server.git(application, &["show", "main:index.html"]), "hello");
}

async fn what_is_not_what_was_announced(server: TestServer) {
    let ada = server.admin().await;
    let (application, tar) = (server.pushed_application(&ada, "shop").await, folder());
    let id = server.begin_upload(&ada, application, &vec![1; tar.len()]).await;
    let part = |id: Uuid, bytes: Vec<u8>| server.patch(&format!("{UPLOAD}/{id}"), Value::Null).body(bytes).by(&ada);
    let message = part(id, tar.clone()).fails(400, "invalid_request").await;
    assert!(message.starts_with("sha256: ") && message.contains(&sha256(&tar)), "{message}");
    server.get(&format!("{UPLOAD}/{id}")).by(&ada).fails(404, "not_found").await;
    let path = format!("{UPLOAD}?application_id={application}&sha256={}", "0".repeat(64));
    server.post(&path, Value::Null).body(tar.clone()).by(&ada).fails(400, "invalid_request").await;
    assert!(server.upload_files().is_empty());

    // More than was announced; what fits can still come.
    let id = server.begin_upload(&ada, application, &tar).await;
    part(id, vec![0; tar.len() + 1]).fails(413, "too_large").await;
    assert!(part(id, tar.clone()).ok().await["deployment_id"].is_string());

    for (query, expected) in [
        ("", "application_id: is required, or name"),
        ("name=shop&size=5", "sha256: is required with size"),
        ("name=shop&sha256=abc", "sha256: "),
        (&*format!("name=shop&sha256={}", "x".repeat(64)), "sha256: must be 64 hexadecimal digits"),
        ("name=shop&size=0", "size: must be a whole number"),
        (&*format!("name=shop&application_id={application}"), "name: must not be given"),
        ("application_id=17", "application_id: must be a UUID"),
    ] {
        let call = server.post(&format!("{UPLOAD}?{query}"), Value::Null).body(tar.clone()).by(&ada);
        let message = call.fails(400, "invalid_request").await;
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let call = server.post(&format!("{UPLOAD}?name=shop"), Value::Null).body(tar).by(&ada);
    call.header("content-encoding", "gzip").fails(415, "unsupported_encoding").await;
    assert_eq!(server.deployments(&ada, application).await.len(), 1);
}

/// A tar of one entry as any program could write it.
fn hostile(kind: EntryType, name: &str, target: &str) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(0);
    header.set_cksum();
    [header.as_bytes().as_slice(), &[0; 1024]].concat()
}

async fn hostile_folders(server: TestServer) {
    let ada = server.admin().await;
    let application = server.pushed_application(&ada, "shop").await;
    let path = format!("{UPLOAD}?application_id={application}");
    for (tar, expected) in [
        (hostile(EntryType::Regular, "../../etc/cron.d/x", ""), "body: \"../../etc/cron.d/x\" leads out"),
        (hostile(EntryType::Regular, "/etc/cron.d/x", ""), "body: \"/etc/cron.d/x\" has an absolute path"),
        (hostile(EntryType::Regular, ".git/hooks/pre-commit", ""), "body: \".git/hooks/pre-commit\" is git's own"),
        (hostile(EntryType::Symlink, "link", "../../etc/passwd"), "body: \"link\" is a symbolic link that leads out"),
        (hostile(EntryType::Link, "link", "/etc/passwd"), "body: \"link\" is a link to what has an absolute path"),
        (hostile(EntryType::Block, "sda", ""), "body: \"sda\" is a device"),
        (b"no tar at all".to_vec(), "body: is no tar"),
        (folder()[..700].to_vec(), "body: "),
        (folder()[..1024].to_vec(), "body: ends before it is complete"),
        (gzip(&folder())[..40].to_vec(), "body: "),
    ] {
        let message = server.post(&path, Value::Null).body(tar).by(&ada).fails(400, "invalid_request").await;
        assert!(message.contains(expected), "{expected}: {message}");
    }
    assert_eq!(server.deployments(&ada, application).await.len(), 0);
    assert!(server.upload_files().is_empty());
    assert_eq!(server.git(application, &["for-each-ref"]), "");
    let repository = server.app.config.data_dir.join(format!("pushed/{application}.git"));
    let left = std::fs::read_dir(&repository).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_str().unwrap().starts_with("fast_import")).collect();
    assert!(left.is_empty(), "{left:?}");
    // What came before the entry that was refused is not kept, and takes no room.
    let hook = hostile(EntryType::Regular, ".git/hooks/pre-commit", "");
    let tar = [&folder()[..1024], hook.as_slice()].concat();
    server.post(&path, Value::Null).body(tar).by(&ada).fails(400, "invalid_request").await;
    let stored = server.git(application, &["count-objects", "-v"]);
    assert!(stored.starts_with("count: 0\n") && stored.contains("in-pack: 0\n"), "{stored}");
    assert_eq!(server.incoming(application), 0);
    // Nothing of all that is in the way of a good one.
    assert!(server.post(&path, Value::Null).body(folder()).by(&ada).ok().await["deployment_id"].is_string());
}

async fn how_much_is_taken(kind: Kind) {
    let settings = [
        ("upload-mib", "1"),
        ("fetch-mib", "2"),
        ("fetch-files", "50"),
        ("user-uploads", "2"),
        ("organization-uploads", "3"),
        ("organization-uploads-mib", "1"),
    ];
    let server = TestServer::with(kind, &settings).await;
    let ada = server.admin().await;
    let application = server.pushed_application(&ada, "shop").await;
    let path = format!("{UPLOAD}?application_id={application}");
    let large = tar_of(&[("zeroes", &vec![0; 3 << 20])]);
    for (tar, expected) in [
        (vec![0; (1 << 20) + 1], "larger than 1 MiB (upload-mib)"),
        (gzip(&large), "body: is larger than 2 MiB when it is unpacked (fetch-mib)"),
    ] {
        let message = server.post(&path, Value::Null).body(tar).by(&ada).fails(413, "too_large").await;
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let names: Vec<_> = (0..51).map(|number| number.to_string()).collect();
    let many: Vec<_> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    let message = server.post(&path, Value::Null).body(tar_of(&many)).by(&ada).fails(413, "too_large").await;
    assert!(message.contains("\"50\" is one too many: there may be 50"), "{message}");
    server.post(&announced(application, &large), Value::Null).body("").by(&ada).fails(413, "too_large").await;

    // Failed ones do not count; those that are open do, until they are deleted.
    let first = server.begin_upload(&ada, application, &folder()).await;
    server.begin_upload(&ada, application, &folder()).await;
    let begin = |person| server.post(&announced(application, &folder()), Value::Null).body("").by(person);
    let message = begin(&ada).fails(409, "conflict").await;
    assert!(message.contains("2 uploads of yours") && message.contains("user-uploads"), "{message}");
    let eve = server.join(&ada, "eve", Role::Member).await;
    // One of unknown size may become as large as any.
    let message = server.post(&path, Value::Null).body(folder()).by(&eve).fails(409, "conflict").await;
    assert!(message.contains("more than 1 MiB (organization-uploads-mib)"), "{message}");
    begin(&eve).ok().await;
    let message = begin(&eve).fails(409, "conflict").await;
    assert!(message.contains("3 uploads in this organization"), "{message}");
    server.delete(&format!("{UPLOAD}/{first}")).by(&ada).ok().await;
    begin(&eve).ok().await;
}

async fn how_long_a_turn_is_waited_for(kind: Kind) {
    let server = TestServer::with(kind, &[("upload-seconds", "10")]).await;
    let ada = server.admin().await;
    let (application, tar) = (server.pushed_application(&ada, "shop").await, folder());
    let path = format!("{UPLOAD}/{}", server.begin_upload(&ada, application, &tar).await);
    let part =
        |from: usize| server.patch(&format!("{path}?offset={from}"), Value::Null).body(tar[from..].to_vec()).by(&ada);
    let [one, two, eve, ida] = [1, 2, 3, 4].map(Uuid::from_u128);
    let turns =
        [(one, eve), (two, ida)].map(|(organization, user)| server.app.unpackings.take(organization, user).unwrap());
    let message = part(0).fails(503, "unavailable").await;
    assert!(message.contains("under way too often on this server"), "{message}");
    // What was received is still there, and is deployed when there is a turn.
    assert_eq!(server.get(&path).by(&ada).ok().await["offset"], tar.len());
    drop(turns);
    assert!(part(tar.len()).ok().await["deployment_id"].is_string());
    assert_eq!(server.deployments(&ada, application).await.len(), 1);
}

async fn what_belongs_to_others(server: TestServer) {
    let ada = server.admin().await;
    let eve = server.stranger(&ada, "eve").await;
    let application = server.pushed_application(&ada, "shop").await;
    let id = server.begin_upload(&ada, application, &folder()).await;
    let path = format!("{UPLOAD}/{id}");
    server.get(&path).by(&eve).fails(404, "not_found").await;
    server.patch(&path, Value::Null).body(folder()).by(&eve).fails(404, "not_found").await;
    server.delete(&path).by(&eve).fails(404, "not_found").await;
    let whole = format!("{UPLOAD}?application_id={application}");
    server.post(&whole, Value::Null).body(folder()).by(&eve).fails(404, "not_found").await;
    assert_eq!(server.get(&path).by(&ada).ok().await["offset"], 0);
    // By name it is another application, of their own.
    let theirs = server.post(&format!("{UPLOAD}?name=shop"), Value::Null).body(folder()).by(&eve).ok().await;
    assert_ne!(theirs["application_id"], json!(application));
    // What is deployed from elsewhere takes none.
    let body = json!({ "name": "elsewhere", "repository": "https://git.example.org/team/shop.git" });
    let elsewhere = id_of(&server.post("/deploy/application", body).by(&ada).ok().await);
    let path = format!("{UPLOAD}?application_id={elsewhere}");
    server.post(&path, Value::Null).body(folder()).by(&ada).fails(409, "conflict").await;
    let path = format!("{UPLOAD}?name=elsewhere");
    server.post(&path, Value::Null).body(folder()).by(&ada).fails(409, "name_taken").await;
}

async fn what_is_forgotten(server: TestServer) {
    let ada = server.admin().await;
    let application = server.pushed_application(&ada, "shop").await;
    let id = server.begin_upload(&ada, application, &folder()).await;
    let path = format!("{UPLOAD}/{id}");
    server.patch(&path, Value::Null).body(folder()[..600].to_vec()).by(&ada).ok().await;
    let sweep = async || {
        housekeeping::sweep(&server.app).await.unwrap();
        windlass_server::uploads::sweep(&server.app).await.unwrap();
    };
    sweep().await;
    assert_eq!(server.get(&path).by(&ada).ok().await["offset"], 600);
    server.app.clock.advance_seconds(25 * 3_600);
    server.get(&path).by(&ada).fails(404, "not_found").await;
    // Without a change to the database, which may have no room for one.
    windlass_server::uploads::sweep(&server.app).await.unwrap();
    assert!(server.upload_files().is_empty());
    sweep().await;
}
