//! What is measured is what the engine and the visitors say.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_api::Timestamp;
use windlass_testing::{Kind, testapp};

use super::several::second_server;
use super::support::*;
use super::visitor::Visitor;

/// Long enough for some looks.
const WATCHED: Duration = Duration::from_secs(35);
const LIMIT: Duration = Duration::from_secs(90);
const MEGABYTES: f64 = 1_048_576.0;

/// Thirty percent of a processor, in a process beside the application, and memory that stays.
const BURN: &str = "x=$(head -c 30000000 /dev/zero | tr '\\0' x); while :; do :; done & exec /testapp";

fn figures(platform: &Platform, application: &str, query: &str) -> Value {
    platform.call("GET", &format!("/deploy/application/{application}/figures?{query}"), &Value::Null)
}

fn numbers(figures: &Value, line: &str) -> Vec<f64> {
    figures["lines"][line].as_array().expect("a line").iter().filter_map(Value::as_f64).collect()
}

fn sum(figures: &Value, line: &str) -> f64 {
    numbers(figures, line).iter().sum()
}

/// What the engine says over its API: the time of processors in microseconds, and memory as its own program shows it.
fn engine_says(container: &str) -> (Instant, f64, f64) {
    let host = std::env::var("DOCKER_HOST").unwrap_or_else(|_| "unix:///var/run/docker.sock".into());
    let socket = host.strip_prefix("unix://").expect("a socket");
    let url = format!("http://docker/containers/{container}/stats?stream=false&one-shot=true");
    let output = Command::new("curl").args(["-s", "--max-time", "20", "--unix-socket", socket, &url]).output();
    let output = output.expect("curl starts");
    let at = Instant::now();
    let said: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let number = |value: &Value| value.as_f64().expect("a number");
    let memory = &said["memory_stats"];
    let unused = ["total_inactive_file", "inactive_file"].iter().find_map(|name| memory["stats"][*name].as_f64());
    let cpu_us = number(&said["cpu_stats"]["cpu_usage"]["total_usage"]) / 1_000.0;
    (at, cpu_us, number(&memory["usage"]) - unused.unwrap_or_default())
}

fn now() -> Timestamp {
    let since = std::time::UNIX_EPOCH.elapsed().expect("a time after 1970");
    Timestamp::from_micros(i64::try_from(since.as_micros()).expect("a time"))
}

fn is_within(percent: f64, one: f64, other: f64) -> bool {
    (one - other).abs() <= other.abs() * percent / 100.0
}

async fn deployed(platform: &Platform, name: &str, lines: &str) -> (String, String) {
    let repository = platform.git.repository(name);
    repository.commit(&[("Dockerfile", &testapp::dockerfile(lines)), ("version", "one")], "one");
    let mut body = body(name, &repository);
    body["cpu_millis"] = json!(300);
    let application = platform.deploy(&body);
    platform.deployed(&newest_deployment(&application)).await;
    platform.settled().await;
    let id = id_of(&application);
    let container = containers_of(&id).pop().expect("a container");
    (id, container)
}

