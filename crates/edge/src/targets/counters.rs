//! What is counted, always: per service and per target.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Upper bounds of the latency histogram, in microseconds; one more bucket holds what is slower.
pub const BOUNDS: [u64; 14] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000,
    60_000_000,
];

/// The classes of statuses.
pub const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Why a request did not get the whole answer of its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No target could be connected to.
    Connect,
    /// A target took longer than it may.
    Slow,
    /// A target ended the connection before the end of its answer.
    Closed,
    /// A target's answer was not HTTP.
    Invalid,
    /// The visitor left before the end.
    VisitorGone,
    /// The visitor's body was malformed, too large or too slow.
    VisitorBody,
    /// Ended by the deadline of a drain.
    Cut,
}

impl Cause {
    pub const ALL: [Self; 7] =
        [Self::Connect, Self::Slow, Self::Closed, Self::Invalid, Self::VisitorGone, Self::VisitorBody, Self::Cut];

    pub fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Slow => "slow",
            Self::Closed => "closed",
            Self::Invalid => "invalid",
            Self::VisitorGone => "visitor_gone",
            Self::VisitorBody => "visitor_body",
            Self::Cut => "cut",
        }
    }
}

#[derive(Debug, Default)]
pub struct Counters {
    requests: AtomicU64,
    /// By the first digit of the status.
    statuses: [AtomicU64; CLASSES.len()],
    failures: [AtomicU64; Cause::ALL.len()],
    received_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    retries: AtomicU64,
    in_flight: AtomicU64,
    upgrades: AtomicU64,
    /// Requests that waited because their service was held, and for how long.
    held: AtomicU64,
    held_us: AtomicU64,
    longest_held_us: AtomicU64,
    /// From the request's head to the answer's.
    latency: [AtomicU64; BOUNDS.len() + 1],
    latency_us: AtomicU64,
}

impl Counters {
    pub fn begun(&self) {
        self.requests.fetch_add(1, Relaxed);
        self.in_flight.fetch_add(1, Relaxed);
    }

    pub fn answered(&self, status: u16, took: Duration) {
        let class = usize::from(status / 100).clamp(1, 5) - 1;
        self.statuses[class].fetch_add(1, Relaxed);
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        self.latency[bucket].fetch_add(1, Relaxed);
        self.latency_us.fetch_add(micros, Relaxed);
    }

    pub fn failed(&self, cause: Cause) {
        self.failures[cause as usize].fetch_add(1, Relaxed);
    }

    pub fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }

    pub fn ended(&self, received: u64, sent: u64) {
        self.received_bytes.fetch_add(received, Relaxed);
        self.sent_bytes.fetch_add(sent, Relaxed);
        self.in_flight.fetch_sub(1, Relaxed);
    }

    pub fn in_flight(&self) -> u64 {
        self.in_flight.load(Relaxed)
    }

    pub fn upgraded(&self) {
        self.upgrades.fetch_add(1, Relaxed);
    }

    /// A request begins to wait because its service is held. Counted now, so that the figure is whole in the moment in which
    /// they are let through.
    pub fn waits(&self) {
        self.held.fetch_add(1, Relaxed);
    }

    /// It waits no longer.
    pub fn waited(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.held_us.fetch_add(micros, Relaxed);
        self.longest_held_us.fetch_max(micros, Relaxed);
    }

    pub fn upgrade_ended(&self) {
        self.upgrades.fetch_sub(1, Relaxed);
    }

    pub fn figures(&self) -> Figures {
        let count = |counter: &AtomicU64| counter.load(Relaxed);
        Figures {
            requests: count(&self.requests),
            statuses: CLASSES
                .iter()
                .zip(&self.statuses)
                .map(|(class, number)| ((*class).into(), count(number)))
                .collect(),
            failures: Cause::ALL.map(|cause| (cause.name().into(), count(&self.failures[cause as usize]))).into(),
            received_bytes: count(&self.received_bytes),
            sent_bytes: count(&self.sent_bytes),
            retries: count(&self.retries),
            in_flight: count(&self.in_flight),
            upgrades: count(&self.upgrades),
            held: count(&self.held),
            held_us: count(&self.held_us),
            longest_held_us: count(&self.longest_held_us),
            latency: self.latency.iter().map(count).collect(),
            latency_us: count(&self.latency_us),
        }
    }
}

