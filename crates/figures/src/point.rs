//! What one point says.

/// How many numbers of answers there are, by how long they took: one for each bound of the edge, and one for what was slower.
pub const BUCKETS: usize = 15;

/// Both parts are measured by different means; each is none where its means failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    pub usage: Option<Usage>,
    pub visits: Option<Visits>,
}

/// What a container has used between two looks at it. Of an application as a whole: how long its containers were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The time between the looks.
    pub measured_ms: u64,
    /// The time of processors.
    pub cpu_us: u64,
    /// Bytes on average, and at the most.
    pub memory: u64,
    pub peak: u64,
    /// None where it is not known.
    pub network: Option<Flow>,
    pub disk: Option<Flow>,
    pub restarts: u64,
}

/// Bytes that a container has received or read, and those that it has sent or written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    pub inward: u64,
    pub outward: u64,
}

/// What visitors asked for, as one edge has counted it. Of an application as a whole: what none of its instances was asked for, which is less than 0
/// where a request was tried at several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// The time in which they were counted.
    pub watched_ms: u64,
    pub requests: i64,
    pub errors: i64,
    /// Answers by how long they took.
    pub latency: [i64; BUCKETS],
}

impl Point {
    /// Of both times, one after the other.
    #[must_use]
    pub fn then(&self, next: &Self) -> Self {
        let usage = either(self.usage, next.usage, |one, other| one.then(&other));
        let visits = either(self.visits.clone(), next.visits.clone(), |one, other| Visits {
            watched_ms: one.watched_ms.saturating_add(other.watched_ms),
            ..one.and(&other)
        });
        Self { usage, visits }
    }

    /// Of both instances, at the same time.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Self {
        let usage = either(self.usage, other.usage, |one, other| one.beside(&other));
        let visits = either(self.visits.clone(), other.visits.clone(), |one, other| Visits {
            watched_ms: one.watched_ms.max(other.watched_ms),
            ..one.and(&other)
        });
        Self { usage, visits }
    }
}

fn either<T>(one: Option<T>, other: Option<T>, both: impl FnOnce(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(both(one, other)),
        (one, other) => one.or(other),
    }
}

impl Usage {
    fn then(&self, next: &Self) -> Self {
        let measured_ms = self.measured_ms.saturating_add(next.measured_ms);
        Self {
            measured_ms,
            memory: average([(self.memory, self.measured_ms), (next.memory, next.measured_ms)]),
            peak: self.peak.max(next.peak),
            ..self.counted(next)
        }
    }

    fn beside(&self, other: &Self) -> Self {
        Self {
            measured_ms: self.measured_ms.max(other.measured_ms),
            memory: self.memory.saturating_add(other.memory),
            peak: self.peak.saturating_add(other.peak),
            ..self.counted(other)
        }
    }

    /// What is added whether it was at the same time or not.
    fn counted(&self, other: &Self) -> Self {
        Self {
            cpu_us: self.cpu_us.saturating_add(other.cpu_us),
            network: added(self.network, other.network),
            disk: added(self.disk, other.disk),
            restarts: self.restarts.saturating_add(other.restarts),
            ..Self::default()
        }
    }
}

/// Not known if one of them is not known.
pub(crate) fn added(one: Option<Flow>, other: Option<Flow>) -> Option<Flow> {
    let (one, other) = one.zip(other)?;
    Some(Flow { inward: one.inward.saturating_add(other.inward), outward: one.outward.saturating_add(other.outward) })
}

/// Each value with its weight. Without any weight it is the last value.
fn average(values: [(u64, u64); 2]) -> u64 {
    let weight: u128 = values.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let sum: u128 = values.iter().map(|(value, weight)| u128::from(*value) * u128::from(*weight)).sum();
    sum.checked_div(weight).and_then(|average| u64::try_from(average).ok()).unwrap_or(values[1].0)
}

impl Visits {
    /// Without the time.
    fn and(&self, other: &Self) -> Self {
        let mut latency = self.latency;
        for (count, other) in latency.iter_mut().zip(&other.latency) {
            *count = count.saturating_add(*other);
        }
        Self {
            watched_ms: 0,
            requests: self.requests.saturating_add(other.requests),
            errors: self.errors.saturating_add(other.errors),
            latency,
        }
    }

    /// What is left of these when those are taken from them.
    #[must_use]
    pub fn without(&self, those: &Self) -> Self {
        let mut latency = self.latency;
        for (count, other) in latency.iter_mut().zip(&those.latency) {
            *count = count.saturating_sub(*other);
        }
        Self {
            watched_ms: self.watched_ms,
            requests: self.requests.saturating_sub(those.requests),
            errors: self.errors.saturating_sub(those.errors),
            latency,
        }
    }

    /// Those and these, of the same time.
    #[must_use]
    pub fn with(&self, those: &Self) -> Self {
        Self { watched_ms: self.watched_ms.max(those.watched_ms), ..self.and(those) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(measured_ms: u64, memory: u64) -> Usage {
        let flow = Some(Flow { inward: 1, outward: 2 });
        Usage { measured_ms, cpu_us: 5, memory, peak: memory, network: flow, disk: None, restarts: 1 }
    }

    #[test]
    fn times_are_joined_and_instances_are_added() {
        let then = usage(1_000, 100).then(&usage(3_000, 200));
        assert_eq!((then.measured_ms, then.memory, then.peak, then.cpu_us), (4_000, 175, 200, 10));
        assert_eq!((then.restarts, then.network, then.disk), (2, Some(Flow { inward: 2, outward: 4 }), None));
        let beside = usage(1_000, 100).beside(&usage(3_000, 200));
        assert_eq!((beside.measured_ms, beside.memory, beside.peak, beside.cpu_us), (3_000, 300, 300, 10));
        assert_eq!(usage(0, 100).then(&usage(0, 200)).memory, 200);
    }

    #[test]
    fn what_is_not_known_of_one_is_not_known_of_both() {
        let unknown = Usage { network: None, ..usage(1_000, 100) };
        assert_eq!(unknown.then(&usage(1_000, 100)).network, None);
        assert_eq!(usage(1_000, 100).beside(&unknown).network, None);
    }

    #[test]
    fn a_part_that_was_not_measured_leaves_the_other() {
        let (seen, visited) = (
            Point { usage: Some(usage(1_000, 100)), visits: None },
            Point { usage: None, visits: Some(Visits { watched_ms: 10, requests: 3, ..Visits::default() }) },
        );
        assert_eq!(seen.then(&visited), Point { usage: seen.usage, visits: visited.visits.clone() });
        assert_eq!(visited.then(&visited).visits.map(|visits| (visits.watched_ms, visits.requests)), Some((20, 6)));
        assert_eq!(visited.beside(&visited).visits.map(|visits| (visits.watched_ms, visits.requests)), Some((10, 6)));
    }

    #[test]
    fn what_is_taken_away_can_be_put_back() {
        let all = Visits { watched_ms: 10, requests: 3, errors: 1, latency: [2; BUCKETS] };
        let some = Visits { watched_ms: 10, requests: 4, errors: 0, latency: [1; BUCKETS] };
        let rest = all.without(&some);
        assert_eq!((rest.requests, rest.errors, rest.latency[0]), (-1, 1, 1));
        assert_eq!(rest.with(&some), all);
    }
}
