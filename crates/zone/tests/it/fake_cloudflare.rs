//! Answers as the documents of Cloudflare's API describe it, for one account with one zone.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub const TOKEN: &str = "Sn3lZJTBX6kkg7OdcBUAxOO963GEIyGQqnFTOFYY";
pub const ZONE: &str = "example.org";
const ZONE_ID: &str = "023e105f4ecef8ad9ca31a8372d0c353";

#[derive(Clone)]
pub struct FakeCloudflare {
    pub base_url: String,
    account: Arc<Mutex<Account>>,
}

#[derive(Default)]
struct Account {
    records: Vec<Value>,
    made: usize,
    calls: Vec<String>,
    /// What is answered instead, byte by byte, from the call with this number on.
    instead: Option<(usize, Vec<u8>)>,
}

struct Request {
    method: String,
    path: String,
    query: Vec<(String, String)>,
    head: String,
    body: Value,
}

impl FakeCloudflare {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/client/v4", listener.local_addr().unwrap());
        let fake = Self { base_url, account: Arc::default() };
        let serving = fake.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = received(&mut stream).await;
                // A client that has seen enough may be gone.
                let _ = stream.write_all(&serving.answered(&request)).await;
            }
        });
        fake
    }

    /// From the call with this number on, which counts from 0, it answers with these bytes.
    pub fn answer_instead(&self, from: usize, bytes: impl Into<Vec<u8>>) {
        let mut account = self.account.lock().unwrap();
        account.calls.clear();
        account.instead = Some((from, bytes.into()));
    }

    /// Adds a record as another client would.
    pub fn put(&self, name: &str, content: &str) {
        self.account.lock().unwrap().add(name, content, 300);
    }

    /// The names, contents and lifetimes of all records.
    pub fn records(&self) -> Vec<(String, String, u64)> {
        let text = |record: &Value, field: &str| record[field].as_str().unwrap().to_owned();
        let shown = |record: &Value| (text(record, "name"), text(record, "content"), record["ttl"].as_u64().unwrap());
        self.account.lock().unwrap().records.iter().map(shown).collect()
    }

    /// Method and path of each call.
    pub fn calls(&self) -> Vec<String> {
        self.account.lock().unwrap().calls.clone()
    }

    fn answered(&self, request: &Request) -> Vec<u8> {
        let mut account = self.account.lock().unwrap();
        let number = account.calls.len();
        account.calls.push(format!("{} {}", request.method, request.path));
        if let Some((from, bytes)) = &account.instead
            && number >= *from
        {
            return bytes.clone();
        }
        let (status, body) = account.answer(request);
        http(status, &body.to_string())
    }
}

impl Account {
    fn answer(&mut self, request: &Request) -> (u16, Value) {
        if !request.head.contains(&format!("authorization: Bearer {TOKEN}\r\n")) {
            return refused(403, 10_000, "Authentication error");
        }
        let path: Vec<&str> = request.path.trim_start_matches("/client/v4/").split('/').collect();
        match (request.method.as_str(), path.as_slice()) {
            ("GET", ["zones"]) => {
                let zone = json!({ "id": ZONE_ID, "name": ZONE, "status": "active" });
                let is_asked_for = request.asked("name").is_none_or(|name| name == ZONE);
                done(&json!(if is_asked_for { vec![zone] } else { Vec::new() }))
            }
            ("GET", ["zones", ZONE_ID, "dns_records"]) => done(&json!(self.matching(request))),
            ("POST", ["zones", ZONE_ID, "dns_records"]) => self.create(&request.body),
            ("DELETE", ["zones", ZONE_ID, "dns_records", id]) => self.delete(id),
            _ => refused(404, 7_003, "Could not route to the path, perhaps your object identifier is invalid?"),
        }
    }

    /// Filters know no case, as the documents say.
    fn matching(&self, request: &Request) -> Vec<&Value> {
        let field = |record: &Value, field: &str| record[field].as_str().unwrap().to_ascii_lowercase();
        let wanted = |name: &str| request.asked(name).unwrap_or_default().to_ascii_lowercase();
        let matches = |record: &&Value| {
            field(record, "type") == wanted("type")
                && field(record, "name") == wanted("name.exact")
                && field(record, "content").contains(&wanted("content.contains"))
        };
        self.records.iter().filter(matches).collect()
    }

    fn create(&mut self, body: &Value) -> (u16, Value) {
        let text = |field: &str| body[field].as_str().unwrap().to_owned();
        let (kind, name, content, ttl) = (text("type"), text("name"), text("content"), body["ttl"].as_u64().unwrap());
        assert!(kind == "TXT" && (60..=86_400).contains(&ttl), "{body}");
        assert!(content.len() > 2 && content.starts_with('"') && content.ends_with('"'), "{body}");
        if self.records.iter().any(|record| record["name"] == name && record["content"] == content) {
            return refused(400, 81_058, "An identical record already exists.");
        }
        self.add(&name, &content, ttl);
        done(self.records.last().unwrap())
    }

    fn delete(&mut self, id: &str) -> (u16, Value) {
        let before = self.records.len();
        self.records.retain(|record| record["id"] != id);
        match self.records.len() < before {
            true => done(&json!({ "id": id })),
            false => refused(404, 81_044, "Record does not exist."),
        }
    }

    fn add(&mut self, name: &str, content: &str, ttl: u64) {
        self.made += 1;
        let id = format!("{:032x}", self.made);
        self.records.push(json!({ "id": id, "type": "TXT", "name": name, "content": content, "ttl": ttl }));
    }
}

impl Request {
    fn asked(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str())
    }
}

fn done(result: &Value) -> (u16, Value) {
    (200, json!({ "success": true, "errors": [], "messages": [], "result": result }))
}

fn refused(status: u16, code: u32, message: &str) -> (u16, Value) {
    let errors = json!([{ "code": code, "message": message }]);
    (status, json!({ "success": false, "errors": errors, "messages": [], "result": null }))
}

pub fn http(status: u16, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").into_bytes()
}

async fn received(stream: &mut TcpStream) -> Request {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    let mut words = head.split(' ');
    let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap());
    let url = windlass_outgoing::Url::parse(&format!("http://fake{target}")).unwrap();
    let query = url.query_pairs().into_owned().collect();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Request { method, path: url.path().to_owned(), query, head, body }
}
