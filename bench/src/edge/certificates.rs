//! The edge with as many certificates as it takes: how soon it shows the last of them, and its memory.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::ROUNDS;
use crate::edge::peers::windlass;
use crate::edge::tls::{Certificate, Issuer};
use crate::edge::{HOSTS, routes};

/// Within this it has given back what it needed to start.
const REST: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize)]
pub struct Start {
    pub first_handshake_ms: f64,
    pub resident_mb: f64,
    pub peak_mb: f64,
}

#[derive(Debug, Serialize)]
pub struct Starts {
    pub name: &'static str,
    pub starts: Vec<Start>,
}

/// All tables have the same hosts; the first has one certificate, for what the others are to be compared with.
pub fn measure(folder: &Path, upstream: u16) -> Vec<Starts> {
    let kinds = [("1", HOSTS - 1, false), ("10,000", 0, false), ("10,000, each with its issuer's", 0, true)];
    let measure = |(name, first, with_issuer)| {
        println!("edge: {ROUNDS} starts with {name} certificates …");
        let table = table(upstream, first, with_issuer);
        Starts { name, starts: (0..ROUNDS).map(|_| start(folder, &table)).collect() }
    };
    kinds.into_iter().map(measure).collect()
}

/// With certificates from this host on.
fn table(upstream: u16, first: usize, with_issuer: bool) -> Value {
    let issuer = Issuer::new();
    let issue = |number| (routes::host(number), issuer.issue(&routes::host(number), with_issuer));
    let certificates: Vec<(String, Certificate)> = (first..HOSTS).map(issue).collect();
    let certificates = certificates.iter().map(|(host, certificate)| (host.clone(), certificate));
    routes::with_certificates(routes::hosts(HOSTS, upstream, 0), certificates)
}

fn start(folder: &Path, table: &Value) -> Start {
    let (edge, time) = windlass::edge_until_handshake(folder, table, &routes::host(HOSTS - 1));
    std::thread::sleep(REST);
    Start {
        first_handshake_ms: time.as_secs_f64() * 1e3,
        resident_mb: edge.process.resident_mb(),
        peak_mb: edge.process.peak_mb(),
    }
}
