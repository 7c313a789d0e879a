//! What is known of a target's health, from its checks and from the connections that were tried.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// After a connection fails, the target is passed over for this long, and twice as long after each further failure.
const FIRST_REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(30);

pub struct TargetHealth {
    /// The verdict of the checks, if there are any.
    is_well: AtomicBool,
    /// Connections that failed in a row.
    failures: AtomicU32,
    /// When it is to be tried again, in milliseconds after `since`.
    rests_until: AtomicU64,
    since: Instant,
}

impl Default for TargetHealth {
    fn default() -> Self {
        Self {
            is_well: AtomicBool::new(true),
            failures: AtomicU32::new(0),
            rests_until: AtomicU64::new(0),
            since: Instant::now(),
        }
    }
}

impl TargetHealth {
    /// Whether requests should come here while there is another target to send them to.
    pub fn is_preferred(&self) -> bool {
        self.is_well() && (self.failures.load(Ordering::Relaxed) == 0 || !self.rests())
    }

    pub fn is_well(&self) -> bool {
        self.is_well.load(Ordering::Relaxed)
    }

    pub fn check_says(&self, well: bool) {
        self.is_well.store(well, Ordering::Relaxed);
    }

    pub fn connected(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// Requests that fail while it rests already were sent before: they say nothing new, however many they are.
    pub fn not_connected(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 && self.rests() {
            return;
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).min(10);
        let rest = (FIRST_REST * 2u32.pow(failures)).min(LONGEST_REST);
        self.rests_until.store(self.millis() + rest.as_millis() as u64, Ordering::Relaxed);
    }

    fn rests(&self) -> bool {
        self.millis() < self.rests_until.load(Ordering::Relaxed)
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundred requests that fail in one instant are one failure: the target is tried again soon.
    #[test]
    fn failures_while_it_rests_make_the_rest_no_longer() {
        let health = TargetHealth::default();
        for _ in 0..100 {
            health.not_connected();
        }
        assert!(!health.is_preferred());
        assert!(health.rests_until.load(Ordering::Relaxed) <= health.millis() + FIRST_REST.as_millis() as u64);
        health.connected();
        assert!(health.is_preferred());
    }

    /// A target that was away for long is not left out for long when it is back.
    #[test]
    fn a_rest_has_a_longest_time() {
        let health = TargetHealth::default();
        for _ in 0..20 {
            health.rests_until.store(0, Ordering::Relaxed);
            health.not_connected();
        }
        let rest = Duration::from_millis(health.rests_until.load(Ordering::Relaxed).saturating_sub(health.millis()));
        assert!((LONGEST_REST / 2..=LONGEST_REST).contains(&rest), "{rest:?}");
    }
}
