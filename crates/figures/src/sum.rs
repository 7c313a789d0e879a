//! What points say of a longer time, of several instances, and as several servers have seen it.

use std::collections::BTreeMap;

use uuid::Uuid;

use crate::figures::{Figures, Subject};
use crate::latency::percentile_us;
use crate::point::{BUCKETS, Flow, Point, Usage, Visits, added};

/// So many times of the same length, one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub from: i64,
    pub seconds: i64,
    pub count: usize,
}

impl Span {
    pub const fn end(&self) -> i64 {
        self.from + self.seconds * self.count as i64
    }

    fn place(&self, at: i64) -> Option<usize> {
        let place = usize::try_from((at - self.from).div_euclid(self.seconds)).ok()?;
        (place < self.count).then_some(place)
    }
}

/// Of what figures are wanted. Without anything it is the whole application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub deployment_id: Option<Uuid>,
    pub container_id: Option<Uuid>,
}

impl Filter {
    fn is_whole(&self) -> bool {
        *self == Self::default()
    }

    fn takes(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Whole | Subject::Others => self.is_whole(),
            Subject::Instance(instance) => {
                self.deployment_id.is_none_or(|id| id == instance.deployment_id)
                    && self.container_id.is_none_or(|id| id == instance.container_id)
            }
        }
    }
}

/// What was measured in one of the times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    used: Option<Used>,
    visits: Option<Visits>,
}

/// Of all instances; as all servers have seen it, one after the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Used {
    /// How long they were looked at, whether or not each of them was there.
    looked_ms: u64,
    cpu_us: u64,
    /// Bytes times milliseconds.
    memory: u128,
    peak: u64,
    network: Option<Flow>,
    disk: Option<Flow>,
    /// Of the server that has seen the most.
    restarts: u64,
}

/// What one server has measured, added part by part: all of it at once can be much. No two parts have the same points.
#[derive(Clone, Debug)]
pub struct Parts {
    span: Span,
    filter: Filter,
    sums: Vec<Sum>,
}

impl Parts {
    pub fn new(span: Span, filter: Filter) -> Self {
        Self { span, filter, sums: vec![Sum::default(); span.count] }
    }

    pub fn add(&mut self, figures: &Figures) {
        for (at, moment) in moments(figures, &self.filter) {
            let sum = self.span.place(at).and_then(|place| self.sums.get_mut(place));
            sum.into_iter().for_each(|sum| sum.go_on(&moment));
        }
    }
}

/// One for each time of the span. What containers use, several servers may have measured, so it is averaged; what visitors asked for, each edge has
/// counted for itself, so it is added.
pub fn joined(servers: impl IntoIterator<Item = Parts>, span: &Span) -> Vec<Sum> {
    let mut sums = vec![Sum::default(); span.count];
    for own in servers {
        sums.iter_mut().zip(own.sums).for_each(|(sum, own)| sum.join(own));
    }
    sums
}

/// The same of figures that are there as a whole, for each server.
pub fn sums<'a>(servers: impl IntoIterator<Item = &'a Figures>, span: &Span, filter: &Filter) -> Vec<Sum> {
    let whole = |figures: &Figures| {
        let mut parts = Parts::new(*span, *filter);
        parts.add(figures);
        parts
    };
    joined(servers.into_iter().map(whole), span)
}

/// What there was at one point, of all that the filter takes.
#[derive(Default)]
struct Moment {
    looked_ms: Option<u64>,
    /// One for each instance.
    usages: Vec<Usage>,
    visits: Option<Visits>,
}

fn moments(figures: &Figures, filter: &Filter) -> BTreeMap<i64, Moment> {
    let mut moments: BTreeMap<i64, Moment> = BTreeMap::new();
    for (subject, points) in figures.series().filter(|(subject, _)| filter.takes(subject)) {
        for (at, Point { usage, visits }) in points {
            let moment = moments.entry(*at).or_default();
            match subject {
                Subject::Whole => moment.looked_ms = usage.map(|usage| usage.measured_ms),
                Subject::Others | Subject::Instance(_) => moment.usages.extend(*usage),
            }
            moment.visits = match (moment.visits.take(), visits) {
                (Some(one), Some(other)) => Some(one.with(other)),
                (one, other) => one.or_else(|| other.clone()),
            };
        }
    }
    moments
}

impl Moment {
    fn used(&self) -> Option<Used> {
        let longest = self.usages.iter().map(|usage| usage.measured_ms).max()?;
        let nothing = Used { network: Some(Flow::default()), disk: Some(Flow::default()), ..Used::default() };
        let all = self.usages.iter().fold(nothing, |sum, usage| Used {
            looked_ms: 0,
            cpu_us: sum.cpu_us.saturating_add(usage.cpu_us),
            memory: sum.memory.saturating_add(u128::from(usage.memory) * u128::from(usage.measured_ms)),
            peak: sum.peak.saturating_add(usage.peak),
            network: added(sum.network, usage.network),
            disk: added(sum.disk, usage.disk),
            restarts: sum.restarts.saturating_add(usage.restarts),
        });
        // An instance that was there for a part of the time has used no more in the rest.
        Some(Used { looked_ms: self.looked_ms.unwrap_or_default().max(longest), ..all })
    }
}

