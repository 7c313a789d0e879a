//! The master key: made once, never guessed, exchanged while the server runs.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use totp_rs::{Builder, Secret};
use windlass_server::service::master_key::KILL_POINTS;
use windlass_server::vault::SealedCell;
use windlass_server::vault::ring::{FILE_NAME, KeySource, MasterKey, Ring, write_file};
use windlass_server::vault::unlock::unlock_existing;
use windlass_store::sealed::{COLUMNS, beginning_otherwise};
use windlass_store::{Db, Options};
use windlass_testing::small_disk::SmallDisk;
use windlass_testing::{DatabaseLocation, Kind};

use crate::process::{Process, run, token_in, windlass};

const URL: &str = "https://hooks.example/very-secret-path";

/// A place for a database, and the arguments that lead to it.
struct Home {
    place: DatabaseLocation,
}

impl Home {
    fn new(kind: Kind) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        Self { place: runtime.block_on(DatabaseLocation::fresh(kind)) }
    }

    fn folder(&self) -> &Path {
        self.place.folder.path()
    }

    fn key_file(&self) -> std::path::PathBuf {
        self.folder().join(FILE_NAME)
    }

    fn database(&self) -> Vec<&str> {
        self.place.url.iter().flat_map(|url| ["--database-url", url]).collect()
    }

    fn serve(&self) -> Process {
        Process::serve(self.folder(), &self.database())
    }

    fn run(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Output {
        let mut command = windlass();
        command.args(arguments).arg("--data-dir").arg(self.folder()).args(self.database());
        run(command.envs(environment.iter().copied()))
    }

    fn refuses_to_start(&self, environment: &[(&str, &str)]) -> String {
        self.settle();
        let before = self.parts();
        let output = self.run(&["serve", "--listen", "127.0.0.1:0"], environment);
        assert_eq!(output.status.code(), Some(1));
        let after = self.parts();
        let changed: Vec<_> =
            before.keys().chain(after.keys()).filter(|name| before.get(*name) != after.get(*name)).collect();
        assert!(changed.is_empty(), "{changed:?} were changed");
        String::from_utf8(output.stderr).unwrap()
    }

    fn settle(&self) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(self.place.settle());
    }

    /// What the database holds, by files and tables.
    fn parts(&self) -> BTreeMap<String, Vec<u8>> {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(self.place.parts())
    }

    fn execute(&self, sql: &str) -> u64 {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(self.place.execute(sql))
    }

    /// Opens every ciphertext in the database with the keys that are in the file; how many there are.
    fn open_everything(&self) -> usize {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let db = self.open().await;
            let unlocked = unlock_existing(&db, KeySource::File(self.key_file())).await.unwrap();
            let mut opened = 0;
            for column in COLUMNS {
                let mut conn = db.read().await.unwrap();
                for sealed in beginning_otherwise(&mut conn, column, b"none begins like this", 1_000).await.unwrap() {
                    unlocked.vault.open(SealedCell { column, row: sealed.id }, &sealed.value).await.unwrap();
                    opened += 1;
                }
            }
            db.close().await;
            opened
        })
    }

    async fn open(&self) -> Db {
        let options = Options { connections: 2, wait: Duration::from_secs(10) };
        match &self.place.url {
            None => Db::sqlite(&self.folder().join("windlass.db"), options).await.unwrap(),
            Some(url) => Db::postgres(url, options).await.unwrap(),
        }
    }
}

fn on_both(test: impl Fn(&Home)) {
    for kind in [Kind::Sqlite, Kind::Postgres] {
        test(&Home::new(kind));
    }
}

