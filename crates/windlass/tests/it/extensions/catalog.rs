//! Entries of the catalog with the real software, from images that are made of the distribution's packages: no image can be pulled
//! where tests run.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::services::container;
use super::support::*;
use crate::deploy::support::{Platform, docker, id_of, until};

/// The root of an image: busybox, programs of this machine, and the libraries that they need.
struct Root(tempfile::TempDir);

impl Root {
    fn new() -> Self {
        let root = Self(tempfile::tempdir().unwrap());
        for folder in ["bin", "etc", "tmp", "root", "run"] {
            std::fs::create_dir_all(root.path(folder)).unwrap();
        }
        std::fs::write(root.path("etc/passwd"), "root:x:0:0::/root:/bin/sh\npostgres:x:999:999::/:/bin/sh\n").unwrap();
        std::fs::write(root.path("etc/group"), "root:x:0:\npostgres:x:999:\n").unwrap();
        std::fs::copy("/bin/busybox", root.path("bin/busybox")).unwrap();
        for applet in ["sh", "cat", "grep", "mkdir", "chmod", "printf", "echo", "test"] {
            std::os::unix::fs::symlink("busybox", root.path("bin").join(applet)).unwrap();
        }
        root
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path.trim_start_matches('/'))
    }

    /// A program and every library that it needs, where they are on this machine.
    fn program(&self, program: &Path) {
        self.copy(program);
        let needed = output(Command::new("ldd").arg(program));
        for library in needed.split_whitespace().filter(|word| word.starts_with('/')) {
            self.copy(Path::new(library));
        }
    }

    /// A file or a folder, with links followed to what they lead to.
    fn copy(&self, from: &Path) {
        let to = self.path(from.to_str().unwrap());
        if to.exists() {
            return;
        }
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        output(Command::new("cp").arg("-rL").arg(from).arg(to));
    }

    fn script(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).unwrap();
        output(Command::new("chmod").arg("755").arg(self.path(path)));
    }

    /// The image, by the name that the catalog has for it.
    fn import(&self, image: &str, changes: &[&str]) {
        let mut tar = Command::new("tar");
        tar.arg("-C").arg(self.0.path()).args(["-cf", "-", "."]).stdout(Stdio::piped());
        let mut tar = tar.spawn().unwrap();
        let changes = changes.iter().flat_map(|change| ["--change", change]);
        output(Command::new("docker").arg("import").args(changes).args(["-", image]).stdin(tar.stdout.take().unwrap()));
        assert!(tar.wait().unwrap().success());
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// As much of the official image's way to start as the catalog's entry uses.
const START_POSTGRES: &str = r#"#!/bin/sh
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s' "$POSTGRES_PASSWORD" > /tmp/password
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile /tmp/password --auth scram-sha-256 --no-locale --encoding UTF8
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  echo "create database $POSTGRES_DB" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -D "$PGDATA" -c listen_addresses='*' -c unix_socket_directories=/tmp
"#;

fn postgres_image(image: &str) {
    let programs = std::fs::read_dir("/usr/lib/postgresql").expect("`scripts/setup test` installs PostgreSQL");
    let folder = programs.flatten().map(|entry| entry.path()).max().unwrap();
    let version = folder.file_name().unwrap().to_str().unwrap().to_owned();
    let root = Root::new();
    for program in ["postgres", "initdb", "pg_isready", "psql"] {
        root.program(&folder.join("bin").join(program));
    }
    root.copy(&folder.join("lib"));
    root.copy(Path::new(&format!("/usr/share/postgresql/{version}")));
    root.script("start", START_POSTGRES);
    let data = root.path("var/lib/postgresql/data");
    std::fs::create_dir_all(&data).unwrap();
    output(Command::new("chmod").arg("1777").arg(root.path("tmp")));
    output(Command::new("chown").arg("-R").arg("999:999").arg(&data));
    let path = format!("ENV PATH=/bin:{}/bin PGDATA=/var/lib/postgresql/data", folder.display());
    root.import(image, &[&path, "USER postgres", "CMD [\"/start\"]"]);
}

fn redis_image(image: &str) {
    let root = Root::new();
    for program in ["/usr/bin/redis-check-rdb", "/usr/bin/redis-cli"] {
        root.program(Path::new(program));
    }
    // One program under two names: what it is called decides what it does.
    std::fs::rename(root.path("usr/bin/redis-check-rdb"), root.path("usr/bin/redis-server")).unwrap();
    root.import(image, &["ENV PATH=/bin:/usr/bin", "WORKDIR /data", "VOLUME /data"]);
}

/// The image that the catalog's entry runs.
fn image_of(platform: &Platform, key: &str) -> String {
    let plan = platform.call("POST", &format!("/extensions/{key}/plan"), &json!({}));
    plan["images"][0].as_str().unwrap_or_else(|| panic!("no image in {plan}")).to_owned()
}

async fn installed(platform: &Platform, key: &str, password: &str) -> Value {
    let id = run(platform, key, &json!({ "password": password }));
    completed(platform, &id).await;
    installation(platform, key).unwrap()
}

/// The container is lost, and made again with the data that it had.
async fn loses_its_container(installed: &Value, service: &str) {
    let name = container(installed, service);
    docker(&["rm", "-f", &name]);
    until("it is made again and well", async || {
        let found = docker(&["ps", "--filter", &format!("name=^{name}$"), "--filter", "health=healthy", "-q"]);
        (!found.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make test-long"]
async fn postgresql_keeps_what_is_written() {
    let platform = Platform::start().await;
    postgres_image(&image_of(&platform, "postgresql"));
    let installed = installed(&platform, "postgresql", "correct-horse").await;
    let sql = |sql: &str| {
        let url = "postgres://app:correct-horse@127.0.0.1/app";
        docker(&["exec", &container(&installed, "postgres"), "psql", "-qtA", url, "-c", sql])
    };
    sql("create table notes (text text)");
    sql("insert into notes values ('precious')");
    loses_its_container(&installed, "postgres").await;
    assert_eq!(sql("select text from notes"), "precious");
    let path = format!("/extensions/installations/{}", id_of(&installed));
    let removal = platform.call("DELETE", &path, &json!({ "name": "postgresql" }));
    completed(&platform, &id_of(&removal)).await;
    let volumes = platform.call("GET", "/deploy/volumes", &Value::Null);
    assert_eq!(volumes["volumes"].as_array().unwrap().len(), 1, "the data stays: {volumes}");

    // A new installation goes on with it.
    let again = json!({ "variables": { "password": "correct-horse" }, "volumes": ["data"] });
    let again = platform.call("POST", "/extensions/postgresql/run", &again);
    completed(&platform, &id_of(&again)).await;
    let again = installation(&platform, "postgresql").unwrap();
    let url = "postgres://app:correct-horse@127.0.0.1/app";
    let name = container(&again, "postgres");
    assert_eq!(docker(&["exec", &name, "psql", "-qtA", url, "-c", "select text from notes"]), "precious");
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_what_is_written() {
    let platform = Platform::start().await;
    redis_image(&image_of(&platform, "redis"));
    let installed = installed(&platform, "redis", "correct-horse").await;
    let redis = |words: &[&str]| docker(&[&["exec", &container(&installed, "redis"), "redis-cli"], words].concat());
    assert_eq!(redis(&["set", "notes", "precious"]), "OK");
    let refused =
        docker(&["exec", "-e", "REDISCLI_AUTH=", &container(&installed, "redis"), "redis-cli", "get", "notes"]);
    assert!(refused.contains("NOAUTH"), "{refused}");
    loses_its_container(&installed, "redis").await;
    assert_eq!(redis(&["get", "notes"]), "precious");
}