/// The counters as they were at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    pub requests: u64,
    /// Answers by the class of their status, such as `2xx`.
    pub statuses: BTreeMap<String, u64>,
    /// Requests without a whole answer, by the name of the cause.
    pub failures: BTreeMap<String, u64>,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub retries: u64,
    pub in_flight: u64,
    pub upgrades: u64,
    /// Requests that waited because their service was held; older processes know nothing of it.
    #[serde(default)]
    pub held: u64,
    #[serde(default)]
    pub held_us: u64,
    #[serde(default)]
    pub longest_held_us: u64,
    /// How many were answered within each of [`BOUNDS`], and how many later.
    pub latency: Vec<u64>,
    pub latency_us: u64,
}

impl Figures {
    pub fn failed(&self, cause: Cause) -> u64 {
        self.failures.get(cause.name()).copied().unwrap_or_default()
    }

    /// Adds what another process has counted for the same thing.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        add_named(&mut self.statuses, &other.statuses);
        add_named(&mut self.failures, &other.failures);
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        self.retries += other.retries;
        self.in_flight += other.in_flight;
        self.upgrades += other.upgrades;
        self.held += other.held;
        self.held_us += other.held_us;
        self.longest_held_us = self.longest_held_us.max(other.longest_held_us);
        for (count, other) in self.latency.iter_mut().zip(&other.latency) {
            *count += other;
        }
        self.latency_us += other.latency_us;
    }

    /// The process that counted them has ended, and what was under way with it.
    pub fn end(&mut self) {
        self.in_flight = 0;
        self.upgrades = 0;
    }
}

fn add_named(counts: &mut BTreeMap<String, u64>, others: &BTreeMap<String, u64>) {
    for (name, other) in others {
        *counts.entry(name.clone()).or_default() += other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_counted_with_the_time_it_took() {
        let counters = Counters::default();
        for micros in [1, BOUNDS[0], BOUNDS[0] + 1, BOUNDS[BOUNDS.len() - 1] + 1] {
            counters.answered(204, Duration::from_micros(micros));
        }
        let figures = counters.figures();
        let mut latency = vec![0; BOUNDS.len() + 1];
        (latency[0], latency[1], latency[BOUNDS.len()]) = (2, 1, 1);
        assert_eq!((figures.statuses["2xx"], figures.latency), (4, latency));
        assert_eq!(figures.latency_us, 1 + BOUNDS[0] + BOUNDS[0] + 1 + BOUNDS[BOUNDS.len() - 1] + 1);
    }

    /// Each figure another number, `times` as large as that of once.
    fn figures(times: u64) -> Figures {
        Figures {
            requests: times,
            statuses: BTreeMap::from([("2xx".into(), 2 * times)]),
            failures: BTreeMap::from([("timeout".into(), 3 * times)]),
            received_bytes: 4 * times,
            sent_bytes: 5 * times,
            retries: 6 * times,
            in_flight: 7 * times,
            upgrades: 8 * times,
            held: 9 * times,
            held_us: 10 * times,
            longest_held_us: 11 * times,
            latency: vec![12 * times, 13 * times],
            latency_us: 14 * times,
        }
    }

    #[test]
    fn what_two_processes_have_counted_is_added() {
        let mut sum = figures(1);
        sum.add(&figures(10));
        assert_eq!(sum, Figures { longest_held_us: 110, ..figures(11) });
        let mut with_another = figures(1);
        with_another.add(&Figures { statuses: BTreeMap::from([("5xx".into(), 1)]), ..Figures::default() });
        assert_eq!(with_another.statuses, BTreeMap::from([("2xx".into(), 2), ("5xx".into(), 1)]));
        sum.end();
        assert_eq!(sum, Figures { longest_held_us: 110, in_flight: 0, upgrades: 0, ..figures(11) });
    }
}