/// A secret of every kind. The token and the second factor's secret.
fn fill(server: &Process) -> (String, String) {
    let token = token_in(&server.register(""));
    let webhook = format!(r#"{{"type":"slack","webhook_url":"{URL}"}}"#);
    server.ok("PUT", "/notification/webhook", &token, &webhook);
    let smtp = r#"{"host":"mail.example","from_email":"a@example.org","password":"a very secret password"}"#;
    server.ok("POST", "/notification/smtp", &token, smtp);
    let setup = server.ok("POST", "/auth/setup-2fa", &token, r#"{"password":"correct horse"}"#);
    let secret = setup["data"]["secret"].as_str().unwrap().to_owned();
    let confirm = format!(r#"{{"code":"{}"}}"#, code(&secret));
    server.ok("POST", "/auth/verify-2fa", &token, &confirm);
    (token, secret)
}

fn code(secret: &str) -> String {
    code_in(secret, 0)
}

fn code_in(secret: &str, seconds: u64) -> String {
    let totp = Builder::new().with_secret(Secret::try_from_base32(secret).unwrap()).build().unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    totp.generate(now + seconds).to_string()
}

fn stop(mut server: Process) {
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
}

#[test]
fn a_key_is_made_at_the_first_start_only() {
    on_both(|home| {
        stop(home.serve());
        let made = std::fs::read_to_string(home.key_file()).unwrap();
        stop(home.serve());
        assert_eq!(std::fs::read_to_string(home.key_file()).unwrap(), made);
    });
}

#[test]
fn a_missing_key_is_not_replaced() {
    on_both(|home| {
        let server = home.serve();
        fill(&server);
        stop(server);
        let key = std::fs::read_to_string(home.key_file()).unwrap();
        std::fs::remove_file(home.key_file()).unwrap();
        let problem = home.refuses_to_start(&[]);
        assert!(problem.contains("there is no key at") && problem.contains("Nothing was changed"), "{problem}");
        assert!(!home.key_file().exists());
        for command in [["audit", "verify"], ["admin", "rotate-key"]] {
            assert!(!home.run(&command, &[]).status.success());
            assert!(!home.key_file().exists());
        }
        // The environment can hold it instead.
        let key = key.lines().last().unwrap();
        let verified = home.run(&["audit", "verify"], &[("WINDLASS_MASTER_KEY", key)]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
        std::fs::write(home.key_file(), key).unwrap();
        stop(home.serve());
    });
}

#[test]
fn a_wrong_key_is_refused() {
    on_both(|home| {
        let server = home.serve();
        fill(&server);
        stop(server);
        let right = std::fs::read_to_string(home.key_file()).unwrap();
        write_file(&home.key_file(), &Ring(vec![MasterKey::random()])).unwrap();
        let problem = home.refuses_to_start(&[]);
        assert!(problem.contains("does not hold the key of this database"), "{problem}");
        std::fs::write(home.key_file(), "nonsense\n").unwrap();
        let problem = home.refuses_to_start(&[]);
        assert!(problem.contains("32 random bytes") && !problem.contains("nonsense"), "{problem}");
        std::fs::write(home.key_file(), &right).unwrap();
        let other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let problem = home.refuses_to_start(&[("WINDLASS_MASTER_KEY", other)]);
        assert!(problem.contains("WINDLASS_MASTER_KEY does not hold") && !problem.contains("AAAA"), "{problem}");
        let problem = home.refuses_to_start(&[("WINDLASS_MASTER_KEY", "short")]);
        assert!(problem.contains("WINDLASS_MASTER_KEY: a master key is"), "{problem}");
        stop(home.serve());
    });
}

#[test]
fn a_database_that_lost_its_keys_is_refused() {
    on_both(|home| {
        let server = home.serve();
        server.register("");
        stop(server);
        let key = std::fs::read_to_string(home.key_file()).unwrap();
        let key = key.lines().last().unwrap();
        home.execute("update instance set master_key_id = null");
        let refused = |environment: &[(&str, &str)]| {
            let problem = home.refuses_to_start(environment);
            assert!(problem.contains("filled but knows of no key"), "{problem}");
        };
        refused(&[]);
        // Not even when every trace is gone, wherever the key comes from, and whether or not there is one.
        home.execute("delete from master_keys; delete from instance_secrets; delete from audit_chains");
        refused(&[]);
        refused(&[("WINDLASS_MASTER_KEY", key)]);
    });
}

#[test]
fn a_key_is_rotated_while_the_server_runs() {
    on_both(|home| {
        let server = home.serve();
        let (token, secret) = fill(&server);
        server.ok("PUT", "/variables/shared", &token, r#"{"variables":{"KEY":"a shared one"},"secret_names":["KEY"]}"#);
        let before = std::fs::read_to_string(home.key_file()).unwrap();
        let output = home.run(&["admin", "rotate-key"], &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("5 secret(s) were encrypted again"), "{said}");
        let after = std::fs::read_to_string(home.key_file()).unwrap();
        assert_ne!(before, after);
        assert!(!after.contains(before.lines().last().unwrap()), "the old key is still there");
        works(&server, &token, "/after-rotation");
        assert_eq!(home.open_everything(), 5);
        stop(server);
        let server = home.serve();
        works(&server, &token, "/after-restart");
        assert!(server.login("correct horse").contains("code_required"));
        // The next half minute's code: the present one may have been used to set it up.
        let body =
            format!(r#"{{"email":"ada@example.org","password":"correct horse","code":"{}"}}"#, code_in(&secret, 30));
        server.ok("POST", "/auth/login", "", &body);
        assert!(home.run(&["audit", "verify"], &[]).status.success());
    });
}

/// The server reads and writes secrets.
fn works(server: &Process, token: &str, path: &str) {
    let read = server.ok("GET", "/notification/webhook/slack", token, "");
    assert!(read["data"]["webhook_url"].as_str().unwrap().starts_with("https://hooks.example/"), "{read}");
    let body = format!(r#"{{"type":"slack","webhook_url":"https://hooks.example{path}"}}"#);
    let written = server.ok("PUT", "/notification/webhook", token, &body);
    assert_eq!(written["data"]["webhook_url"], format!("https://hooks.example{path}"));
}

/// A rotation that finds no room changes nothing that counts, and neither does a first start.
#[test]
fn a_full_disk_loses_no_key() {
    let disk = SmallDisk::mount("48m");
    let folder = tempfile::tempdir_in(&disk.path).unwrap();
    let home = Home { place: DatabaseLocation { folder, url: None } };
    let ballast = disk.fill(0);
    let first = home
        .run(&["serve", "--listen", "127.0.0.1:0", "--edge-http", "127.0.0.1:0", "--edge-https", "127.0.0.1:0"], &[]);
    let said = String::from_utf8_lossy(&first.stderr).to_lowercase();
    assert_eq!(first.status.code(), Some(1), "{said}");
    assert!(said.contains("full") || said.contains("no space left"), "{said}");
    std::fs::remove_file(&ballast).unwrap();
    let server = home.serve();
    let (token, _) = fill(&server);
    for round in 0..2 {
        let ballast = disk.fill(0);
        let output = home.run(&["admin", "rotate-key"], &[]);
        let said = String::from_utf8_lossy(&output.stderr).to_lowercase();
        assert!(!output.status.success() && (said.contains("full") || said.contains("no space left")), "{said}");
        std::fs::remove_file(&ballast).unwrap();
        assert_eq!(home.open_everything(), 4, "round {round}");
        works(&server, &token, "/after-a-full-disk");
        let output = home.run(&["admin", "rotate-key"], &[]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(home.open_everything(), 4);
        works(&server, &token, "/after-rotation");
    }
    stop(server);
    assert!(home.run(&["audit", "verify"], &[]).status.success());
}

/// Killed at each step: the running server, the next one and the next rotation all go on.
#[test]
fn an_interrupted_rotation_loses_nothing() {
    on_both(|home| {
        let server = home.serve();
        let (token, _) = fill(&server);
        stop(server);
        for point in KILL_POINTS {
            let server = home.serve();
            let killed = home.run(&["admin", "rotate-key"], &[("WINDLASS_KILL_AT", point)]);
            assert_eq!(killed.status.signal(), Some(9), "{point} is never reached");
            works(&server, &token, &format!("/{point}"));
            // Preparing another one must not throw away what is still needed.
            home.run(&["admin", "rotate-key", "--prepare"], &[]);
            stop(server);
            assert_eq!(home.open_everything(), 4, "{point}");
            let server = home.serve();
            works(&server, &token, &format!("/{point}-restarted"));
            let output = home.run(&["admin", "rotate-key"], &[]);
            assert!(output.status.success(), "{point}: {}", String::from_utf8_lossy(&output.stderr));
            works(&server, &token, &format!("/{point}-finished"));
            let ring = KeySource::File(home.key_file()).read().unwrap().unwrap();
            assert_eq!(ring.0.len(), 1, "{point}: an old key is left");
            stop(server);
            assert_eq!(home.open_everything(), 4, "{point}");
        }
        let verified = home.run(&["audit", "verify"], &[]);
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    });
}

/// Half of the secrets are under each of them, so a server with one alone would fail later, at some of them.
#[test]
fn between_two_keys_a_server_needs_both() {
    on_both(|home| {
        stop(home.serve());
        home.run(&["admin", "rotate-key"], &[("WINDLASS_KILL_AT", "rotate-after-switch")]);
        // It goes on with both, and leaves the database's files as no later start changes them.
        stop(home.serve());
        let ring = KeySource::File(home.key_file()).read().unwrap().unwrap();
        assert_eq!(ring.0.len(), 2);
        for (kept, missing) in [(0, 1), (1, 0)] {
            write_file(&home.key_file(), &Ring(vec![ring.0[kept].clone()])).unwrap();
            let stderr = home.refuses_to_start(&[]);
            assert!(stderr.contains(&ring.0[missing].id().to_string()), "{stderr}");
        }
        write_file(&home.key_file(), &ring).unwrap();
        stop(home.serve());
    });
}

/// Rotations beside a server that changes settings without touching their secrets, and with: none is lost.
#[test]
fn writers_go_on_during_rotations() {
    on_both(|home| {
        let server = home.serve();
        let (token, _) = fill(&server);
        let stop_writing = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let write = |method: &'static str, path: &'static str, bodies: [&'static str; 2]| {
                let (server, token, stop_writing) = (&server, &token, &stop_writing);
                scope.spawn(move || {
                    for body in bodies.iter().cycle().take_while(|_| !stop_writing.load(Ordering::SeqCst)) {
                        server.ok(method, path, token, body);
                    }
                });
            };
            write(
                "PUT",
                "/notification/webhook",
                [r#"{"type":"slack","is_active":true}"#, r#"{"type":"slack","is_active":false}"#],
            );
            write("PUT", "/notification/smtp", [r#"{"from_name":"A"}"#, r#"{"from_name":"B"}"#]);
            let url = r#"{"type":"discord","webhook_url":"https://hooks.example/another-secret-path"}"#;
            write("PUT", "/notification/webhook", [url, url]);
            for round in 0..20 {
                let output = home.run(&["admin", "rotate-key"], &[]);
                if !output.status.success() {
                    stop_writing.store(true, Ordering::SeqCst);
                    panic!("round {round}: {}", String::from_utf8_lossy(&output.stderr));
                }
            }
            stop_writing.store(true, Ordering::SeqCst);
        });
        works(&server, &token, "/after-all");
        stop(server);
        assert_eq!(home.open_everything(), 5);
    });
}

/// The next key can be given to the other servers of a database before it is used.
#[test]
fn a_rotation_can_be_prepared() {
    let home = Home::new(Kind::Sqlite);
    let server = home.serve();
    let (token, _) = fill(&server);
    let prepare = || String::from_utf8(home.run(&["admin", "rotate-key", "--prepare"], &[]).stdout).unwrap();
    assert!(prepare().contains("now holds the next key"));
    assert!(prepare().contains("already holds the next key"));
    let ring = KeySource::File(home.key_file()).read().unwrap().unwrap();
    assert_eq!(ring.0.len(), 2);
    works(&server, &token, "/prepared");
    assert!(home.run(&["admin", "rotate-key"], &[]).status.success());
    assert_eq!(KeySource::File(home.key_file()).read().unwrap().unwrap().0, &ring.0[1..]);
    works(&server, &token, "/rotated");
}

#[test]
fn a_linked_key_file_stays_a_link() {
    let home = Home::new(Kind::Sqlite);
    let elsewhere = tempfile::tempdir().unwrap();
    let real = elsewhere.path().join("key");
    write_file(&real, &Ring(vec![MasterKey::random()])).unwrap();
    std::os::unix::fs::symlink(&real, home.key_file()).unwrap();
    let before = std::fs::read(&real).unwrap();
    stop(home.serve());
    assert!(home.run(&["admin", "rotate-key"], &[]).status.success());
    assert!(std::fs::symlink_metadata(home.key_file()).unwrap().is_symlink());
    assert_ne!(std::fs::read(&real).unwrap(), before);
    stop(home.serve());
}

#[test]
fn a_key_of_the_environment_is_rotated_in_two_steps() {
    let home = Home::new(Kind::Sqlite);
    let (old, new) = ("B0sVTj3fTbVvJmiyT9SKNyKiPnlh7hpxNNhT4n2C5hA=", "u0oxOBXPmKcJ0mXb8oNQ5Xxkd9w3mVxw8QKKvK0kY1I=");
    let both = format!("{old},{new}");
    let start = |keys: &str| {
        let mut command = windlass();
        command.env("WINDLASS_MASTER_KEY", keys);
        Process::start(command, home.folder(), &[])
    };
    let server = start(old);
    let (token, _) = fill(&server);
    assert!(!home.key_file().exists());
    let output = home.run(&["admin", "rotate-key"], &[("WINDLASS_MASTER_KEY", old)]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Append one"), "{output:?}");
    stop(server);
    let server = start(&both);
    let output = home.run(&["admin", "rotate-key"], &[("WINDLASS_MASTER_KEY", &both)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    works(&server, &token, "/rotated");
    stop(server);
    let server = start(new);
    works(&server, &token, "/new-alone");
    stop(server);
    let problem = home.refuses_to_start(&[("WINDLASS_MASTER_KEY", old)]);
    assert!(problem.contains("does not hold the key"), "{problem}");
}