impl Used {
    /// One more time.
    fn then(self, next: Self) -> Self {
        Self {
            looked_ms: self.looked_ms.saturating_add(next.looked_ms),
            cpu_us: self.cpu_us.saturating_add(next.cpu_us),
            memory: self.memory.saturating_add(next.memory),
            peak: self.peak.max(next.peak),
            network: added(self.network, next.network),
            disk: added(self.disk, next.disk),
            restarts: self.restarts.saturating_add(next.restarts),
        }
    }
}

impl Sum {
    /// The same server, later.
    fn go_on(&mut self, moment: &Moment) {
        self.used = match (self.used.take(), moment.used()) {
            (Some(before), Some(next)) => Some(before.then(next)),
            (before, next) => before.or(next),
        };
        self.visits = match (self.visits.take(), &moment.visits) {
            (Some(before), Some(next)) => {
                let watched_ms = before.watched_ms.saturating_add(next.watched_ms);
                Some(Visits { watched_ms, ..before.with(next) })
            }
            (before, next) => before.or_else(|| next.clone()),
        };
    }

    /// Another server, of the same time.
    fn join(&mut self, other: Self) {
        self.used = match (self.used.take(), other.used) {
            (Some(one), Some(other)) => Some(Used { restarts: one.restarts.max(other.restarts), ..one.then(other) }),
            (one, other) => one.or(other),
        };
        self.visits = match (self.visits.take(), other.visits) {
            (Some(one), Some(other)) => Some(one.with(&other)),
            (one, other) => one.or(other),
        };
    }

    pub fn is_empty(&self) -> bool {
        self.used.is_none() && self.visits.is_none()
    }

    /// Thousandths of a processor.
    pub fn cpu_millis(&self) -> Option<f64> {
        self.used.and_then(|used| per(used.cpu_us as f64, used.looked_ms))
    }

    /// Bytes, on average.
    pub fn memory(&self) -> Option<f64> {
        self.used.and_then(|used| per(used.memory as f64, used.looked_ms))
    }

    /// Bytes, at the most.
    pub fn peak(&self) -> Option<u64> {
        self.used.map(|used| used.peak)
    }

    /// Bytes a second, received and sent.
    pub fn network(&self) -> Option<(f64, f64)> {
        self.used.and_then(|used| rates(used.network?, used.looked_ms))
    }

    /// Bytes a second, read and written.
    pub fn disk(&self) -> Option<(f64, f64)> {
        self.used.and_then(|used| rates(used.disk?, used.looked_ms))
    }

    pub fn restarts(&self) -> Option<u64> {
        self.used.map(|used| used.restarts)
    }

    pub fn requests(&self) -> Option<i64> {
        self.visits.as_ref().map(|visits| visits.requests.max(0))
    }

    pub fn requests_per_second(&self) -> Option<f64> {
        self.visits.as_ref().and_then(|visits| per(visits.requests.max(0) as f64 * 1_000.0, visits.watched_ms))
    }

    pub fn errors(&self) -> Option<i64> {
        self.visits.as_ref().map(|visits| visits.errors.max(0))
    }

    /// Of a hundred requests. None without requests.
    pub fn error_percent(&self) -> Option<f64> {
        let visits = self.visits.as_ref().filter(|visits| visits.requests > 0)?;
        Some((visits.errors.max(0) as f64 * 100.0 / visits.requests as f64).min(100.0))
    }

    /// Within how many milliseconds so many of a hundred answers came. None without answers.
    pub fn percentile_ms(&self, bounds: &[u64], percent: f64) -> Option<f64> {
        let counts: &[i64; BUCKETS] = &self.visits.as_ref()?.latency;
        percentile_us(counts, bounds, percent).map(|micros| micros / 1_000.0)
    }
}

fn rates(flow: Flow, milliseconds: u64) -> Option<(f64, f64)> {
    let rate = |bytes: u64| per(bytes as f64 * 1_000.0, milliseconds);
    rate(flow.inward).zip(rate(flow.outward))
}

