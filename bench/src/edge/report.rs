//! What was measured of the edge: JSON for machines, tables for people.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::edge::control::Swap;
use crate::edge::rounds::{Comparison, Round};
use crate::report::{self, median};

#[derive(Default)]
pub struct Report {
    /// Of the peers.
    pub versions: [String; 2],
    pub comparisons: Vec<Comparison>,
    pub swaps: Vec<Swap>,
    pub memory: Memory,
}

#[derive(Clone, Copy, Default, Serialize)]
pub struct Memory {
    pub idle_mb: f64,
    pub connected_mb: f64,
    pub connections: usize,
}

impl Report {
    pub fn write(&self, path: &Path) {
        let rounds = |comparison: &Comparison| -> Map<String, Value> {
            comparison.contenders.iter().map(|(name, rounds)| ((*name).to_owned(), json!(rounds))).collect()
        };
        let comparisons: Map<String, Value> = self
            .comparisons
            .iter()
            .map(|comparison| (comparison.name.to_owned(), Value::Object(rounds(comparison))))
            .collect();
        let results = json!({
            "versions": self.versions, "comparisons": comparisons, "swaps": self.swaps, "memory": self.memory,
        });
        report::write(path, &results);
    }

    pub fn table(&self) -> String {
        let mut text = format!("{}\n\n", self.versions.join("; "));
        text.push_str("| What | Who | req/s | ratio | p99, ms | CPU, % | failed |\n|---|---|---|---|---|---|---|\n");
        for comparison in &self.comparisons {
            add_comparison(&mut text, comparison);
        }
        text.push_str("\n| A new table of 10,000 hosts | median, ms | most, ms |\n|---|---|---|\n");
        let times = |figure: fn(&Swap) -> Option<f64>| self.swaps.iter().filter_map(figure).collect();
        add_times(&mut text, "round trip", times(|swap| Some(swap.round_trip_us)));
        add_times(&mut text, "building it", times(|swap| swap.build_us));
        add_times(&mut text, "swapping it in", times(|swap| swap.swap_us));
        text.push_str("\n| Memory idle, MB | with 10,000 connections, MB | a connection, KB |\n|---|---|---|\n");
        let Memory { idle_mb, connected_mb, connections } = self.memory;
        let each = (connected_mb - idle_mb) * 1_024.0 / connections as f64;
        let _ = writeln!(text, "| {idle_mb:.1} | {connected_mb:.1} | {each:.1} |");
        text
    }
}

/// Medians of the rounds; the ratio is the median of the rounds' own ratios to the first contender.
fn add_comparison(text: &mut String, comparison: &Comparison) {
    let (_, first) = &comparison.contenders[0];
    for (name, rounds) in &comparison.contenders {
        let middle = |figure: fn(&Round) -> f64| median(rounds.iter().map(figure).collect());
        let speed = |round: &Round| round.load.requests_per_second;
        let ratios = rounds.iter().zip(first).map(|(round, first)| speed(round) / speed(first));
        let _ = writeln!(
            text,
            "| {} | {name} | {:.0} | {:.2} | {:.1} | {:.0} | {} |",
            comparison.name,
            middle(speed),
            median(ratios.collect()),
            middle(|round| round.load.p99_ms),
            middle(|round| round.cpu_percent),
            rounds.iter().map(|round| round.load.failed).sum::<u64>(),
        );
    }
}

fn add_times(text: &mut String, name: &str, micros: Vec<f64>) {
    if let Some(most) = micros.iter().copied().reduce(f64::max) {
        let _ = writeln!(text, "| {name} | {:.2} | {:.2} |", median(micros) / 1e3, most / 1e3);
    }
}
