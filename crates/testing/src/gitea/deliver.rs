//! Sends what happened to those who registered a hook, one after the other, each once, as Gitea does.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use hyper::Uri;
use ring::hmac;
use serde_json::Value;

use super::host::Host;
use crate::deliveries::{hex, hmac_sha256};

/// Gitea's own.
const LIMIT: Duration = Duration::from_secs(5);

/// What was sent, and what it was answered.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub id: String,
    pub event: String,
    pub url: String,
    pub body: Value,
    /// None without an answer in time.
    pub status: Option<u16>,
    /// The answer's body, or why there is none.
    pub answer: String,
}

/// What is still to be sent.
pub struct Parcel {
    id: String,
    event: &'static str,
    /// What hooks ask for; finer than the event.
    kind: &'static str,
    url: String,
    secret: String,
    body: Value,
}

impl Parcel {
    /// The number makes its id, which has the form of a UUID.
    pub fn new(number: u64, kind: &'static str, url: &str, secret: &str, body: Value) -> Self {
        let id = format!("19a0fa1d-29df-41a1-ad89-{number:012}");
        let event = match kind {
            "pull_request_sync" => "pull_request",
            "pull_request_comment" => "issue_comment",
            other => other,
        };
        Self { id, event, kind, url: url.to_owned(), secret: secret.to_owned(), body }
    }
}

/// Until there will be no more.
pub fn run(host: &Host, parcels: &Receiver<Parcel>) {
    for parcel in parcels {
        let (status, answer) = match send(&parcel) {
            Ok((status, answer)) => (Some(status), answer),
            Err(error) => (None, error.to_string()),
        };
        let Parcel { id, event, url, body, .. } = parcel;
        host.state().deliveries.push(Delivery { id, event: event.to_owned(), url, body, status, answer });
    }
}

fn send(parcel: &Parcel) -> io::Result<(u16, String)> {
    let deadline = Instant::now() + LIMIT;
    let url: Uri = parcel.url.parse().map_err(io::Error::other)?;
    let authority = url.authority().ok_or_else(|| io::Error::other("an address without a host"))?;
    let address = (authority.host(), authority.port_u16().unwrap_or(80)).to_socket_addrs()?.next();
    let address = address.ok_or_else(|| io::Error::other("a host without an address"))?;
    let mut stream = TcpStream::connect_timeout(&address, LIMIT)?;
    stream.set_write_timeout(Some(LIMIT))?;
    let body = serde_json::to_vec_pretty(&parcel.body)?;
    let path = url.path_and_query().map_or("/", |path| path.as_str());
    stream
        .write_all(format!("POST {path} HTTP/1.1\r\nHost: {authority}\r\n{}\r\n", headers(parcel, &body)).as_bytes())?;
    stream.write_all(&body)?;
    read_answer(stream, deadline)
}

/// In Gitea's order. It keeps the connection, which is of no use here.
fn headers(parcel: &Parcel, body: &[u8]) -> String {
    let Parcel { id, event, kind, secret, .. } = parcel;
    let sha256 = hex(&hmac_sha256(secret.as_bytes(), body));
    let sha1 = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret.as_bytes()), body);
    let sha1 = hex(sha1.as_ref());
    let mut lines = format!(
        "User-Agent: Go-http-client/1.1\r\nConnection: close\r\nContent-Length: {}\r\nContent-Type: application/json\r\n",
        body.len()
    );
    for dialect in ["GitHub", "Gitea", "Gogs"] {
        let of_dialect = format!(
            "X-{dialect}-Delivery: {id}\r\nX-{dialect}-Event: {event}\r\nX-{dialect}-Event-Type: {kind}\r\n\
             X-{dialect}-Hook-Installation-Target-Type: repository\r\nX-{dialect}-Signature: {sha256}\r\n"
        );
        // GitHub's signature has a name of its own, and Gogs knows no targets.
        let is_known = |line: &&str| {
            !(line.starts_with("X-GitHub-Signature") || line.starts_with("X-Gogs-Hook-Installation-Target-Type"))
        };
        lines.extend(of_dialect.split_inclusive("\r\n").filter(is_known));
    }
    lines
        + &format!("X-Hub-Signature: sha1={sha1}\r\nX-Hub-Signature-256: sha256={sha256}\r\nAccept-Encoding: gzip\r\n")
}

fn read_answer(mut stream: TcpStream, deadline: Instant) -> io::Result<(u16, String)> {
    let mut read = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut piece)? {
            0 => break,
            _ if left.is_zero() => return Err(io::ErrorKind::TimedOut.into()),
            length => read.extend_from_slice(&piece[..length]),
        }
    }
    let text = String::from_utf8_lossy(&read);
    let (head, body) = text.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_owned()))
}
