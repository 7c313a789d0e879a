//! What was taken since this server was started, for monitors.

use std::collections::BTreeMap;

use uuid::Uuid;
use windlass_figures::{Flow, Point, Subject};

use super::Taken;

/// An application that was not met for so many looks is forgotten: it was deleted, or is another server's.
const FORGOTTEN: u64 = 60;
/// More applications than this are not told of.
pub const MOST: usize = 2_000;

#[derive(Default)]
pub struct Totals {
    looks: u64,
    by_application: BTreeMap<Uuid, Total>,
}

/// Of one application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    met: u64,
    pub cpu_us: u64,
    /// Now. None when it was not measured, or nothing runs.
    pub memory: Option<u64>,
    pub network: Flow,
    pub disk: Flow,
    pub restarts: u64,
    pub requests: u64,
    pub errors: u64,
}

impl Totals {
    pub fn add(&mut self, taken: &Taken) {
        self.looks += 1;
        let looks = self.looks;
        self.forget_memory();
        for (id, points) in taken {
            let total = self.by_application.entry(*id).or_default();
            total.met = looks;
            total.add(points);
        }
        self.by_application.retain(|_, total| looks - total.met < FORGOTTEN);
    }

    /// What was there before is not what is there now.
    pub fn forget_memory(&mut self) {
        self.by_application.values_mut().for_each(|total| total.memory = None);
    }

    pub fn of_applications(&self) -> impl Iterator<Item = (Uuid, &Total)> {
        self.by_application.iter().take(MOST).map(|(id, total)| (*id, total))
    }

    /// How many are not told of.
    pub fn left_out(&self) -> usize {
        self.by_application.len().saturating_sub(MOST)
    }
}

impl Total {
    fn add(&mut self, points: &[(Subject, Point)]) {
        let (mut requests, mut errors) = (0_i64, 0_i64);
        for (subject, Point { usage, visits }) in points {
            if let Some(usage) = usage.as_ref().filter(|_| *subject != Subject::Whole) {
                self.memory = Some(self.memory.unwrap_or_default().saturating_add(usage.memory));
                self.cpu_us = self.cpu_us.saturating_add(usage.cpu_us);
                self.restarts = self.restarts.saturating_add(usage.restarts);
                self.network = added(self.network, usage.network);
                self.disk = added(self.disk, usage.disk);
            }
            if let Some(visits) = visits {
                requests = requests.saturating_add(visits.requests);
                errors = errors.saturating_add(visits.errors);
            }
        }
        // Less than nothing is a request that was tried at several instances, and is no more with the next look.
        self.requests = self.requests.saturating_add(requests.max(0).unsigned_abs());
        self.errors = self.errors.saturating_add(errors.max(0).unsigned_abs());
    }
}

fn added(sum: Flow, flow: Option<Flow>) -> Flow {
    let flow = flow.unwrap_or_default();
    Flow { inward: sum.inward.saturating_add(flow.inward), outward: sum.outward.saturating_add(flow.outward) }
}

#[cfg(test)]
mod tests {
    use windlass_figures::{Usage, Visits};

    use super::*;

    fn point(cpu_us: u64, requests: i64) -> Point {
        let usage = Usage { measured_ms: 10_000, cpu_us, memory: 7, ..Usage::default() };
        Point { usage: Some(usage), visits: Some(Visits { requests, ..Visits::default() }) }
    }

    #[test]
    fn totals_only_grow_and_those_of_deleted_applications_go() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut totals = Totals::default();
        let taken = Taken::from([(one, vec![(Subject::Others, point(5, 4)), (Subject::Whole, point(0, -1))])]);
        totals.add(&Taken::from([(other, vec![(Subject::Whole, point(0, 1))])]));
        for _ in 0..FORGOTTEN {
            totals.add(&taken);
        }
        let told: Vec<_> = totals.of_applications().collect();
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].0, told[0].1.cpu_us, told[0].1.requests, told[0].1.memory), (one, 300, 180, Some(7)));
        assert_eq!(totals.left_out(), 0);
    }

    #[test]
    fn memory_is_told_only_when_it_was_measured() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let used = Taken::from([
            (one, vec![(Subject::Others, point(5, 4)), (Subject::Whole, point(0, 0))]),
            (other, vec![(Subject::Others, point(5, 4))]),
        ]);
        let mut totals = Totals::default();
        let memory = |totals: &Totals| totals.of_applications().map(|(_, total)| total.memory).collect::<Vec<_>>();
        totals.add(&used);
        assert_eq!(memory(&totals), [Some(7), Some(7)]);
        // The engine does not answer and the edge does; the other one was stopped.
        let visits = Point { usage: None, ..point(0, 3) };
        totals.add(&Taken::from([(one, vec![(Subject::Whole, visits)])]));
        assert_eq!(memory(&totals), [None, None]);
        assert_eq!(totals.of_applications().map(|(_, total)| total.requests).collect::<Vec<_>>(), [7, 4]);
        totals.add(&used);
        assert_eq!(memory(&totals), [Some(7), Some(7)]);
        totals.forget_memory();
        assert_eq!(memory(&totals), [None, None]);
    }
}
