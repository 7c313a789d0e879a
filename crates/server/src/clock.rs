//! Time and identifiers come from here and nowhere else, so that tests can set the one and predict the other.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::UNIX_EPOCH;

use parking_lot::Mutex;
use uuid::{ContextV7, Uuid};
use windlass_api::Timestamp;

pub enum Clock {
    System,
    /// Stands still until a test moves it.
    Manual(AtomicI64),
}

impl Clock {
    pub fn manual(start: Timestamp) -> Self {
        Self::Manual(AtomicI64::new(start.micros()))
    }

    pub fn now(&self) -> Timestamp {
        match self {
            Self::System => system_now(),
            Self::Manual(micros) => Timestamp::from_micros(micros.load(Ordering::SeqCst)),
        }
    }

    /// Moves a manual clock; the system's clock moves by itself.
    pub fn advance_seconds(&self, seconds: i64) {
        if let Self::Manual(micros) = self {
            micros.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where time is read")]
fn system_now() -> Timestamp {
    let since_1970 = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_micros(i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX))
}

pub enum Ids {
    /// UUIDv7; later ones of this process are greater, also within one millisecond.
    Random(Mutex<ContextV7>),
    /// 1, 2, 3 in the shape of UUIDv7, for tests.
    Counted(AtomicU64),
}

impl Ids {
    pub fn random() -> Self {
        Self::Random(Mutex::new(ContextV7::new()))
    }

    pub fn counted() -> Self {
        Self::Counted(AtomicU64::new(1))
    }

    pub fn next(&self, now: Timestamp) -> Uuid {
        match self {
            Self::Random(context) => {
                let micros = now.micros().unsigned_abs();
                let nanos = u32::try_from(micros % 1_000_000 * 1_000).unwrap_or_default();
                let context = context.lock();
                Uuid::new_v7(uuid::Timestamp::from_unix(&*context, micros / 1_000_000, nanos))
            }
            Self::Counted(next) => {
                let number = next.fetch_add(1, Ordering::SeqCst);
                Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + u128::from(number))
            }
        }
    }
}

/// Unlike any other server's, and counting up: enough to find a request in the log, and nothing to guess with.
pub struct RequestIds {
    prefix: u64,
    count: AtomicU64,
}

impl Default for RequestIds {
    fn default() -> Self {
        // A prefix that repeats costs a confusing log line, no more.
        Self { prefix: getrandom::u64().unwrap_or_default(), count: AtomicU64::new(0) }
    }
}

impl RequestIds {
    pub fn next(&self) -> String {
        format!("{:016x}{:016x}", self.prefix, self.count.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_in_order_within_one_instant() {
        let (ids, now) = (Ids::random(), Timestamp::from_micros(1_800_000_000_000_000));
        let made: Vec<_> = (0..1_000).map(|_| ids.next(now)).collect();
        assert!(made.is_sorted());
        assert_eq!(made[0].get_version_num(), 7);
    }
}
