//! An application that prints what it is told, and its lines as a user gets them.

use std::io::Read;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use crate::deploy::support::*;
use windlass_testing::git::Repository;
use windlass_testing::{DatabaseLocation, Kind};

/// A burst takes its time on a busy machine.
pub const LONG: Duration = Duration::from_secs(180);

pub struct Printer {
    pub platform: Platform,
    pub repository: Repository,
    pub application: String,
}

impl Printer {
    pub async fn on(kind: Kind, settings: &[&str]) -> Self {
        Self::with(kind, settings, json!({})).await
    }

    /// With more fields of the application.
    pub async fn with(kind: Kind, settings: &[&str], fields: Value) -> Self {
        Self::at(DatabaseLocation::fresh(kind).await, settings, fields).await
    }

    pub async fn at(place: DatabaseLocation, settings: &[&str], fields: Value) -> Self {
        let platform = Platform::at(place, settings).await;
        let repository = repository(&platform, "printer", "one");
        let mut request = body("printer", &repository);
        request.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let application = platform.deploy(&request);
        platform.deployed(&newest_deployment(&application)).await;
        Self { platform, repository, application: id_of(&application) }
    }

    /// Answers before it is printed.
    pub async fn print(&self, query: &str) {
        let (status, _) = self.platform.visit("printer.localhost", &format!("/print?{query}")).await;
        assert_eq!(status, 200);
    }

    /// To standard output, or to standard error with `/complain`, as it is.
    pub async fn say(&self, path: &str, bytes: &[u8]) {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let mut stream = tokio::net::TcpStream::connect(self.platform.edge().await).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: printer.localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            bytes.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }

    /// The newest lines that match, newest first.
    pub fn newest(&self, query: &str) -> Vec<Value> {
        let query = query.replace(' ', "+");
        let path = format!("/deploy/application/logs/{}?relations=none&{query}", self.application);
        self.platform.call("GET", &path, &Value::Null)["logs"].as_array().unwrap().clone()
    }

    /// The number of the newest numbered line that is stored; 0 before the first.
    pub fn last_number(&self) -> u64 {
        let newest = self.newest("page_size=1&stream=stdout&search_term=line");
        newest.first().and_then(|line| number(line["log"].as_str().unwrap())).unwrap_or(0)
    }

    pub async fn until_number(&self, last: u64) {
        let deadline = Instant::now() + LONG;
        loop {
            let now = self.last_number();
            if now >= last {
                return;
            }
            assert!(Instant::now() < deadline, "stored up to {now} of {last}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Everything as text, oldest first.
    pub fn download(&self) -> Vec<Downloaded> {
        let path = format!("/deploy/application/logs/{}/download", self.application);
        let mut answer = Vec::new();
        self.platform.send("GET", &path).read_to_end(&mut answer).expect("a whole answer");
        let answer = String::from_utf8(answer).expect("text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        let body =
            if head.to_ascii_lowercase().contains("transfer-encoding: chunked") { unchunk(body) } else { body.into() };
        body.lines().map(Downloaded::read).collect()
    }
}

/// A line of a download.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Downloaded {
    pub stream: String,
    pub step: String,
    pub text: String,
}

impl Downloaded {
    fn read(line: &str) -> Self {
        let (_, rest) = line.split_once(' ').expect("a time");
        let (stream, rest) = rest.split_once(' ').expect("a stream");
        let (step, text) = rest.trim_start().split_once(' ').expect("a step");
        // The columns have one width.
        let text = &text[(LONGEST_STEP - step.len()).min(text.len())..];
        Self { stream: stream.to_owned(), step: step.to_owned(), text: text.to_owned() }
    }
}

const LONGEST_STEP: usize = "post_run".len();

/// The number in `line 17 xxx`.
pub fn number(text: &str) -> Option<u64> {
    text.strip_prefix("line ")?.split(' ').next()?.parse().ok()
}

fn unchunk(mut body: &str) -> String {
    let mut whole = String::with_capacity(body.len());
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            return whole;
        }
        whole.push_str(&rest[..size]);
        body = &rest[size + 2..];
    }
    panic!("the download was cut");
}
