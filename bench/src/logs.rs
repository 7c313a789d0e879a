//! Log lines: into the store alone; from a container to the store, beside `docker logs -f`; back out of it, among
//! millions.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use uuid::Uuid;
use windlass_api::{LogStep, LogStream, Timestamp};
use windlass_store::Options;
use windlass_store::logs::{Batch, LogLine, LogStore};
use windlass_testing::testapp;

use crate::deploy::{Platform, commit, docker, median};
use crate::http;

const ROUNDS: usize = 3;
const REQUESTS: usize = 200;
const SEARCHES: usize = 7;
const BATCH: usize = 5_000;
const STORED: usize = 2_000_000;
const PRINTED: u64 = 500_000;
const FEW: usize = 1_000_000;
const MANY: usize = 5_000_000;
const FOLLOWED: usize = 2_000;
const DEADLINE: Duration = Duration::from_secs(300);
/// Stands in one line only, the oldest.
const NEEDLE: &str = "xyzzy-the-one-and-only";

#[tokio::main]
pub async fn measure() {
    testapp::base_image().await;
    println!("{STORED} lines into the store …");
    let store = store().await;
    println!("{PRINTED} lines from a container, beside docker logs …");
    let end_to_end = end_to_end();
    println!("{FOLLOWED} lines to a follower …");
    let follow = follow();
    println!("reading among {FEW} and {MANY} lines …");
    let reading = reading().await;
    let report = json!({ "store": store, "end_to_end": end_to_end, "follow": follow, "reading": reading });
    let text = serde_json::to_string_pretty(&report).expect("JSON");
    std::fs::create_dir_all("bench/results").expect("a folder");
    std::fs::write("bench/results/logs.json", &text).expect("a file");
    println!("{text}");
}

/// Lines a second into a fresh store, and what they take on the disk.
async fn store() -> Value {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = open(folder.path()).await;
        let began = Instant::now();
        let (bytes, made) = fill(&store, Uuid::from_u128(1), Uuid::from_u128(2), STORED).await;
        let seconds = (began.elapsed() - made).as_secs_f64();
        store.close().await;
        let on_disk = std::fs::metadata(folder.path().join("logs.db")).expect("a file").len();
        rounds.push(json!({
            "lines_per_s": STORED as f64 / seconds,
            "disk_ratio": on_disk as f64 / bytes as f64,
        }));
    }
    json!({ "lines": STORED, "median_lines_per_s": median_of(&rounds, "lines_per_s"), "median_disk_ratio": median_of(&rounds, "disk_ratio"), "rounds": rounds })
}

/// Lines a second from an application that prints as fast as it can to the store, beside what `docker logs -f`
/// delivers.
fn end_to_end() -> Value {
    let platform = Platform::start(&[]);
    let repository = platform.repository("printer");
    commit(&repository, "one");
    let body = json!({ "name": "printer", "repository": repository.url(), "stop_seconds": 1 });
    let application = platform.caller.post("/deploy/application", &body);
    platform.until_served("printer.localhost", "one");
    let id = application["id"].as_str().expect("an id").to_owned();
    let mut rounds = Vec::new();
    for round in 0..ROUNDS as u64 {
        let docker = docker_logs();
        let (first, last) = (round * PRINTED + 1, (round + 1) * PRINTED);
        let path = format!("/print?from={first}&count={PRINTED}&bytes=60");
        let began = Instant::now();
        http::get(&format!("127.0.0.1:{}", platform.edge), "printer.localhost", &path).expect("it prints");
        let query = format!("/deploy/application/logs/{id}?relations=none&page_size=1&stream=stdout");
        let until = began + DEADLINE;
        while !platform.caller.get(&query)["logs"][0]["log"]
            .as_str()
            .unwrap_or_default()
            .starts_with(&format!("line {last} "))
        {
            assert!(Instant::now() < until, "not all lines arrive");
            std::thread::sleep(Duration::from_millis(20));
        }
        let windlass = PRINTED as f64 / began.elapsed().as_secs_f64();
        rounds.push(
            json!({ "windlass_lines_per_s": windlass, "docker_lines_per_s": docker, "ratio": windlass / docker }),
        );
    }
    json!({
        "lines": PRINTED,
        "median_windlass_lines_per_s": median_of(&rounds, "windlass_lines_per_s"),
        "median_docker_lines_per_s": median_of(&rounds, "docker_lines_per_s"),
        "median_ratio": median_of(&rounds, "ratio"),
        "rounds": rounds,
    })
}

