//! Many clients follow one application, and some of them do not read.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use windlass_testing::Kind;

use super::super::support::*;

const FOLLOWERS: usize = 100;
const STALLED: usize = 10;
const COUNT: u64 = 2_500;
const RATE: u64 = 150;

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_follow_and_ten_of_them_stall() {
    let printer = Printer::on(Kind::Sqlite, &["--idle-seconds", "3", "--engine-log-mib", "10"]).await;
    let memory = resident_bytes(printer.platform.process().child.id());
    let mut reading = JoinSet::new();
    for _ in STALLED..FOLLOWERS {
        let follower = Follower::connect(&printer, None, false).await;
        reading.spawn(follower.read_all(COUNT));
    }
    let mut stalled = Vec::new();
    for _ in 0..STALLED {
        stalled.push(Follower::connect(&printer, None, true).await);
    }
    // So much that no buffer of the system holds it.
    printer.print(&format!("count={COUNT}&rate={RATE}&bytes=4000")).await;
    let mut slowest = Duration::ZERO;
    while let Some(read) = reading.join_next().await {
        let (numbers, longest) = read.expect("a follower");
        assert!(numbers.iter().copied().eq(1..=COUNT), "a follower got {} lines", numbers.len());
        slowest = slowest.max(longest);
    }
    assert!(slowest < Duration::from_secs(1), "a line took {slowest:?}");
    let grown = resident_bytes(printer.platform.process().child.id()).saturating_sub(memory);
    assert!(grown < 96 << 20, "the server grew by {} MiB", grown >> 20);
    // A client that did not read was disconnected, and goes on where it was.
    for follower in stalled {
        let (mut numbers, last_id) = follower.read_to_cut().await;
        assert!(numbers.len() < COUNT as usize, "it was not disconnected");
        let resumed = Follower::connect(&printer, last_id, false).await;
        numbers.extend(resumed.read_all(COUNT).await.0);
        assert!(numbers.iter().copied().eq(1..=COUNT), "{} lines", numbers.len());
    }
}

struct Follower {
    stream: BufReader<TcpStream>,
}

impl Follower {
    async fn connect(printer: &Printer, last_id: Option<String>, is_lazy: bool) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        if is_lazy {
            socket.set_recv_buffer_size(4_096).expect("a small buffer");
        }
        let address = printer.platform.process().address.parse().expect("an address");
        let mut stream = socket.connect(address).await.expect("a connection");
        let resume = last_id.map(|id| format!("last-event-id: {id}\r\n")).unwrap_or_default();
        let request = format!(
            "GET /api/v1/deploy/application/logs/{}/follow?tail=0 HTTP/1.0\r\nhost: localhost\r\n\
             authorization: Bearer {}\r\n{resume}\r\n",
            printer.application,
            printer.platform.token()
        );
        stream.write_all(request.as_bytes()).await.expect("a request");
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        stream.read_line(&mut head).await.expect("an answer");
        assert!(head.contains(" 200 "), "{head}");
        Self { stream }
    }

    /// Numbers of lines up to the last one, and the longest time that one of them took.
    async fn read_all(mut self, last: u64) -> (Vec<u64>, Duration) {
        let (mut numbers, mut longest) = (Vec::new(), Duration::ZERO);
        let deadline = Instant::now() + LONG;
        while numbers.last() != Some(&last) {
            let event = tokio::time::timeout_at(deadline.into(), self.event()).await.expect("in time");
            let event = event.unwrap_or_else(|| panic!("cut after {:?}", numbers.last()));
            numbers.extend(number(event.line["log"].as_str().expect("text")));
            longest = longest.max(age(event.line["created_at"].as_str().expect("a time")));
        }
        (numbers, longest)
    }

    /// Numbers of lines until the server closes the connection, and the last event that came whole.
    async fn read_to_cut(mut self) -> (Vec<u64>, Option<String>) {
        let (mut numbers, mut last_id) = (Vec::new(), None);
        while let Some(event) = self.event().await {
            numbers.extend(number(event.line["log"].as_str().expect("text")));
            last_id = Some(event.id);
        }
        (numbers, last_id)
    }

    /// The next whole event; none when there are no more.
    async fn event(&mut self) -> Option<Event> {
        let (mut id, mut line) = (String::new(), None);
        loop {
            let mut text = String::new();
            let length = self.stream.read_line(&mut text).await.ok()?;
            if length == 0 || !text.ends_with('\n') {
                return None;
            }
            let text = text.trim_end();
            if let Some(given) = text.strip_prefix("id: ") {
                id = given.to_owned();
            } else if let Some(data) = text.strip_prefix("data: ") {
                line = Some(serde_json::from_str(data).expect("JSON"));
            } else if text.is_empty()
                && let Some(line) = line.take()
            {
                return Some(Event { id, line });
            }
        }
    }
}

struct Event {
    id: String,
    line: Value,
}

/// How long ago a line was printed, by the engine's clock, which is this machine's.
#[expect(clippy::disallowed_methods, reason = "the engine's clock cannot be moved")]
fn age(created_at: &str) -> Duration {
    let created = windlass_api::Timestamp::try_from(created_at).expect("a time").micros();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64;
    Duration::from_micros(u64::try_from(now - created).unwrap_or_default())
}

fn resident_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("a number") * 1024
}