/// Waits until points of so many seconds are there.
async fn measured(platform: &Platform, id: &str, line: &str, points: usize) -> Value {
    until_within(LIMIT, "it is measured", async || {
        let figures = figures(platform, id, "");
        (numbers(&figures, line).len() >= points).then_some(figures)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn processor_and_memory_are_what_the_engine_says() {
    let platform = Platform::start().await;
    let lines = format!("ENTRYPOINT [\"/bin/sh\", \"-c\", \"{}\"]", BURN.replace('\\', "\\\\").replace('"', "\\\""));
    let (id, container) = deployed(&platform, "burner", &lines).await;
    measured(&platform, &id, "cpu_millis", 1).await;
    let (began, cpu_before, _) = engine_says(&container);
    let from = now();
    tokio::time::sleep(WATCHED).await;
    let (ended, cpu_after, memory) = engine_says(&container);
    let share = (cpu_after - cpu_before) / (ended - began).as_secs_f64() / 1_000.0;
    // The points that lie within the time.
    let told = figures(&platform, &id, &format!("from={from}"));
    let cpu = numbers(&told, "cpu_millis");
    let average = cpu[1..].iter().sum::<f64>() / (cpu.len() - 1) as f64;
    println!(
        "the engine says {share:.1} thousandths of a processor and {memory} bytes, the figures {cpu:?} on average {average:.1}"
    );
    assert!(share > 200.0, "it burns: {share}");
    assert!(is_within(5.0, average, share), "{average} and {share}");
    let told_memory = numbers(&told, "memory_bytes").pop().expect("memory");
    assert!(memory > 28.0 * MEGABYTES && is_within(5.0, told_memory, memory), "{told_memory} and {memory}");
    let line = platform.application(&id)["figures"].clone();
    let now = line["cpu_millis"].as_f64().expect("a number");
    assert!(is_within(10.0, now, share), "{now} and {share}");
    let warnings = platform.process().ok("GET", "/health", "", "")["data"]["warnings"].to_string();
    assert!(!warnings.contains("figures"), "{warnings}");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_to_the_last_one_and_errors_are_among_them() {
    let platform = Platform::start().await;
    let (id, _) = deployed(&platform, "counted", "").await;
    measured(&platform, &id, "requests", 1).await;
    let before = sum(&figures(&platform, &id, ""), "requests");
    let mut visitor = Visitor::new(platform.edge().await, "counted.localhost");
    let began = Instant::now();
    let mut visits = 0;
    while visits < 57 || began.elapsed() < Duration::from_secs(12) {
        let path = if visits % 10 == 0 { "/slow?ms=30" } else { "/" };
        assert_eq!(visitor.get(path).await.expect("an answer").0, 200);
        visits += 1;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let told = until_within(LIMIT, "all visits are counted", async || {
        let told = figures(&platform, &id, "");
        (sum(&told, "requests") - before >= f64::from(visits)).then_some(told)
    })
    .await;
    assert_eq!(sum(&told, "requests") - before, f64::from(visits));
    assert_eq!(sum(&told, "errors"), 0.0);
    let p99 = numbers(&told, "p99_ms").into_iter().fold(0.0, f64::max);
    assert!((25.0..1_000.0).contains(&p99), "{p99}");
    // They were all asked of the one instance.
    let instance = told["instances"][0]["id"].as_str().expect("an instance").to_owned();
    let of_instance = figures(&platform, &id, &format!("instance_id={instance}"));
    assert!(sum(&of_instance, "requests") >= f64::from(visits), "{of_instance}");
    let metrics = platform.process().metrics(platform.token());
    assert!(metrics.contains(&format!("windlass_application_requests_total{{application=\"{id}\"}}")), "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_is_counted_and_nothing_is_negative() {
    let platform = Platform::start().await;
    let (id, _) = deployed(&platform, "falling", "").await;
    measured(&platform, &id, "cpu_millis", 2).await;
    let restarts = sum(&figures(&platform, &id, ""), "restarts");
    let _ = Visitor::new(platform.edge().await, "falling.localhost").get("/exit?code=3").await;
    let told = until_within(LIMIT, "the restart is counted", async || {
        let told = figures(&platform, &id, "");
        (sum(&told, "restarts") > restarts).then_some(told)
    })
    .await;
    assert_eq!(sum(&told, "restarts"), restarts + 1.0);
    let lines = told["lines"].as_object().expect("lines");
    for (name, line) in lines {
        let line: Vec<f64> = line.as_array().expect("a line").iter().filter_map(Value::as_f64).collect();
        assert!(line.iter().all(|number| *number >= 0.0), "{name}: {line:?}");
    }
}

/// Neither a server that was killed nor one that another took the place of tells a use that was not.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_was_down_leaves_a_gap() {
    let mut platform = Platform::start().await;
    let (id, _) = deployed(&platform, "watched", "").await;
    measured(&platform, &id, "requests", 2).await;
    platform.kill_server();
    let visits = 20;
    for _ in 0..visits {
        assert_eq!(platform.visit("watched.localhost", "/").await.0, 200);
    }
    tokio::time::sleep(Duration::from_secs(21)).await;
    platform.start_server(None);
    let before = numbers(&figures(&platform, &id, ""), "requests").len();
    let told = measured(&platform, &id, "requests", before + 1).await;
    let line = told["lines"]["requests"].as_array().expect("a line").clone();
    let first = line.iter().position(|number| !number.is_null()).expect("a point");
    assert!(line[first..].iter().any(Value::is_null), "{line:?}");
    assert!(sum(&told, "requests") < f64::from(visits), "what no server watched is not counted: {line:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_measure_a_container_once_and_count_the_visitors_of_both() {
    let platform = Platform::on(Kind::Postgres, &[]).await;
    let (id, container) = deployed(&platform, "shared", "").await;
    let (home, other) = second_server(&platform);
    measured(&platform, &id, "requests", 2).await;
    let other_edge = edge_of(home.path()).await;
    until("the other edge serves it", async || {
        let answer = Visitor::new(other_edge, "shared.localhost").get("/").await;
        answer.is_ok_and(|(status, _)| status == 200).then_some(())
    })
    .await;
    tokio::time::sleep(Duration::from_secs(21)).await;
    let before = sum(&figures(&platform, &id, ""), "requests");
    for _ in 0..10 {
        assert_eq!(Visitor::new(other_edge, "shared.localhost").get("/").await.expect("an answer").0, 200);
        assert_eq!(platform.visit("shared.localhost", "/").await.0, 200);
    }
    let told = until_within(LIMIT, "the visits of both are counted", async || {
        let told = figures(&platform, &id, "");
        (sum(&told, "requests") - before >= 20.0).then_some(told)
    })
    .await;
    assert_eq!(sum(&told, "requests") - before, 20.0);
    let (_, _, memory) = engine_says(&container);
    let told_memory = numbers(&told, "memory_bytes").pop().expect("memory");
    assert!((told_memory - memory).abs() < memory / 20.0 + MEGABYTES, "{told_memory} and {memory}");
    drop(other);
}
