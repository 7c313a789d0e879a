//! A real server on a real socket, and people who talk to it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderMap, HeaderName, Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use uuid::Uuid;
use windlass_api::{Role, Timestamp};
use windlass_server::app::RESET_REQUESTS;
use windlass_server::auth::password::{PasswordCost, Passwords};
use windlass_server::clock::{Clock, Ids};
use windlass_server::config::{self, Config, GivenSettings};
use windlass_server::listen::Listeners;
use windlass_server::logs::Logs;
use windlass_server::service::first_start::unlock;
use windlass_server::vault::ring::{self, KeySource};
use windlass_server::vault::unlock::check;
use windlass_server::{App, listen};
use windlass_store::Kind;
use windlass_testing::DatabaseLocation;

use crate::secrets::Secrets;

/// 2026-01-01T00:00:00Z, where every test's clock starts.
pub const START: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);
/// The password of all users. No answer may ever contain it.
pub const PASSWORD: &str = "correct horse battery";

pub const EVENT_STREAM: &str = "text/event-stream";

pub struct TestServer {
    pub app: Arc<App>,
    pub address: SocketAddr,
    client: Client<HttpConnector, Full<Bytes>>,
    pub secrets: Secrets,
    _stop: watch::Sender<bool>,
    pub place: DatabaseLocation,
}

/// A person with a login.
#[derive(Clone, Debug)]
pub struct Person {
    pub token: String,
    pub user_id: Uuid,
    pub email: String,
    /// The organization they registered into.
    pub organization_id: Uuid,
}

/// For `on_both_databases!`, where the test makes its own server.
pub async fn kind(kind: Kind) -> Kind {
    kind
}

/// For `on_both_databases!`.
pub async fn server(kind: Kind) -> TestServer {
    TestServer::with(kind, &[]).await
}

impl TestServer {
    pub async fn with(kind: Kind, settings: &[(&str, &str)]) -> Self {
        Self::on(DatabaseLocation::fresh(kind).await, settings).await
    }

    /// On a database that may have been there before: started as `windlass serve` does it.
    pub async fn on(place: DatabaseLocation, settings: &[(&str, &str)]) -> Self {
        Self::tuned(place, settings, |_| {}).await
    }

    /// With something that no setting can say.
    pub async fn tuned(place: DatabaseLocation, settings: &[(&str, &str)], tune: impl FnOnce(&mut App)) -> Self {
        let db = place.open().await;
        let ids = Ids::counted();
        let source = KeySource::File(place.folder.path().join(ring::FILE_NAME));
        check(&db, &source).await.expect("the right key");
        db.migrate().await.expect("migrations");
        let logs = place.open_logs().await;
        logs.migrate().await.expect("migrations of the log store");
        let keys = unlock(&db, source, &ids, START).await.expect("a fresh key");
        let mut config = config(settings);
        place.folder.path().clone_into(&mut config.data_dir);
        // With the usual cost, half of the time of these tests would be spent on passwords. The hash's own tests have it.
        let passwords =
            Passwords::new(config.parallel_logins, PasswordCost { memory_kib: 64, passes: 1, edge_iterations: 10 });
        let mut app = App::new(db, Logs::open(logs, None), keys, config, Clock::manual(START), ids);
        app.passwords = passwords;
        tune(&mut app);
        Self::serve(app, place).await
    }

    async fn serve(app: App, place: DatabaseLocation) -> Self {
        let app = Arc::new(app);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = watch::channel(false);
        let listeners = Listeners { for_all: vec![listener], for_edge: None };
        tokio::spawn(listen::serve(app.clone(), listeners, stopped));
        // A kept connection may be closed by an impatient server (`idle-seconds`) in the moment it is used again.
        let client = Client::builder(TokioExecutor::new()).pool_max_idle_per_host(0).build(HttpConnector::new());
        Self { app, address, client, secrets: Secrets::default(), _stop: stop, place }
    }

