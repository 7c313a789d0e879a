//! Secrets stay secret. Whatever a test sends or is shown as one is remembered, and every later answer is searched for
//! it; one test also searches the database's own bytes and the log.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::http::Method;
use base64::Engine;
use serde_json::Value;
use totp_rs::Secret;
use tracing_subscriber::filter::LevelFilter;
use windlass_server::vault::SealedCell;
use windlass_server::vault::ring::FILE_NAME;
use windlass_store::sealed::INSTANCE_SECRET;
use windlass_store::{Kind, master_keys};
use windlass_testing::on_both_databases;

use crate::support::{PASSWORD, Reply, server};
use crate::walk::{World, operations, world};

/// Fields of a request or an answer that hold a secret, wherever they stand.
const SECRET_FIELDS: [&str; 14] = [
    "password",
    "new_password",
    "current_password",
    "access_token",
    "token",
    "key",
    "secret",
    "otpauth_uri",
    "link",
    "webhook_url",
    "recovery_codes",
    "repository_token",
    "repository_ssh_key",
    "private_key",
];

/// The only answers that may show what is a secret: what is shown once when it is made, and the webhook's address to
/// users who may change it.
const EXCEPTIONS: [(&str, &str, &[&str]); 20] = [
    ("POST", "/auth/register", &["access_token"]),
    ("POST", "/auth/login", &["access_token"]),
    ("POST", "/auth/refresh", &["access_token"]),
    ("POST", "/organizations/invite/send", &["token", "link"]),
    ("POST", "/instance/users/*/password-reset", &["token", "link"]),
    ("POST", "/auth/api-keys", &["key"]),
    ("POST", "/auth/setup-2fa", &["secret", "otpauth_uri"]),
    ("POST", "/auth/verify-2fa", &["recovery_codes"]),
    ("POST", "/auth/recovery-codes", &["recovery_codes"]),
    ("GET", "/deploy/application/*/webhook", &["secret"]),
    ("POST", "/deploy/application/*/webhook/rotate", &["secret"]),
    ("POST", "/deploy/application/*/webhook/register", &["secret"]),
    ("DELETE", "/deploy/application/*/webhook/register", &["secret"]),
    ("POST", "/connections/github-apps", &["link"]),
    ("PUT", "/notification/webhook", &["webhook_url"]),
    ("GET", "/notification/webhook/secret", &["secret"]),
    ("POST", "/notification/webhook/secret", &["secret"]),
    ("GET", "/notification/webhook/slack", &["webhook_url"]),
    ("GET", "/notification/webhook/discord", &["webhook_url"]),
    ("GET", "/notification/webhook/webhook", &["webhook_url"]),
];

/// What must not be seen again.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<BTreeSet<String>>>);

impl Secrets {
    pub fn all(&self) -> Vec<String> {
        let known = self.0.lock().unwrap();
        known.iter().cloned().chain([PASSWORD.to_owned(), "$argon2id$".to_owned()]).collect()
    }

    pub fn learn_from_request(&self, body: &[u8]) {
        if let Ok(body) = serde_json::from_slice(body) {
            self.learn(&body);
        }
    }

    fn learn(&self, value: &Value) {
        let mut found = Vec::new();
        collect(value, false, &mut found);
        // What is short is not a secret in practice, and is found everywhere by chance.
        self.0.lock().unwrap().extend(found.into_iter().filter(|text| text.len() >= 8));
    }

    /// Searches an answer for what was secret before it, and learns what it shows for the first time.
    pub fn check_answer(&self, method: &Method, path: &str, reply: &Reply) {
        let path = path.split('?').next().unwrap().trim_start_matches("/api/v1");
        let exception = EXCEPTIONS.iter().find(|(verb, pattern, _)| *verb == method.as_str() && fits(pattern, path));
        let mut rest = reply.json.clone();
        if let (Some((_, _, fields)), Some(data)) = (exception, rest["data"].as_object_mut()) {
            for field in *fields {
                data.remove(*field);
            }
        }
        let text = if reply.json.is_null() { reply.text.clone() } else { rest.to_string() };
        for secret in self.all() {
            assert!(!text.contains(&secret), "{method} {path} shows the secret {secret:?}: {text}");
        }
        self.learn(&reply.json);
    }
}

/// A star stands for an id.
fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, path): (Vec<_>, Vec<_>) = (pattern.split('/').collect(), path.split('/').collect());
    pattern.len() == path.len() && pattern.iter().zip(&path).all(|(known, found)| *known == "*" || known == found)
}

