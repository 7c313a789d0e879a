//! What a burst of lines does to the API: nothing.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::Request;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use windlass_testing::Kind;

use super::super::support::*;

const RATE: u64 = 50_000;
const TIME: Duration = Duration::from_secs(3);
/// Odd, so that the median is one of them.
const ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn it_answers_as_quickly_as_ever() {
    let printer = Printer::on(Kind::Sqlite, &["--engine-log-mib", "10"]).await;
    let mut client = Client::connect(&printer.platform).await;
    client.measure(Duration::from_secs(1)).await;
    let (mut rounds, mut rates, mut last) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        // In turn: whatever else the machine does affects both.
        let idle = client.measure(TIME).await;
        let count = RATE * (TIME.as_secs() + 2);
        printer.print(&format!("from={}&count={count}&rate={RATE}&bytes=60", last + 1)).await;
        printer.until_number(last + RATE / 4).await;
        let (before, began) = (printer.last_number(), Instant::now());
        let busy = client.measure(TIME).await;
        rates.push((printer.last_number() - before) as f64 / began.elapsed().as_secs_f64());
        last += count;
        printer.until_number(last).await;
        rounds.push((busy.as_secs_f64() / idle.as_secs_f64(), idle, busy));
    }
    // One round may have met a pause of the machine's disk, here as below.
    rates.sort_by(f64::total_cmp);
    assert!(rates[ROUNDS / 2] > 0.9 * RATE as f64, "only so many lines a second were stored: {rates:?}");
    rounds.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert!(rounds[ROUNDS / 2].0 < 3.0, "p99 was and became, in each round: {rounds:?}");
}

/// One connection, and how long its requests take.
struct Client {
    sender: SendRequest<Empty<Bytes>>,
    token: String,
}

impl Client {
    async fn connect(platform: &Platform) -> Self {
        let stream = tokio::net::TcpStream::connect(&platform.process().address).await.expect("a connection");
        let (sender, connection) = handshake(TokioIo::new(stream)).await.expect("a handshake");
        tokio::spawn(connection);
        Self { sender, token: platform.token().to_owned() }
    }

    /// The 99th percentile of `GET /organizations`, asked two hundred times a second.
    async fn measure(&mut self, time: Duration) -> Duration {
        let (began, mut took) = (Instant::now(), Vec::new());
        let mut ticks = tokio::time::interval(Duration::from_millis(5));
        while began.elapsed() < time {
            ticks.tick().await;
            let request = Request::get("/api/v1/organizations").header("host", "localhost");
            let request = request.header("authorization", format!("Bearer {}", self.token)).body(Empty::new());
            let asked = Instant::now();
            self.sender.ready().await.expect("a connection");
            let answer = self.sender.send_request(request.expect("a request")).await.expect("an answer");
            assert_eq!(answer.status(), 200);
            answer.into_body().collect().await.expect("a whole answer");
            took.push(asked.elapsed());
        }
        took.sort_unstable();
        took[took.len() * 99 / 100]
    }
}