    pub fn get(&self, path: &str) -> Call<'_> {
        self.call(Method::GET, path)
    }

    pub fn post(&self, path: &str, body: Value) -> Call<'_> {
        self.call(Method::POST, path).json(body)
    }

    pub fn put(&self, path: &str, body: Value) -> Call<'_> {
        self.call(Method::PUT, path).json(body)
    }

    pub fn patch(&self, path: &str, body: Value) -> Call<'_> {
        self.call(Method::PATCH, path).json(body)
    }

    pub fn delete(&self, path: &str) -> Call<'_> {
        self.call(Method::DELETE, path)
    }

    /// `path` is under `/api/v1`.
    pub fn call(&self, method: Method, path: &str) -> Call<'_> {
        Call { server: self, method, path: format!("/api/v1{path}"), headers: HeaderMap::new(), body: Bytes::new() }
    }

    /// `path` is whole.
    pub fn call_raw(&self, method: Method, path: &str) -> Call<'_> {
        Call { path: path.to_owned(), ..self.call(method, "") }
    }

    /// Requests for a link for a new password are answered before they are worked on; this waits until they were.
    pub async fn resets_end(&self) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.app.reset_requests.available_permits() < RESET_REQUESTS {
            assert!(Instant::now() < deadline, "a request for a link is worked on for long");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The first user: `ada@example.org`, owner of "Analytical Engines".
    pub async fn admin(&self) -> Person {
        self.register(json!({
            "email": "ada@example.org", "password": PASSWORD, "username": "Ada", "organization": "Analytical Engines",
        }))
        .await
    }

    /// A new user whom `host` invites into their own organization.
    pub async fn join(&self, host: &Person, name: &str, role: Role) -> Person {
        let email = format!("{name}@example.org");
        let invitation = json!({ "email": email, "role": role, "organization_id": host.organization_id });
        let invitation = self.post("/organizations/invite/send", invitation).by(host).ok().await;
        let token = invitation["token"].as_str().expect("a token").to_owned();
        self.register(json!({ "email": email, "password": PASSWORD, "token": token, "username": name })).await
    }

    /// A new user with an organization of their own, founded by themselves after joining `host`'s and leaving it.
    pub async fn stranger(&self, host: &Person, name: &str) -> Person {
        let person = self.join(host, name, Role::Viewer).await;
        let own = json!({ "name": format!("{name}'s own") });
        let organization = self.post("/organizations", own).by(&person).ok().await;
        let leave = json!({ "user_id": person.user_id, "organization_id": host.organization_id });
        self.post("/organizations/remove-user", leave).by(&person).ok().await;
        Person { organization_id: id_of(&organization), ..person }
    }

    pub async fn register(&self, body: Value) -> Person {
        let data = self.post("/auth/register", body).ok().await;
        Person {
            token: data["access_token"].as_str().expect("a token").to_owned(),
            user_id: id_of(&data["user"]),
            email: data["user"]["email"].as_str().expect("an address").to_owned(),
            organization_id: id_of(&data["user"]["organizations"][0]),
        }
    }
}

pub fn config(settings: &[(&str, &str)]) -> Config {
    let mut given = GivenSettings::default();
    // The clock stands still, so a minute never ends.
    let defaults = [
        ("login-attempts", "10000"),
        ("address-requests", "0"),
        ("account-requests", "0"),
        ("key-requests", "0"),
        ("parallel-logins", "2"),
        ("notice-tests", "1000"),
        // Nothing is carried out here, so what was asked for waits for ever.
        ("organization-executions", "1000"),
        ("organization-runs", "10000"),
        ("organization-installations", "10000"),
        ("organization-extensions", "10000"),
        // Nothing listens there: what DNS says is told by tests.
        ("dns-servers", "127.0.0.1:1"),
    ];
    for (name, value) in settings.iter().chain(&defaults) {
        let setting = config::settings().iter().find(|setting| setting.name == *name).expect("a setting");
        given.add(setting, vec![(*value).to_owned()]);
    }
    Config::from_given(given).expect("settings")
}

pub fn id_of(record: &Value) -> Uuid {
    record["id"].as_str().expect("an id").parse().expect("a UUID")
}

pub struct Call<'a> {
    server: &'a TestServer,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

pub struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
    pub json: Value,
}

