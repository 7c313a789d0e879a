//! Extensions: what a step costs beside the same command by hand, how fast output is taken, and pages of a thousand extensions.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::deploy::{Platform, median};

const ROUNDS: usize = 5;
const STEPS: usize = 100;
/// All of it is stored: a step keeps 16 MiB.
const STORED: u64 = 15_000_000;
/// Most of it is read and counted only.
const PRINTED: u64 = 200_000_000;
const EXTENSIONS: usize = 1_000;
const PAGES: usize = 200;
const DEADLINE: Duration = Duration::from_secs(300);

#[tokio::main]
pub async fn measure() {
    let platform = Platform::start(&["--organization-extensions", "2000"]);
    let report = json!({ "steps": steps(&platform), "output": output(&platform), "pages": pages(&platform) });
    let text = serde_json::to_string_pretty(&report).expect("JSON");
    std::fs::create_dir_all("bench/results").expect("a folder");
    std::fs::write("bench/results/extensions.json", &text).expect("a file");
    println!("{text}");
}

/// Milliseconds for each of many steps that do nothing, and for the same commands by hand.
fn steps(platform: &Platform) -> Value {
    let step = |number| format!("    - {{ name: step {number}, type: command, properties: {{ cmd: \"true\" }} }}\n");
    create(platform, "steps", &(0..STEPS).map(step).collect::<String>());
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let each = |began: Instant| began.elapsed().as_secs_f64() * 1000.0 / STEPS as f64;
        let began = Instant::now();
        run(platform, "steps");
        let step = each(began);
        let began = Instant::now();
        for _ in 0..STEPS {
            by_hand("true");
        }
        rounds.push((step, each(began)));
    }
    let (step, hand) = (middle(&rounds, |round| round.0), middle(&rounds, |round| round.1));
    json!({ "median_step_ms": step, "median_by_hand_ms": hand, "overhead_ms": step - hand })
}

/// MB a second, beside a pipe that nothing is kept of.
fn output(platform: &Platform) -> Value {
    let command = |bytes| format!("yes 'a line of some sixty characters, as programs like to print' | head -c {bytes}");
    for (name, bytes) in [("stored", STORED), ("printed", PRINTED)] {
        create(
            platform,
            name,
            &format!("    - {{ name: print, type: command, properties: {{ cmd: \"{}\" }} }}\n", command(bytes)),
        );
    }
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let speed = |bytes: u64, began: Instant| bytes as f64 / 1e6 / began.elapsed().as_secs_f64();
        let began = Instant::now();
        run(platform, "stored");
        let stored = speed(STORED, began);
        let began = Instant::now();
        run(platform, "printed");
        let printed = speed(PRINTED, began);
        let began = Instant::now();
        by_hand(&format!("{} | cat > /dev/null", command(PRINTED)));
        rounds.push((stored, printed, speed(PRINTED, began)));
    }
    json!({
        "median_stored_mb_s": middle(&rounds, |round| round.0), "median_printed_mb_s": middle(&rounds, |round| round.1),
        "median_pipe_mb_s": middle(&rounds, |round| round.2),
    })
}

/// Milliseconds until a page of 50 is there, of so many that there are more pages than one asks for.
fn pages(platform: &Platform) -> Value {
    for number in 0..EXTENSIONS {
        create(
            platform,
            &format!("page-{number}"),
            "    - { name: one, type: command, properties: { cmd: \"true\" } }\n",
        );
    }
    let mut times = Vec::new();
    for number in 0..PAGES {
        let began = Instant::now();
        let page = platform.caller.get(&format!("/extensions?page={}&page_size=50", number % 20 + 1));
        times.push(began.elapsed().as_secs_f64() * 1000.0);
        assert_eq!(page["extensions"].as_array().expect("a page").len(), 50, "{page}");
    }
    times.sort_by(f64::total_cmp);
    json!({ "extensions": EXTENSIONS, "page_size": 50, "median_ms": times[PAGES / 2], "p99_ms": times[PAGES * 99 / 100] })
}

fn create(platform: &Platform, name: &str, steps: &str) {
    let text = format!(
        "metadata:\n  id: {name}\n  name: {name}\n  description: Measured.\n  author: Bench\n  category: Utility\n  type: run\n  \
         version: \"1.0.0\"\nexecution:\n  run:\n{steps}"
    );
    platform.caller.post("/extensions", &json!({ "yaml_content": text }));
}

/// Until it is completed.
fn run(platform: &Platform, name: &str) {
    let execution = platform.caller.post(&format!("/extensions/{name}/run"), &json!({}));
    let id = execution["id"].as_str().expect("an id");
    let until = Instant::now() + DEADLINE;
    loop {
        let shown = platform.caller.get(&format!("/extensions/execution/{id}"));
        if shown["status"] == "completed" {
            return;
        }
        let goes_on = shown["status"] == "pending" || shown["status"] == "running";
        assert!(goes_on && Instant::now() < until, "{shown}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn by_hand(command: &str) {
    let mut shell = Command::new("/bin/sh");
    let status = shell.args(["-c", command]).stdin(Stdio::null()).status().expect("a shell");
    assert!(status.success(), "{command}");
}

fn middle<T>(rounds: &[T], of: impl Fn(&T) -> f64) -> f64 {
    median(rounds.iter().map(of).collect())
}
