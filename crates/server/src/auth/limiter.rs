//! How often a caller may try. In memory and bounded; a restart clears all counts. No flood of new keys takes a count away: when there
//! are as many keys as are kept, the tries of new ones are counted together, in groups.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use parking_lot::Mutex;
use windlass_api::Timestamp;
use windlass_edge::addresses::household;

use crate::error::Error;

const KEYS_KEPT: usize = 10_000;
/// The groups of keys beyond those.
const GROUPS: usize = 1_024;
/// How often windows that have ended are looked for, at most.
const SWEEP_SECONDS: i64 = 1;

/// So many tries in so many seconds.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub tries: u32,
    pub seconds: i64,
}

impl Limit {
    pub const fn a_minute(tries: u32) -> Self {
        Self { tries, seconds: 60 }
    }

    pub const fn an_hour(tries: u32) -> Self {
        Self { tries, seconds: 3_600 }
    }
}

#[derive(Default)]
pub struct Limiter {
    windows: Mutex<Windows>,
    hasher: RandomState,
}

#[derive(Default)]
struct Windows {
    of_keys: HashMap<String, Window>,
    /// By how long their windows are, too: a minute's must not end an hour's.
    of_groups: HashMap<(i64, u64), Window>,
    swept_at: Timestamp,
}

struct Window {
    ends: Timestamp,
    tries: u32,
}

impl Limiter {
    /// Counts a try. Beyond the limit: the seconds until the next one is allowed.
    pub fn try_once(&self, key: &str, limit: Limit, now: Timestamp) -> Result<(), u64> {
        let mut windows = self.windows.lock();
        let fresh = || Window { ends: now.plus_seconds(limit.seconds), tries: 0 };
        let window = if windows.has_room_for(key, now) {
            match windows.of_keys.get_mut(key) {
                Some(window) => window,
                None => windows.of_keys.entry(key.to_owned()).or_insert_with(fresh),
            }
        } else {
            windows.of_groups.entry((limit.seconds, self.hasher.hash_one(key) % GROUPS as u64)).or_insert_with(fresh)
        };
        if window.ends <= now {
            *window = fresh();
        }
        if window.tries >= limit.tries {
            return Err(now.seconds_until(window.ends).max(1));
        }
        window.tries += 1;
        Ok(())
    }

    /// Counts a request of this minute; a limit of 0 is none.
    pub fn count_request(&self, key: &str, tries: u32, now: Timestamp) -> crate::error::Result<()> {
        if tries == 0 {
            return Ok(());
        }
        self.try_once(key, Limit::a_minute(tries), now).map_err(|seconds| {
            Error::rate_limited(format!("More than {tries} requests in a minute. Wait {seconds} seconds."), seconds)
        })
    }

    /// A caller who succeeds starts anew.
    pub fn forgive(&self, key: &str) {
        self.windows.lock().of_keys.remove(key);
    }
}

impl Windows {
    fn has_room_for(&mut self, key: &str, now: Timestamp) -> bool {
        if self.of_keys.len() < KEYS_KEPT || self.of_keys.contains_key(key) {
            return true;
        }
        // Not for each key of a flood.
        if self.swept_at.plus_seconds(SWEEP_SECONDS) <= now {
            self.swept_at = now;
            self.of_keys.retain(|_, window| window.ends > now);
            self.of_groups.retain(|_, window| window.ends > now);
        }
        self.of_keys.len() < KEYS_KEPT
    }
}

/// All addresses of one household are counted together.
pub fn address_key(address: IpAddr) -> String {
    household(address).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    #[test]
    fn refuses_beyond_the_limit_and_says_until_when() {
        let limiter = Limiter::default();
        assert_eq!(limiter.try_once("a", Limit::a_minute(2), START), Ok(()));
        assert_eq!(limiter.try_once("a", Limit::a_minute(2), START.plus_seconds(10)), Ok(()));
        assert_eq!(limiter.try_once("a", Limit::a_minute(2), START.plus_seconds(20)), Err(40));
        assert_eq!(limiter.try_once("b", Limit::a_minute(2), START.plus_seconds(20)), Ok(()));
        assert_eq!(limiter.try_once("a", Limit::a_minute(2), START.plus_seconds(60)), Ok(()));
    }

    #[test]
    fn forgives() {
        let limiter = Limiter::default();
        assert_eq!(limiter.try_once("a", Limit::an_hour(1), START), Ok(()));
        assert_eq!(limiter.try_once("a", Limit::an_hour(1), START), Err(3_600));
        limiter.forgive("a");
        assert_eq!(limiter.try_once("a", Limit::an_hour(1), START), Ok(()));
    }

    #[test]
    fn a_flood_of_keys_takes_no_count_away_and_is_counted_too() {
        let limiter = Limiter::default();
        assert_eq!(limiter.try_once("guessed account", Limit::an_hour(1), START), Ok(()));
        let tries = 3 * KEYS_KEPT;
        let allowed = (0..tries).filter(|key| {
            let later = START.plus_seconds(*key as i64 / 1_000);
            limiter.try_once(&key.to_string(), Limit::an_hour(1), later).is_ok()
        });
        let allowed = allowed.count();
        assert!((KEYS_KEPT..=KEYS_KEPT + GROUPS).contains(&allowed), "{allowed} of {tries}");
        assert!(limiter.try_once("guessed account", Limit::an_hour(1), START.plus_seconds(100)).is_err());
        assert!(limiter.windows.lock().of_keys.len() <= KEYS_KEPT);
        // A window of a minute that a new key shares does not end one of an hour that it shares.
        let _ = limiter.try_once("code", Limit::a_minute(1), START.plus_seconds(100));
        let _ = limiter.try_once("code", Limit::an_hour(1), START.plus_seconds(100));
        assert!(limiter.try_once("code", Limit::an_hour(1), START.plus_seconds(200)).is_err());
        // When the hour is over, all begin anew.
        let later = START.plus_seconds(4_000);
        assert_eq!(limiter.try_once("another", Limit::an_hour(1), later), Ok(()));
        let windows = limiter.windows.lock();
        assert_eq!((windows.of_keys.len(), windows.of_groups.len()), (1, 0));
    }

    #[test]
    fn an_address_is_a_household() {
        let key = |text: &str| address_key(text.parse().unwrap());
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), key("2001:db8:1:2:ffff::1"));
    }
}
