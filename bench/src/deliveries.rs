//! Deliveries of a code host, beside a bare handler that checks the signature and stores them; and a push until it is served,
//! beside the same deployment by the API.

use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_testing::deliveries::{Sample, sample};
use windlass_testing::testapp;

use crate::deploy::{Platform, commit};
use crate::http::{Caller, read_answer};
use crate::process::Process;
use crate::report::median;

/// What the baseline knows of all repositories.
pub const BARE_SECRET: &str = "the secret of the baseline";

const APPLICATIONS: usize = 20;
const CONNECTIONS: usize = 64;
/// Deliveries a second, and how many in all.
const OFFERED: (usize, usize) = (200, 2_000);
/// Enough for [`LIMIT`].
const MOST: usize = 12_000;
const LIMIT: Duration = Duration::from_secs(8);
/// Odd, so that the median is a measured round.
const ROUNDS: usize = 7;

#[tokio::main]
pub async fn measure() {
    testapp::base_image().await;
    let url =
        std::env::var("TEST_DATABASE_URL").expect("run `scripts/bench deliveries`: it starts a PostgreSQL server");
    let report = json!({ "sqlite": rates(None), "postgres": rates(Some(&url)), "push": push_to_served() });
    crate::report::write(Path::new("bench/results/deliveries.json"), &report);
    println!("{}", serde_json::to_string_pretty(&report).expect("JSON"));
}

/// Whose repository was pushed to.
struct Receiver {
    repository: String,
    secret: String,
}

/// What the pushes are.
#[derive(Clone, Copy)]
enum Pushes {
    /// To a branch that is not deployed: verified, judged and stored.
    Ignored,
    /// Each of another commit of the branch that is deployed: a deployment is queued as well.
    Accepted,
}

fn rates(url: Option<&str>) -> Value {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (windlass, _) = Process::windlass(folder.path(), url);
    let caller = Caller::register(windlass.port);
    let receivers: Vec<Receiver> = (0..APPLICATIONS).map(|number| receiver(&caller, number)).collect();
    let bare = Process::bare(&folder.path().join("windlass.db"), url);
    let (template, mut made) = (sample("github", "push-branch"), 0);
    let mut prepare = |pushes, count, secret: Option<&str>| -> Vec<Vec<u8>> {
        made += count;
        let receiver = |number| &receivers[number % APPLICATIONS];
        (made - count..made).map(|number| request(&template, receiver(number), pushes, number, secret)).collect()
    };
    let (rate, count) = OFFERED;
    let offered = |port, requests: Vec<Vec<u8>>| send(port, &requests, Some(rate));
    let offered_bare = offered(bare.port, prepare(Pushes::Ignored, count, Some(BARE_SECRET)));
    let offered_ignored = offered(windlass.port, prepare(Pushes::Ignored, count, None));
    let most = |port, requests: Vec<Vec<u8>>| send(port, &requests, None);
    let most_bare = most(bare.port, prepare(Pushes::Ignored, MOST, Some(BARE_SECRET)));
    let most_ignored = most(windlass.port, prepare(Pushes::Ignored, MOST, None));
    // Last, because the deployments that they queue go on.
    let offered_accepted = offered(windlass.port, prepare(Pushes::Accepted, count, None));
    let most_accepted = most(windlass.port, prepare(Pushes::Accepted, MOST, None));
    let rates = json!({
        "offered_200_a_second": { "bare": offered_bare, "ignored": offered_ignored, "accepted": offered_accepted },
        "most": { "bare": most_bare, "ignored": most_ignored, "accepted": most_accepted },
    });
    println!("{rates:#}");
    rates
}

/// An application whose repository cannot be fetched: what is measured ends when the deployment is queued.
fn receiver(caller: &Caller, number: usize) -> Receiver {
    let repository = format!("http://127.0.0.1:1/team/app-{number}.git");
    let body = json!({ "name": format!("app-{number}"), "repository": repository, "branch": "main" });
    let application = caller.post("/deploy/application", &body);
    let id = application["id"].as_str().expect("an id");
    let webhook = caller.get(&format!("/deploy/application/{id}/webhook"));
    Receiver { repository, secret: webhook["secret"].as_str().expect("a secret").to_owned() }
}

