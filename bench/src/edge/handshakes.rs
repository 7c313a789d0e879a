//! A load of new encrypted connections, each with a full handshake and one request. `wrk` cannot do that: it resumes the
//! session of the connection before.
//!
//! A process of its own, so that it has a core of its own, and prints what `wrk` prints.

use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{JoinSet, LocalSet};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::HandshakeKind;

use crate::edge::ask::{Question, Scheme};
use crate::edge::peers::SMALL;
use crate::edge::tls;

/// What one of the connections at a time has seen.
#[derive(Default)]
struct Seen {
    micros: Vec<u64>,
    failed: u64,
}

struct Visitor {
    port: u16,
    question: Question,
    connector: TlsConnector,
}

/// Takes the port, how many connections there are at a time, and for how many seconds.
#[tokio::main(flavor = "current_thread")]
pub async fn load(arguments: &[String]) {
    let number = |index: usize| arguments[index].parse::<u64>().expect("a number");
    let visitor = Rc::new(Visitor {
        port: u16::try_from(number(0)).expect("a port"),
        question: Question::new(Scheme::Https, &SMALL),
        connector: TlsConnector::from(tls::CLIENT.clone()),
    });
    let started = Instant::now();
    let until = started + Duration::from_secs(number(2));
    let (local, mut visits) = (LocalSet::new(), JoinSet::new());
    for _ in 0..number(1) {
        visits.spawn_local_on(come_again(visitor.clone(), until), &local);
    }
    let seen = local.run_until(visits.join_all()).await;
    print(&seen, started.elapsed());
}

async fn come_again(visitor: Rc<Visitor>, until: Instant) -> Seen {
    let mut seen = Seen::default();
    while Instant::now() < until {
        let started = Instant::now();
        match visitor.come().await {
            Ok(true) => seen.micros.push(started.elapsed().as_micros() as u64),
            Ok(false) | Err(_) => seen.failed += 1,
        }
    }
    seen
}

impl Visitor {
    /// Whether the handshake was a full one, and the answer is right.
    async fn come(&self) -> io::Result<bool> {
        let Question { host, file, .. } = &self.question;
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        stream.set_nodelay(true)?;
        let mut stream = self.connector.connect(tls::name(host), stream).await?;
        let is_full = stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Full);
        stream.write_all(self.question.request().as_bytes()).await?;
        stream.flush().await?;
        let mut answer = Vec::with_capacity(2 * file.bytes);
        while !is_complete(&answer, file.bytes) {
            if stream.read_buf(&mut answer).await? == 0 {
                return Ok(false);
            }
        }
        stream.shutdown().await?;
        Ok(is_full && answer.starts_with(b"HTTP/1.1 200 "))
    }
}

fn is_complete(answer: &[u8], body: usize) -> bool {
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
    head.is_some_and(|end| answer.len() >= end + 4 + body)
}

fn print(seen: &[Seen], time: Duration) {
    let mut micros: Vec<u64> = seen.iter().flat_map(|seen| seen.micros.iter().copied()).collect();
    micros.sort_unstable();
    let failed: u64 = seen.iter().map(|seen| seen.failed).sum();
    let p99 = micros.get(micros.len() * 99 / 100).copied().unwrap_or_default();
    println!("RESULT {} {} {p99} {failed}", micros.len(), time.as_micros());
}