impl Call<'_> {
    pub fn by(self, person: &Person) -> Self {
        self.header("authorization", &format!("Bearer {}", person.token))
    }

    pub fn within(self, organization_id: Uuid) -> Self {
        self.header("x-organization-id", &organization_id.to_string())
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().expect("a header name");
        self.headers.insert(name, value.parse().expect("a header value"));
        self
    }

    #[expect(clippy::needless_pass_by_value, reason = "so that callers can write json!(..) in place")]
    pub fn json(self, body: Value) -> Self {
        self.body(body.to_string())
    }

    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// The `data` of a success.
    pub async fn ok(self) -> Value {
        let reply = self.send().await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        reply.json["data"].clone()
    }

    /// The `message` of a failure with this status and code.
    pub async fn fails(self, status: u16, code: &str) -> String {
        let (method, path) = (self.method.clone(), self.path.clone());
        let reply = self.send().await;
        assert_eq!(
            (reply.status, reply.json["error"].as_str()),
            (status, Some(code)),
            "{method} {path}: {}",
            reply.text
        );
        reply.json["message"].as_str().expect("a message").to_owned()
    }

    /// Every answer is checked for the envelope and for secrets, whatever the test is about.
    pub async fn send(self) -> Reply {
        let (method, path, server) = (self.method.clone(), self.path.clone(), self.server);
        server.secrets.learn_from_request(&self.body);
        let reply = self.unchecked().await;
        let whole = path.split('?').next().unwrap();
        let is_stream = reply.status == 200
            && (whole.ends_with("/follow") || whole.ends_with("/events") || whole.ends_with("/download"));
        let has_envelope =
            path.starts_with("/api/v1/") && !path.ends_with("openapi.json") && !path.ends_with("docs") && !is_stream;
        if has_envelope && method != Method::HEAD {
            check_envelope(&reply, is_bare(&method, &path));
        }
        server.secrets.check_answer(&method, &path, &reply);
        reply
    }

    pub async fn unchecked(self) -> Reply {
        let (parts, body) = self.open().await.into_parts();
        let text = match parts.headers.get("content-type").is_some_and(|kind| kind == EVENT_STREAM) {
            true => first_events(body).await,
            false => {
                let bytes = body.collect().await.expect("a whole answer").to_bytes();
                String::from_utf8(bytes.to_vec()).expect("text")
            }
        };
        let json = serde_json::from_str(&text).unwrap_or(Value::Null);
        Reply { status: parts.status.as_u16(), headers: parts.headers, text, json }
    }

    /// The answer as it begins.
    pub async fn open(self) -> Response<Incoming> {
        let Self { server, method, path, headers, body } = self;
        let uri = format!("http://{}{path}", server.address);
        let mut request = Request::builder().method(&method).uri(uri).body(Full::new(body)).expect("a request");
        *request.headers_mut() = headers;
        server.client.request(request).await.expect("an answer")
    }
}

/// What a stream begins with, which never ends by itself.
async fn first_events(mut body: Incoming) -> String {
    let mut text = String::new();
    while !(text.contains("data: ") && text.ends_with("\n\n")) {
        let frame = body.frame().await.expect("events").expect("a whole part");
        text.push_str(str::from_utf8(frame.data_ref().expect("bytes")).expect("text"));
    }
    text
}

/// Whether the answer always has `error`.
fn is_bare(method: &Method, path: &str) -> bool {
    let bare =
        [(Method::POST, "/webhook"), (Method::POST, "/notification/webhook"), (Method::DELETE, "/notification/smtp")];
    let path = path.split('?').next().unwrap();
    bare.iter().any(|(bare, end)| bare == method && path.ends_with(end))
}