/// The same program in a container by hand, and all its lines through the engine's own client.
fn docker_logs() -> f64 {
    let name = "bench-printer";
    // One file: at a rotation its client loses lines, the last one perhaps.
    let limits = ["--log-opt", "max-size=1g", "--log-opt", "max-file=2"];
    docker(&[&["run", "--detach", "--init", "--name", name][..], &limits, &[testapp::IMAGE]].concat());
    let address = docker(&["inspect", "--format", "{{.NetworkSettings.IPAddress}}", name]);
    let until = Instant::now() + DEADLINE;
    while http::get(&format!("{address}:8080"), "localhost", "/").is_none() {
        assert!(Instant::now() < until, "it does not answer");
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut following =
        Command::new("docker").args(["logs", "--follow", name]).stdout(Stdio::piped()).spawn().expect("docker starts");
    let output = BufReader::with_capacity(1 << 20, following.stdout.take().expect("its output"));
    let began = Instant::now();
    http::get(&format!("{address}:8080"), "localhost", &format!("/print?count={PRINTED}&bytes=60")).expect("it prints");
    let last = format!("line {PRINTED} ");
    let found = output.lines().map_while(Result::ok).any(|line| line.starts_with(&last));
    let seconds = began.elapsed().as_secs_f64();
    assert!(found, "docker logs ended early");
    let _ = following.kill();
    let _ = following.wait();
    docker(&["rm", "--force", name]);
    PRINTED as f64 / seconds
}

/// From the moment that the engine stamps a line to the moment that a follower has it.
#[expect(clippy::disallowed_methods, reason = "the engine's clock cannot be moved")]
fn follow() -> Value {
    let platform = Platform::start(&[]);
    let repository = platform.repository("printer");
    commit(&repository, "one");
    let body = json!({ "name": "printer", "repository": repository.url(), "stop_seconds": 1 });
    let application = platform.caller.post("/deploy/application", &body);
    platform.until_served("printer.localhost", "one");
    let id = application["id"].as_str().expect("an id");
    let mut stream = TcpStream::connect(("127.0.0.1", platform.process.port)).expect("a connection");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time limit");
    let request = format!(
        "GET /api/v1/deploy/application/logs/{id}/follow?tail=0 HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n",
        platform.caller.token()
    );
    stream.write_all(request.as_bytes()).expect("a request");
    http::get(
        &format!("127.0.0.1:{}", platform.edge),
        "printer.localhost",
        &format!("/print?count={FOLLOWED}&rate=100"),
    )
    .expect("it prints");
    let mut took = Vec::with_capacity(FOLLOWED);
    for line in BufReader::new(stream).lines().map_while(Result::ok) {
        let Some(event) = line.strip_prefix("data: ") else { continue };
        let event: Value = serde_json::from_str(event).expect("JSON");
        let at = Timestamp::try_from(event["created_at"].as_str().expect("a time")).expect("a time").micros();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros() as i64;
        if event["log"].as_str().is_some_and(|log| log.starts_with("line ")) {
            took.push((now - at) as f64 / 1_000.0);
        }
        if took.len() == FOLLOWED {
            break;
        }
    }
    assert_eq!(took.len(), FOLLOWED, "not all lines arrived");
    json!({ "lines_per_s": 100, "median_ms": median(took.clone()), "p99_ms": percentile(took, 99) })
}

/// Pages and searches over HTTP, of an application with so many lines. Nothing is deployed: there is no engine.
async fn reading() -> Value {
    let platform = Platform::start(&["--docker-socket", "/nowhere/docker.sock"]);
    let store = open(platform.folder.path()).await;
    let mut applications = Vec::new();
    for (name, lines) in [("few", FEW), ("many", MANY)] {
        let body = json!({ "name": name, "repository": "https://git.example.org/team/app.git" });
        let application = platform.caller.post("/deploy/application", &body);
        let id = application["id"].as_str().expect("an id").to_owned();
        let deployment = application["deployments"][0]["id"].as_str().expect("an id");
        fill(&store, id.parse().expect("an id"), deployment.parse().expect("an id"), lines).await;
        applications.push(id);
    }
    store.close().await;
    let timed = |path: &str, times: usize| {
        let all: Vec<f64> = (0..times)
            .map(|_| {
                let began = Instant::now();
                platform.caller.get(path);
                began.elapsed().as_secs_f64() * 1_000.0
            })
            .collect();
        json!({ "median_ms": median(all.clone()), "p99_ms": percentile(all, 99) })
    };
    let path = |id: &str, query: &str| format!("/deploy/application/logs/{id}?{query}");
    let (few, many) = (&applications[0], &applications[1]);
    json!({
        "newest 100 of 5,000,000": timed(&path(many, "page_size=100"), REQUESTS),
        "newest 100 of 5,000,000, relations=none": timed(&path(many, "page_size=100&relations=none"), REQUESTS),
        "oldest 100 of 5,000,000": timed(&path(many, "page_size=100&after=0"), REQUESTS),
        "page 25,000 of 5,000,000": timed(&path(many, "page_size=100&page=25000"), REQUESTS),
        "search 1,000,000: only the oldest line matches": timed(&path(few, &format!("search_term={NEEDLE}")), SEARCHES),
        "search 1,000,000: every tenth line matches": timed(&path(few, "search_term=status=500"), SEARCHES),
        "search 1,000,000: a regular expression that matches nothing": timed(&path(few, "regex=took%3D%5Cd%7B9%7Dms%24"), SEARCHES),
        "peak_mb": platform.process.peak_mb(),
    })
}

async fn open(folder: &Path) -> LogStore {
    let options = Options { connections: 2, wait: Duration::from_secs(30) };
    let store = LogStore::sqlite(&folder.join("logs.db"), options).await.expect("the log store opens");
    store.migrate().await.expect("its schema");
    store
}

/// The bytes of the text, and how long it took to generate it.
async fn fill(store: &LogStore, application_id: Uuid, deployment_id: Uuid, lines: usize) -> (usize, Duration) {
    let mut random = Random(88_172_645_463_325_252);
    let (mut bytes, mut made) = (0, Duration::ZERO);
    for first in (0..lines).step_by(BATCH) {
        let began = Instant::now();
        let batch: Vec<LogLine> = (first..(first + BATCH).min(lines)).map(|number| line(number, &mut random)).collect();
        bytes += batch.iter().map(|line| line.text.len()).sum::<usize>();
        let batch = Batch { application_id, deployment_id, lines: batch, progress: None };
        made += began.elapsed();
        store.append(&[batch]).await.expect("it is stored");
    }
    (bytes, made)
}

/// As a web application writes them: much the same, with numbers that are never the same.
fn line(number: usize, random: &mut Random) -> LogLine {
    let (id, item, took) = (random.next(), random.next() % 100_000, random.next() % 900);
    let status = if number % 10 == 3 { 500 } else { 200 };
    let last = if number == 0 { NEEDLE } else { "-" };
    let text = format!(
        "INFO request id={id:016x} method=GET path=/api/items/{item} status={status} took={took}ms agent={last}"
    );
    let at = Timestamp::from_micros(1_760_000_000_000_000 + number as i64 * 1_000);
    LogLine { at, stream: LogStream::Stdout, step: LogStep::Run, service: String::new(), text }
}

/// Good enough to be unpredictable for a packer, and the same every time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn median_of(rounds: &[Value], name: &str) -> f64 {
    median(rounds.iter().map(|round| round[name].as_f64().expect("a figure")).collect())
}

fn percentile(mut all: Vec<f64>, percent: usize) -> f64 {
    all.sort_by(f64::total_cmp);
    all[(all.len() * percent / 100).min(all.len() - 1)]
}