/// A push as GitHub tells it, ready to be written to a connection.
fn request(template: &Sample, receiver: &Receiver, pushes: Pushes, number: usize, secret: Option<&str>) -> Vec<u8> {
    let branch = match pushes {
        Pushes::Ignored => "other",
        Pushes::Accepted => "main",
    };
    let push = pushed(template, &receiver.repository, branch, number);
    signed(&push.with_id(&format!("delivery-{number}")), secret.unwrap_or(&receiver.secret))
}

fn pushed(template: &Sample, repository: &str, branch: &str, number: usize) -> Sample {
    let mut push = template.clone();
    push.body["ref"] = json!(format!("refs/heads/{branch}"));
    let commit = json!(format!("{:040x}", number + 1));
    (push.body["after"], push.body["head_commit"]["id"]) = (commit.clone(), commit);
    push.body["repository"]["clone_url"] = json!(repository);
    push.body["repository"]["pushed_at"] = json!(1_772_532_000 + number);
    push
}

fn signed(push: &Sample, secret: &str) -> Vec<u8> {
    let body = push.bytes();
    let mut text = format!("POST /api/v1/webhook HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in
        push.signed(secret, &body).iter().filter(|(name, _)| name != "content-length" && name != "host")
    {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    [text.as_bytes(), &body].concat()
}

/// Sends them over many connections, each as soon as a connection is free or, with a rate, when it is due; what is late then counts as time
/// to the answer.
fn send(port: u16, requests: &[Vec<u8>], rate: Option<usize>) -> Value {
    let (next, times) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
                stream.set_nodelay(true).expect("a connection");
                let mut stream = BufReader::new(stream);
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(request) = requests.get(number) else { break };
                    let due = rate
                        .map_or_else(Instant::now, |rate| began + Duration::from_secs_f64(number as f64 / rate as f64));
                    std::thread::sleep(due.saturating_duration_since(Instant::now()));
                    if rate.is_none() && began.elapsed() > LIMIT {
                        break;
                    }
                    stream.get_mut().write_all(request).expect("a request");
                    let (status, body) = read_answer(&mut stream);
                    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
                    times.lock().expect("no thread has failed").push(due.elapsed().as_secs_f64() * 1_000.0);
                }
            });
        }
    });
    let seconds = began.elapsed().as_secs_f64();
    let mut times = times.into_inner().expect("no thread has failed");
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    json!({ "a_second": times.len() as f64 / seconds, "median_ms": at(0.5), "p99_ms": at(0.99) })
}

/// Seconds from the delivery, and from the call, until visitors get the new commit.
fn push_to_served() -> Value {
    let platform = Platform::start(&[]);
    let repository = platform.repository("pushed");
    commit(&repository, "first");
    let body = json!({ "name": "pushed", "repository": repository.url(), "branch": "main", "stop_seconds": 1 });
    let application = platform.caller.post("/deploy/application", &body);
    platform.until_served("pushed.localhost", "first");
    let id = application["id"].as_str().expect("an id");
    let webhook = platform.caller.get(&format!("/deploy/application/{id}/webhook"));
    let secret = webhook["secret"].as_str().expect("a secret");
    let template = sample("github", "push-branch");
    let (mut by_push, mut by_api) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let version = format!("pushed-{round}");
        commit(&repository, &version);
        let push = pushed(&template, repository.url(), "main", round).with_id(&version);
        let request = signed(&push, secret);
        let asked = Instant::now();
        send(platform.process.port, &[request], None);
        platform.until_served("pushed.localhost", &version);
        by_push.push(asked.elapsed().as_secs_f64());
        let version = format!("called-{round}");
        commit(&repository, &version);
        let asked = Instant::now();
        platform.caller.post("/deploy/application", &body);
        platform.until_served("pushed.localhost", &version);
        by_api.push(asked.elapsed().as_secs_f64());
    }
    json!({ "median_push_s": median(by_push), "median_api_s": median(by_api) })
}