fn collect(value: &Value, is_secret: bool, found: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret && !text.contains("********") => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, is_secret, found)),
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| collect(field, SECRET_FIELDS.contains(&name.as_str()), found));
        }
        _ => {}
    }
}

on_both_databases!(world: nothing_leaks);

/// A rotation forgets the old key when nothing is left under it, so it waits for those who are just sealing something. SQLite has
/// one writer at a time, who need not be waited for.
#[tokio::test]
async fn a_key_is_not_exchanged_while_something_is_sealed_under_it() {
    let server = server(Kind::Postgres).await;
    let cell = SealedCell { column: INSTANCE_SECRET, row: server.app.new_id() };
    let mut sealing = server.app.db.begin().await.unwrap();
    server.app.vault.seal(&mut sealing, cell, b"hunter2").await.unwrap();
    let exchange = async {
        let mut tx = server.app.db.begin().await.unwrap();
        let key = master_keys::current(&mut tx).await.unwrap().unwrap();
        assert!(master_keys::exchange_current(&mut tx, &key, &key).await.unwrap());
    };
    let a_lock_is_waited_for = async {
        let waiting = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while server.place.execute(waiting).await == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::pin!(exchange);
    tokio::select! {
        () = &mut exchange => panic!("the key was exchanged"),
        () = a_lock_is_waited_for => {}
        () = tokio::time::sleep(Duration::from_secs(30)) => panic!("neither happened"),
    }
    sealing.commit().await.unwrap();
    tokio::time::timeout(Duration::from_secs(30), exchange).await.expect("the key is exchanged");
}

/// Calls everything, with secrets wherever they go in, and then reads what is left of it: the bytes of the database and
/// the log at its most verbose level.
async fn nothing_leaks(world: World) {
    let log = Log::capture();
    let master_key = std::fs::read_to_string(world.server.place.folder.path().join(FILE_NAME)).unwrap();
    for operation in operations() {
        let caller = world.fresh_caller(&operation).await;
        let valid = world.valid(&operation, &caller).await;
        world.call(&operation, &valid).by(&caller).ok().await;
    }
    let mut secrets: Vec<Vec<u8>> = world.server.secrets.all().into_iter().map(String::into_bytes).collect();
    let totp = secrets.iter().filter_map(|secret| Secret::try_from_base32(str::from_utf8(secret).ok()?).ok());
    let totp: Vec<Vec<u8>> = totp.map(|secret| secret.as_ref().to_vec()).collect();
    assert!(totp.iter().any(|secret| secret.len() == 20), "a second factor's secret is among them");
    let master_key = master_key.lines().last().unwrap().to_owned();
    let master_bytes = base64::engine::general_purpose::STANDARD.decode(&master_key).unwrap();
    secrets.extend(totp);
    secrets.extend([master_key.into_bytes(), master_bytes, world.server.app.audit_key.to_vec()]);
    assert!(secrets.len() > 60, "only {} secrets were used", secrets.len());

    let log = log.text();
    assert!(log.contains("answered") && log.contains("sqlx"), "the log is on");
    let stored = world.server.place.bytes().await;
    let is_hashed = |secret: &[u8]| secret == b"$argon2id$";
    assert!(contains(&stored, b"ada@example.org"), "what is no secret is found");
    for secret in secrets {
        let shown = String::from_utf8_lossy(&secret).into_owned();
        let hex = secret.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert!(!contains(log.as_bytes(), &secret), "the log holds {shown}");
        if !is_hashed(&secret) {
            assert!(!contains(&stored, &secret) && !contains(&stored, hex.as_bytes()), "the database holds {shown}");
        }
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

/// What the program logs while a test listens; the lines of other tests that run meanwhile are among them.
struct Log(usize);

static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static LISTENERS: AtomicUsize = AtomicUsize::new(0);

impl Log {
    fn capture() -> Self {
        struct Lines;
        impl std::io::Write for Lines {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                if LISTENERS.load(Ordering::SeqCst) > 0 {
                    LINES.lock().unwrap().extend(bytes);
                }
                Ok(bytes.len())
            }

            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false);
        // The other database's test may have done it already.
        let _ = subscriber.with_writer(|| Lines).try_init();
        LISTENERS.fetch_add(1, Ordering::SeqCst);
        Self(LINES.lock().unwrap().len())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&LINES.lock().unwrap()[self.0..]).into_owned()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        LISTENERS.fetch_sub(1, Ordering::SeqCst);
    }
}
