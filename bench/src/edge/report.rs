//! What was measured of the edge: JSON for machines, tables for people.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::edge::certificates::{Start, Starts};
use crate::edge::connections::Memory;
use crate::edge::control::Swap;
use crate::edge::rounds::{Comparison, Round};
use crate::report::{self, median};

#[derive(Default)]
pub struct Report {
    /// Of the peers.
    pub versions: [String; 3],
    pub comparisons: Vec<Comparison>,
    pub swaps: Vec<Swap>,
    pub memory: Vec<Memory>,
    pub certificates: Vec<Starts>,
}

impl Report {
    pub fn write(&self, path: &Path) {
        let rounds = |comparison: &Comparison| -> Map<String, Value> {
            comparison.contenders.iter().map(|(name, rounds)| ((*name).to_owned(), json!(rounds))).collect()
        };
        let comparisons: Map<String, Value> = self
            .comparisons
            .iter()
            .map(|comparison| (comparison.name.clone(), Value::Object(rounds(comparison))))
            .collect();
        let results = json!({
            "versions": self.versions, "comparisons": comparisons, "swaps": self.swaps, "memory": self.memory,
            "certificates": self.certificates,
        });
        report::write(path, &results);
    }

    /// Of what was measured.
    pub fn table(&self) -> String {
        let mut text = format!("{}\n", self.versions.join("; "));
        if !self.comparisons.is_empty() {
            text.push_str(
                "\n| What | Who | req/s | ratio | p99, ms | CPU, % | failed |\n|---|---|---|---|---|---|---|\n",
            );
            self.comparisons.iter().for_each(|comparison| add_comparison(&mut text, comparison));
        }
        if !self.swaps.is_empty() {
            text.push_str("\n| A new table of 10,000 hosts | median, ms | most, ms |\n|---|---|---|\n");
            let times = |figure: fn(&Swap) -> Option<f64>| self.swaps.iter().filter_map(figure).collect();
            add_times(&mut text, "round trip", times(|swap| Some(swap.round_trip_us)));
            add_times(&mut text, "building it", times(|swap| swap.build_us));
            add_times(&mut text, "swapping it in", times(|swap| swap.swap_us));
        }
        if !self.memory.is_empty() {
            text.push_str(
                "\n| Over | Who | memory idle, MB | with 10,000 connections, MB | a connection, KB | ratio |\n\
                 |---|---|---|---|---|---|\n",
            );
            self.memory.iter().for_each(|memory| add_memory(&mut text, memory, &self.memory));
        }
        if !self.certificates.is_empty() {
            text.push_str(
                "\n| Certificates | start to first handshake, ms | most, ms | memory, MB | most while starting, MB |\n\
                 |---|---|---|---|---|\n",
            );
            self.certificates.iter().for_each(|starts| add_starts(&mut text, starts));
        }
        text
    }
}

/// The ratio is to the first server over the same scheme.
fn add_memory(text: &mut String, memory: &Memory, all: &[Memory]) {
    let Memory { scheme, name, idle_mb, connected_mb } = memory;
    let each = memory.of_each_kb();
    let first = all.iter().find(|first| first.scheme == *scheme).map_or(each, Memory::of_each_kb);
    let _ =
        writeln!(text, "| {scheme} | {name} | {idle_mb:.1} | {connected_mb:.1} | {each:.1} | {:.2} |", each / first);
}

fn add_starts(text: &mut String, Starts { name, starts }: &Starts) {
    let all = |figure: fn(&Start) -> f64| starts.iter().map(figure).collect::<Vec<_>>();
    let times = all(|start| start.first_handshake_ms);
    let most = times.iter().copied().fold(0.0, f64::max);
    let (time, resident) = (median(times), median(all(|start| start.resident_mb)));
    let peak = median(all(|start| start.peak_mb));
    let _ = writeln!(text, "| {name} | {time:.0} | {most:.0} | {resident:.1} | {peak:.1} |");
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
