//! Just enough of a client: one answer, whose length is stated, off a kept-alive connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

/// The status and the body.
pub fn read_answer<R: Read>(stream: &mut BufReader<R>) -> (u16, Vec<u8>) {
    let mut line = String::new();
    stream.read_line(&mut line).expect("a status line");
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let mut length = 0;
    while line != "\r\n" {
        line.clear();
        let read = stream.read_line(&mut line).expect("a line");
        assert!(read > 0, "the connection ends inside a head");
        if let Some(text) = line.to_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("a body");
    (status, body)
}

/// How long an answer may take.
const ANSWER_LIMIT: Duration = Duration::from_secs(30);

/// The body of a page that is answered well, on a connection of its own.
pub fn get(address: &str, host: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(ANSWER_LIMIT)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200 ").then(|| body.to_owned())
}

/// What visitors of a host get from the edge.
pub fn visit(edge: u16, host: &str) -> Option<String> {
    get(&format!("127.0.0.1:{edge}"), host, "/")
}

/// A client with a login, which sends one request after another.
pub struct Caller {
    port: u16,
    token: String,
}

impl Caller {
    /// The first admin.
    pub fn register(port: u16) -> Self {
        Self::register_as(port, "bench@example.org")
    }

    /// One with an organization of their own.
    pub fn register_as(port: u16, email: &str) -> Self {
        let mut caller = Self { port, token: String::new() };
        let body = json!({ "email": email, "password": "correct horse battery" });
        let answer = caller.post("/auth/register", &body);
        caller.token = answer["access_token"].as_str().expect("a token").to_owned();
        caller
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn get(&self, path: &str) -> Value {
        self.ask("GET", path, "")
    }

    pub fn post(&self, path: &str, body: &Value) -> Value {
        self.ask("POST", path, &body.to_string())
    }

    pub fn put(&self, path: &str, body: &Value) -> Value {
        self.ask("PUT", path, &body.to_string())
    }

    pub fn delete(&self, path: &str) -> Value {
        self.ask("DELETE", path, "")
    }

    /// The answer's data.
    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        let authorization = match self.token.as_str() {
            "" => String::new(),
            token => format!("authorization: Bearer {token}\r\n"),
        };
        let length = body.len();
        let head = format!(
            "{method} /api/v1{path} HTTP/1.1\r\nhost: localhost\r\n{authorization}content-length: {length}\r\n\r\n"
        );
        stream.write_all(format!("{head}{body}").as_bytes()).expect("a request");
        let (status, body) = read_answer(&mut BufReader::new(stream));
        assert_eq!(status, 200, "{method} {path}: {}", String::from_utf8_lossy(&body));
        serde_json::from_slice::<Value>(&body).expect("JSON")["data"].take()
    }
}
