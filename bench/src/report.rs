//! What was measured: JSON for machines, a table for people.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::audit::Timing;
use crate::load::Round;

#[derive(Default)]
pub struct Report {
    pub databases: Vec<(&'static str, Figures)>,
}

#[derive(Default)]
pub struct Figures {
    pub start_ms: f64,
    pub idle_mb: f64,
    pub load_mb: f64,
    /// Pairs of (baseline, Windlass), one per round.
    pub endpoints: Vec<(&'static str, Vec<(Round, Round)>)>,
    /// Pairs of (alone, beside silent connections), one per round.
    pub silent: Vec<(Round, Round)>,
    pub audit: Vec<Timing>,
}

impl Report {
    pub fn write(&self, path: &Path) {
        let mut all = Map::new();
        for (name, figures) in &self.databases {
            let endpoints: Map<String, Value> = figures
                .endpoints
                .iter()
                .map(|(endpoint, rounds)| {
                    let (bare, windlass): (Vec<_>, Vec<_>) = rounds.iter().copied().unzip();
                    ((*endpoint).to_owned(), json!({ "bare": bare, "windlass": windlass }))
                })
                .collect();
            let sizes = json!({
                "start_ms": figures.start_ms, "idle_mb": figures.idle_mb, "load_mb": figures.load_mb, "endpoints": endpoints,
                "audit": figures.audit, "silent": figures.silent,
            });
            all.insert((*name).to_owned(), sizes);
        }
        write(path, &Value::Object(all));
    }

    /// Medians of the rounds; the ratio is the median of the rounds' own ratios.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| Database | Endpoint | bare axum, req/s | Windlass, req/s | ratio | p99 bare, ms | p99 Windlass, ms | failed |\n\
             |---|---|---|---|---|---|---|---|\n",
        );
        for (name, figures) in &self.databases {
            for (endpoint, rounds) in &figures.endpoints {
                let middle = |figure: fn(&(Round, Round)) -> f64| median(rounds.iter().map(figure).collect());
                let failed: u64 = rounds.iter().map(|(bare, windlass)| bare.failed + windlass.failed).sum();
                let _ = writeln!(
                    text,
                    "| {name} | {endpoint} | {:.0} | {:.0} | {:.2} | {:.1} | {:.1} | {failed} |",
                    middle(|(bare, _)| bare.requests_per_second),
                    middle(|(_, windlass)| windlass.requests_per_second),
                    middle(|(bare, windlass)| windlass.requests_per_second / bare.requests_per_second),
                    middle(|(bare, _)| bare.p99_ms),
                    middle(|(_, windlass)| windlass.p99_ms),
                );
            }
        }
        text.push_str(
            "\n| Database | start to first answer, ms | memory idle, MB | memory under load, MB |\n|---|---|---|---|\n",
        );
        for (name, figures) in &self.databases {
            let _ = writeln!(
                text,
                "| {name} | {:.0} | {:.1} | {:.1} |",
                figures.start_ms, figures.idle_mb, figures.load_mb
            );
        }
        text.push_str(
            "\n| Database | organizations/users: p99 alone, ms | beside 1,000 silent connections, ms | ratio |\n|---|---|---|---|\n",
        );
        for (name, figures) in self.databases.iter().filter(|(_, figures)| !figures.silent.is_empty()) {
            let middle = |figure: fn(&(Round, Round)) -> f64| median(figures.silent.iter().map(figure).collect());
            let _ = writeln!(
                text,
                "| {name} | {:.1} | {:.1} | {:.2} |",
                middle(|(alone, _)| alone.p99_ms),
                middle(|(_, beside)| beside.p99_ms),
                middle(|(alone, beside)| beside.p99_ms / alone.p99_ms),
            );
        }
        text.push_str(
            "\n| Database | audit log, 100,000 entries | matches | median, ms | p99, ms |\n|---|---|---|---|---|\n",
        );
        for (name, figures) in &self.databases {
            for Timing { name: query, median_ms, p99_ms, total_count } in &figures.audit {
                let _ = writeln!(text, "| {name} | {query} | {total_count} | {median_ms:.1} | {p99_ms:.1} |");
            }
        }
        text
    }
}

pub fn write(path: &Path, results: &Value) {
    std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("the folder for results");
    let text = serde_json::to_string_pretty(results).expect("JSON");
    std::fs::write(path, text).expect("the results");
}

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
