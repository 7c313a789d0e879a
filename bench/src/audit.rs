//! Reading a long audit log: one caller, one request after another, 100,000 entries in the organization's chain.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use uuid::Uuid;
use windlass_api::Timestamp;
use windlass_store::Db;
use windlass_store::audit::{self, Entry, Head};

use crate::http;

pub const ENTRIES: i64 = 100_000;
const REQUESTS: usize = 200;

/// What is asked for, and how it is called in the table.
const QUERIES: [(&str, &str); 8] = [
    ("page 1", "page=1"),
    ("page 1,000", "page=1000"),
    ("page 10,000 (the last)", "page=10000"),
    ("page 1 of a resource type (half of all)", "resource_type=member"),
    ("page 1,000 of a resource type", "resource_type=member&page=1000"),
    ("search: everything matches", "search=user-"),
    ("search: one matches", "search=user-77777"),
    ("search: nothing matches", "search=no-such-thing"),
];

#[derive(Debug, Serialize)]
pub struct Timing {
    pub name: &'static str,
    pub median_ms: f64,
    pub p99_ms: f64,
    pub total_count: u64,
}

/// Entries as the server writes them; only the links are left out, because no measurement verifies them.
pub async fn fill(db: &Db, chain_id: Uuid) {
    let mut tx = db.begin().await.expect("a transaction");
    let head = Head { id: chain_id, count: 0, last_mac: vec![0; 32], head_mac: vec![0; 32] };
    audit::begin_chain(&mut tx, &head).await.expect("a head");
    tx.commit().await.expect("a commit");
    for from in (1..=ENTRIES).step_by(1_000) {
        let mut tx = db.begin().await.expect("a transaction");
        for seq in from..from + 1_000 {
            audit::append(&mut tx, &entry(chain_id, seq), &head).await.expect("an entry");
        }
        tx.commit().await.expect("a commit");
    }
}

fn entry(chain_id: Uuid, seq: i64) -> Entry {
    let (resource, role) = if seq % 2 == 0 { ("member", "admin") } else { ("invitation", "viewer") };
    let message = format!("Ada changed the role of user-{seq}@example.org from member to {role}");
    let id = Uuid::from_u128(seq.unsigned_abs().into());
    let metadata = format!(
        "{{\"email\":\"user-{seq}@example.org\",\"from\":\"member\",\"to\":\"{role}\",\"ip_address\":\"192.0.2.17\",\
         \"request_id\":\"{seq:032x}\"}}"
    );
    Entry {
        chain_id,
        seq,
        id,
        actor_id: Some(chain_id),
        actor: "Ada".into(),
        action: "update".into(),
        resource: resource.into(),
        resource_id: id.to_string(),
        search_text: format!("{}\n{id}\n192.0.2.17\n{seq:032x}", message.to_lowercase()),
        message,
        metadata,
        created_at: Timestamp::from_micros(1_800_000_000_000_000 + seq),
        mac: vec![0; 32],
    }
}

pub fn measure(port: u16, token: &str) -> Vec<Timing> {
    let mut client = Client::new(port, token);
    QUERIES.iter().map(|(name, query)| client.time(name, query)).collect()
}

/// One kept-alive connection.
struct Client<'a> {
    stream: BufReader<TcpStream>,
    token: &'a str,
}

impl<'a> Client<'a> {
    fn new(port: u16, token: &'a str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.set_nodelay(true).expect("an option");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("an option");
        Self { stream: BufReader::new(stream), token }
    }

    fn time(&mut self, name: &'static str, query: &str) -> Timing {
        let mut body = self.get(query);
        let mut times: Vec<f64> = (0..REQUESTS)
            .map(|_| {
                let started = Instant::now();
                body = self.get(query);
                started.elapsed().as_secs_f64() * 1_000.0
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let answer: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        let total_count = answer["data"]["pagination"]["total_count"].as_u64().expect("a count");
        Timing { name, median_ms: times[REQUESTS / 2], p99_ms: times[REQUESTS * 99 / 100], total_count }
    }

    fn get(&mut self, query: &str) -> String {
        let token = self.token;
        let request = format!(
            "GET /api/v1/audit/logs?{query} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        self.stream.get_mut().write_all(request.as_bytes()).expect("a request");
        let (status, body) = http::read_answer(&mut self.stream);
        assert_eq!(status, 200, "the audit log is refused");
        String::from_utf8(body).expect("text")
    }
}