/// The rule without exception: an object, these fields, in this order, nothing else.
pub fn check_envelope(reply: &Reply, is_bare: bool) {
    let Some(envelope) = reply.json.as_object() else { panic!("not a JSON object: {:?}", reply.text) };
    let fields: Vec<_> = envelope.keys().map(String::as_str).collect();
    assert!(envelope["message"].as_str().is_some_and(|message| !message.is_empty()), "{}", reply.text);
    assert_eq!(reply.headers["content-type"], "application/json");
    if reply.status == 200 && is_bare {
        assert_eq!(fields, ["status", "message", "data", "error"]);
        assert_eq!((&envelope["status"], &envelope["error"]), (&json!("success"), &json!("")));
        assert!(envelope["data"].is_null());
    } else if reply.status == 200 {
        assert_eq!(fields, ["status", "message", "data"]);
        assert_eq!(envelope["status"], "success");
    } else {
        assert_eq!(fields, ["status", "message", "data", "error"]);
        assert_eq!(envelope["status"], "error");
        assert!(envelope["data"].is_null());
        assert!(
            matches!(reply.status, 400 | 401 | 403..=405 | 408 | 409 | 413 | 415 | 429 | 500 | 502 | 503),
            "{}",
            reply.status
        );
    }
}

/// Compares with a file in `snapshots/`: the same one for both databases.
pub fn snapshot(name: &str, value: &Value) {
    let mut value = value.clone();
    hide_tokens(&mut value);
    let text = number_ids(&serde_json::to_string_pretty(&value).expect("JSON"));
    // The code host of a test has a port of its own.
    let text =
        regex::Regex::new(r"127\.0\.0\.1:\d{5}\b").expect("a pattern").replace_all(&text, "[code host]").into_owned();
    let machine = regex::Regex::new(r#""(total_bytes|free_bytes|database|memory_total_bytes|processors)": [^,\n]+"#)
        .expect("a pattern");
    let text = machine.replace_all(&text, r#""$1": "[of this machine]""#).into_owned();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Ids by the order in which they appear, so that a snapshot depends on nothing that happened before.
fn number_ids(text: &str) -> String {
    let mut seen: Vec<&str> = Vec::new();
    let mut numbered = String::new();
    let mut rest = text;
    // The beginning of counted ids, and of those of lines that were printed when the clock stood still.
    while let Some(at) = ["01900000-0000-7000-8000-", "019b76da-a800-7"].iter().filter_map(|id| rest.find(id)).min() {
        let (before, id) = (&rest[..at], &rest[at..at + 36]);
        let number = seen.iter().position(|known| *known == id).unwrap_or_else(|| {
            seen.push(id);
            seen.len() - 1
        });
        numbered.push_str(&format!("{before}[id {}]", number + 1));
        rest = &rest[at + 36..];
    }
    numbered + rest
}

fn hide_parameter(uri: &str, name: &str) -> String {
    let (before, rest) = uri.split_once(&format!("{name}=")).expect("the parameter");
    let after = rest.find('&').map_or("", |at| &rest[at..]);
    format!("{before}{name}=[{name}]{after}")
}

/// Tokens are random; everything else in a test is foreseeable.
fn hide_tokens(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(hide_tokens),
        Value::Object(fields) => {
            // The mail server of a test has a port of its own.
            if fields.get("name").is_some_and(|name| name == "mail-port") {
                fields["value"] = "[port]".into();
            }
            for (name, field) in fields.iter_mut() {
                match (name.as_str(), &field) {
                    ("access_token" | "token" | "key", Value::String(_)) => *field = "[token]".into(),
                    ("hint", Value::String(hint)) => *field = format!("{}[4 characters]", &hint[..4]).into(),
                    ("secret", Value::String(_)) => *field = "[secret]".into(),
                    ("public_key", Value::String(key)) => *field = format!("{}...", &key[..12]).into(),
                    ("otpauth_uri", Value::String(uri)) => *field = hide_parameter(uri, "secret").into(),
                    ("qr_svg", Value::String(svg)) => *field = format!("{}...", &svg[..60]).into(),
                    ("recovery_codes", Value::Array(codes)) => *field = format!("[{} codes]", codes.len()).into(),
                    // A count since the server's start, and random before it.
                    ("request_id", Value::String(_)) => *field = "[request]".into(),
                    ("link", Value::String(link)) => {
                        let (address, _) = link.rsplit_once('=').expect("a link with a token");
                        *field = format!("{address}=[token]").into();
                    }
                    _ => hide_tokens(field),
                }
            }
        }
        _ => {}
    }
}
