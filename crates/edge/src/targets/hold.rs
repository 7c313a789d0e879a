//! A service that is held: its requests wait for the next table, a bounded number of them, until a given moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crate::routes::HoldSpec;

/// However far away the given moment is.
const LONGEST: Duration = Duration::from_secs(86_400);

pub struct Hold {
    /// When all of them are told to come again.
    pub until: Instant,
    most_waiting: usize,
    waiting: AtomicUsize,
}

/// A request that waits. It counts until it is dropped.
pub struct Waiting(Arc<Hold>);

impl Hold {
    pub fn new(spec: HoldSpec) -> Self {
        Self {
            until: Instant::now() + time_left(spec.until_ms),
            most_waiting: spec.most_waiting as usize,
            waiting: AtomicUsize::new(0),
        }
    }

    /// Lets one more request wait, unless there are too many.
    pub fn enter(self: &Arc<Self>) -> Option<Waiting> {
        let more = |waiting| (waiting < self.most_waiting).then_some(waiting + 1);
        self.waiting.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Waiting(self.clone()))
    }
}

impl Waiting {
    pub fn is_for(&self, hold: &Arc<Hold>) -> bool {
        Arc::ptr_eq(&self.0, hold)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[expect(clippy::disallowed_methods, reason = "the server, which has the same clock, gives a moment")]
fn time_left(until_ms: u64) -> Duration {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Duration::from_millis(until_ms).saturating_sub(now).min(LONGEST)
}
