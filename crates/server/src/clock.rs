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

impl Ids {
    /// New ones are greater than this one, also when the clock was set back since it was made.
    pub fn go_on_after(&self, newest: Uuid) {
        if let Some(made) = newest.get_timestamp() {
            let (seconds, nanos) = made.to_unix();
            let micros = i64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000);
            // A millisecond later: within one the first id of a process is a random one.
            self.next(Timestamp::from_micros(micros.saturating_add(i64::from(nanos / 1_000) + 1_000)));
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

    /// Rows are put in order by them.
    #[test]
    fn ids_are_in_order_when_the_clock_is_set_back() {
        let now = Timestamp::from_micros(1_800_000_000_123_456);
        let an_hour_ago = now.plus_seconds(-3_600);
        let ids = Ids::random();
        let mut made = vec![ids.next(now), ids.next(an_hour_ago), ids.next(an_hour_ago.plus_seconds(60))];
        // Another process goes on after it.
        let others = Ids::random();
        others.go_on_after(made[2]);
        made.extend([others.next(an_hour_ago), others.next(now.plus_seconds(1))]);
        assert!(made.is_sorted(), "{made:?}");
    }
}
