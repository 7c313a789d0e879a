//! Every line once, and in order, whatever happens to the server and to the engine's files.

use std::time::{Duration, Instant};

use windlass_testing::Kind;

use super::support::*;

/// The engine keeps three files of ten million bytes.
const ROTATING: [&str; 4] = ["--engine-log-mib", "10", "--engine-log-files", "3"];
const FILES: [&str; 2] = ["--log-source", "auto"];
const ENGINE: [&str; 2] = ["--log-source", "engine"];

#[tokio::test(flavor = "multi_thread")]
async fn through_rotation_and_a_kill() {
    each_line_once(Kind::Sqlite, &FILES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn through_rotation_and_a_kill_without_files() {
    each_line_once(Kind::Sqlite, &ENGINE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn through_rotation_and_a_kill_on_postgres() {
    each_line_once(Kind::Postgres, &FILES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_dropped_is_one_gap() {
    one_gap(&FILES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_engine_dropped_is_one_gap_without_files() {
    one_gap(&ENGINE).await;
}

async fn each_line_once(kind: Kind, source: &[&str]) {
    const COUNT: u64 = 200_000;
    let mut printer = Printer::on(kind, &[&ROTATING[..], source].concat()).await;
    printer.print(&format!("count={COUNT}&bytes=30")).await;
    printer.until_number(COUNT / 10).await;
    printer.platform.kill_server();
    printer.platform.start_server(None);
    let reached = printer.last_number();
    assert!(reached < COUNT, "it was killed when everything was stored");
    printer.until_number(COUNT).await;
    let lines = printer.download();
    let numbers: Vec<u64> = lines.iter().filter_map(|line| number(&line.text)).collect();
    assert_numbers(&numbers, &(1..=COUNT).collect::<Vec<_>>());
    assert!(!lines.iter().any(|line| line.text.contains("missing")), "there is no gap");
}

async fn one_gap(source: &[&str]) {
    const COUNT: u64 = 300_000;
    let mut printer = Printer::on(Kind::Sqlite, &[&ROTATING[..], source].concat()).await;
    printer.print("count=1000&bytes=100").await;
    printer.until_number(1_000).await;
    printer.platform.kill_server();
    printer.print(&format!("from=1001&count={COUNT}&bytes=100")).await;
    let container = containers_of(&printer.application).remove(0);
    let last = format!("line {} ", 1_000 + COUNT);
    let deadline = Instant::now() + LONG;
    while !docker(&["logs", "--tail", "1", &container]).starts_with(&last) {
        assert!(Instant::now() < deadline, "the application prints forever");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    printer.platform.start_server(None);
    printer.until_number(1_000 + COUNT).await;
    let lines = printer.download();
    let gaps: Vec<usize> = (0..lines.len())
        .filter(|&index| lines[index].stream == "windlass" && lines[index].text.contains("missing"))
        .collect();
    let [gap] = gaps[..] else { panic!("not one gap: {:?}", gaps.iter().map(|&gap| &lines[gap]).collect::<Vec<_>>()) };
    // Between two moments.
    assert_eq!(lines[gap].text.matches("T").count(), 2, "{:?}", lines[gap]);
    let numbers = |lines: &[Downloaded]| lines.iter().filter_map(|line| number(&line.text)).collect::<Vec<_>>();
    let (before, after) = (numbers(&lines[..gap]), numbers(&lines[gap..]));
    assert_numbers(&before, &(1..=1_000).collect::<Vec<_>>());
    assert_numbers(&after, &(1_001 + COUNT - after.len() as u64..=1_000 + COUNT).collect::<Vec<_>>());
    // All that the engine still had.
    let kept = docker(&["logs", &container]).lines().filter_map(number).count();
    assert_eq!(after.len(), kept);
    assert!(kept > 50_000, "{kept}");
}

fn assert_numbers(found: &[u64], expected: &[u64]) {
    let differ = found.iter().zip(expected).position(|(found, expected)| found != expected);
    if let Some(index) = differ {
        let near = &found[index.saturating_sub(2)..(index + 3).min(found.len())];
        panic!("expected {} at {index}, found {near:?}", expected[index]);
    }
    assert_eq!(found.len(), expected.len());
}
