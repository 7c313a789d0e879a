//! Measures Windlass beside a bare axum server that runs the same SQL on the same kind of pool, and its edge beside
//! nginx, Caddy and HAProxy, each in the same run.
//!
//! `windlass-bench` does everything and writes `bench/results/http.json` and `bench/results/edge.json`;
//! `windlass-bench bare …` is the baseline itself, `windlass-bench handshakes …` a load of new encrypted connections;
//! `windlass-bench audit` measures the audit log alone, and `windlass-bench edge` the edge alone, or a part of that; `windlass-bench deploy` measures deployments, `windlass-bench data` volumes and
//! `windlass-bench logs` log lines, with an engine of their own; `windlass-bench extensions` measures executions, and
//! `windlass-bench deliveries` what code hosts send, and `windlass-bench notices` what is sent to people.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a measurement that cannot be made stops here and says so"
)]

mod audit;
mod bare;
mod data;
mod deliveries;
mod deploy;
mod edge;
mod extensions;
mod http;
mod load;
mod logs;
mod notices;
mod process;
mod report;
mod seed;
mod silent;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;
use windlass_store::{Db, Options};

use crate::load::{Endpoint, Load};
use crate::process::Process;
use crate::report::{Figures, Report};

/// Odd, so that the median is a measured round.
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("bare") => bare::serve(&arguments[1..]),
        Some("audit") => compare(&[]),
        Some("data") => data::measure(),
        Some("deliveries") => deliveries::measure(),
        Some("deploy") => deploy::measure(),
        Some("edge") => edge::measure(&arguments[1..]),
        Some("handshakes") => edge::handshakes::load(&arguments[1..]),
        Some("extensions") => extensions::measure(),
        Some("logs") => logs::measure(),
        Some("notices") => notices::measure(),
        _ => {
            compare(&Endpoint::ALL);
            edge::measure(&[]);
        }
    }
}

#[tokio::main]
async fn compare(endpoints: &[Endpoint]) {
    let mut report = Report::default();
    let url = std::env::var("TEST_DATABASE_URL").expect("run `make bench`: it starts a PostgreSQL server");
    for (name, url) in [("sqlite", None), ("postgres", Some(url.as_str()))] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        report.databases.push((name, measure(name, &folder, url, endpoints).await));
    }
    let file = if endpoints.is_empty() { "bench/results/audit.json" } else { "bench/results/http.json" };
    report.write(Path::new(file));
    println!("{}", report.table());
}

async fn measure(name: &str, folder: &TempDir, url: Option<&str>, endpoints: &[Endpoint]) -> Figures {
    println!("{name}: filling with {} organizations of {} members …", seed::ORGANIZATIONS, seed::MEMBERS);
    let file = folder.path().join("windlass.db");
    // The first start makes the schema and the master key; a filled database would not get one.
    drop(Process::windlass(folder.path(), url));
    let db = open(&file, url).await;
    let tokens = seed::fill(&db).await;
    db.close().await;
    analyze(url);

    let script = Load::new(folder.path(), &tokens);
    let mut figures = Figures::default();
    let (windlass, start) = Process::windlass(folder.path(), url);
    let bare = Process::bare(&file, url);
    tokio::time::sleep(Duration::from_secs(2)).await;
    figures.start_ms = start.as_secs_f64() * 1_000.0;
    figures.idle_mb = windlass.resident_mb();
    for endpoint in endpoints.iter().copied() {
        println!("{name}: {} …", endpoint.name());
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            // Interleaved: whatever else the machine does affects both.
            rounds.push((script.run(endpoint, bare.port), script.run(endpoint, windlass.port)));
        }
        figures.endpoints.push((endpoint.name(), rounds));
    }
    figures.load_mb = windlass.peak_mb();
    if !endpoints.is_empty() {
        println!("{name}: beside {} silent connections …", silent::CONNECTIONS);
        for _ in 0..ROUNDS {
            let without = script.run(Endpoint::OrganizationUsers, windlass.port);
            let silent = silent::open(windlass.port).await;
            figures.silent.push((without, script.run(Endpoint::OrganizationUsers, windlass.port)));
            drop(silent);
        }
    }
    println!("{name}: the audit log, {} entries …", audit::ENTRIES);
    let db = open(&file, url).await;
    audit::fill(&db, seed::FIRST_ORGANIZATION).await;
    db.close().await;
    analyze(url);
    figures.audit = audit::measure(windlass.port, &tokens[0]);
    figures
}

/// What PostgreSQL does by itself within minutes of being filled: without it the first plans are guesses.
fn analyze(url: Option<&str>) {
    if let Some(url) = url {
        let analyzed = Command::new("psql").args(["-q", "-c", "analyze", url]).status();
        assert!(analyzed.expect("psql runs").success(), "the statistics could not be gathered");
    }
}

pub async fn open(file: &Path, url: Option<&str>) -> Db {
    let options = |connections| Options { connections, wait: Duration::from_secs(5) };
    match url {
        None => Db::sqlite(file, options(4)).await,
        Some(url) => Db::postgres(url, options(16)).await,
    }
    .expect("the database opens")
}