fn per(amount: f64, milliseconds: u64) -> Option<f64> {
    (milliseconds > 0).then(|| amount / milliseconds as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Instance;

    const MINUTE: Span = Span { from: 0, seconds: 60, count: 2 };

    fn instance(number: u128) -> Subject {
        let (deployment_id, container_id) = (Uuid::from_u128(number / 10), Uuid::from_u128(number));
        Subject::Instance(Instance { deployment_id, container_id, ordinal: 1, service: String::new() })
    }

    /// Half a processor for ten seconds, and one request a second.
    fn half() -> Point {
        let flow = Some(Flow { inward: 20_000, outward: 10_000 });
        let (measured_ms, cpu_us) = (10_000, 5_000_000);
        let usage = Usage { measured_ms, cpu_us, memory: 100, peak: 120, network: flow, disk: None, restarts: 1 };
        let mut latency = [0; BUCKETS];
        latency[3] = 10;
        Point { usage: Some(usage), visits: Some(Visits { watched_ms: 10_000, requests: 10, errors: 1, latency }) }
    }

    fn looked() -> Point {
        let usage = Usage { measured_ms: 10_000, ..Usage::default() };
        Point { usage: Some(usage), visits: Some(Visits { watched_ms: 10_000, ..Visits::default() }) }
    }

    /// A minute in which two instances take turns: the second begins when the first one ends.
    fn replaced() -> Figures {
        let mut figures = Figures::default();
        for at in (0..60).step_by(10) {
            figures.add(Subject::Whole, at, &looked());
            figures.add(if at < 30 { instance(11) } else { instance(21) }, at, &half());
        }
        figures
    }

    #[test]
    fn instances_that_follow_each_other_are_one_application() {
        let figures = replaced();
        let coarse = figures.in_steps(crate::step::MINUTE);
        for figures in [&figures, &coarse] {
            let all = sums([figures], &MINUTE, &Filter::default());
            assert_eq!((all[0].cpu_millis(), all[0].memory()), (Some(500.0), Some(100.0)));
            assert_eq!((all[0].network(), all[0].disk()), (Some((2_000.0, 1_000.0)), None));
            assert_eq!((all[0].requests(), all[0].requests_per_second()), (Some(60), Some(1.0)));
            assert_eq!((all[0].errors(), all[0].error_percent(), all[0].restarts()), (Some(6), Some(10.0), Some(6)));
            assert!(all[1].is_empty() && all[1].cpu_millis().is_none() && all[1].requests().is_none());
            let filter = Filter { container_id: Some(Uuid::from_u128(11)), deployment_id: None };
            let first = sums([figures], &MINUTE, &filter);
            assert_eq!((first[0].cpu_millis(), first[0].requests()), (Some(500.0), Some(30)));
            let filter = Filter { container_id: None, deployment_id: Some(Uuid::from_u128(2)) };
            assert_eq!(sums([figures], &MINUTE, &filter)[0].requests(), Some(30));
        }
        assert_eq!(sums([&figures], &MINUTE, &Filter::default())[0].peak(), Some(120));
    }

    #[test]
    fn what_two_servers_saw_is_used_once_and_visited_twice() {
        let figures = replaced();
        let both = sums([&figures, &figures], &MINUTE, &Filter::default());
        assert_eq!((both[0].cpu_millis(), both[0].memory(), both[0].restarts()), (Some(500.0), Some(100.0), Some(6)));
        assert_eq!((both[0].requests(), both[0].requests_per_second()), (Some(120), Some(2.0)));
    }

    #[test]
    fn instances_beside_each_other_are_added() {
        let mut figures = Figures::default();
        figures.add(Subject::Whole, 0, &looked());
        figures.add(instance(11), 0, &half());
        figures.add(instance(12), 0, &half());
        let sum = &sums([&figures], &MINUTE, &Filter::default())[0];
        assert_eq!((sum.cpu_millis(), sum.memory(), sum.peak()), (Some(1_000.0), Some(200.0), Some(240)));
    }

    #[test]
    fn parts_say_the_same_as_the_whole() {
        let (figures, filter) = (replaced(), Filter::default());
        let span = Span { from: 0, seconds: 20, count: 3 };
        let mut parts = Parts::new(span, filter);
        for part in [0..10, 10..30, 30..60] {
            parts.add(&figures.within(part));
        }
        assert_eq!(joined([parts], &span), sums([&figures], &span, &filter));
    }

    /// Looks that did not succeed are no time without use.
    #[test]
    fn a_gap_does_not_thin_what_was_measured() {
        let mut figures = Figures::default();
        for at in [0, 50] {
            figures.add(Subject::Whole, at, &looked());
            figures.add(instance(11), at, &half());
        }
        let sum = &sums([&figures], &MINUTE, &Filter::default())[0];
        assert_eq!((sum.cpu_millis(), sum.requests_per_second()), (Some(500.0), Some(1.0)));
    }

    #[test]
    fn an_application_without_instances_has_visits_and_no_usage() {
        let mut figures = Figures::default();
        figures.add(Subject::Whole, 0, &half());
        let sum = &sums([&figures], &MINUTE, &Filter::default())[0];
        assert_eq!((sum.cpu_millis(), sum.requests()), (None, Some(10)));
        let bounds: Vec<u64> = (1..15).map(|number| number * 1_000).collect();
        assert_eq!(sum.percentile_ms(&bounds, 50.0), Some(3.5));
    }
}
