//! How often a caller may try. In memory and bounded: a restart clears all counts; when full, the oldest quarter is
//! dropped.

use std::collections::HashMap;
use std::net::IpAddr;

use parking_lot::Mutex;
use windlass_api::Timestamp;

use crate::error::Error;

const KEYS_KEPT: usize = 10_000;

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
    windows: Mutex<HashMap<String, Window>>,
}

struct Window {
    ends: Timestamp,
    tries: u32,
}

impl Limiter {
    /// Counts a try. Beyond the limit: the seconds until the next one is allowed.
    pub fn try_once(&self, key: &str, limit: Limit, now: Timestamp) -> Result<(), u64> {
        let mut windows = self.windows.lock();
        if windows.len() >= KEYS_KEPT && !windows.contains_key(key) {
            make_room(&mut windows, now);
        }
        let fresh = || Window { ends: now.plus_seconds(limit.seconds), tries: 0 };
        let window = match windows.get_mut(key) {
            Some(window) => window,
            None => windows.entry(key.to_owned()).or_insert_with(fresh),
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
        self.windows.lock().remove(key);
    }
}

/// The oldest quarter goes when nothing has ended: many at once, so that a flood does not search for each of its keys.
fn make_room(windows: &mut HashMap<String, Window>, now: Timestamp) {
    windows.retain(|_, window| window.ends > now);
    if windows.len() >= KEYS_KEPT {
        let mut ends: Vec<_> = windows.values().map(|window| window.ends).collect();
        let (_, quarter, _) = ends.select_nth_unstable(KEYS_KEPT / 4);
        let (quarter, mut surplus) = (*quarter, KEYS_KEPT / 4);
        windows.retain(|_, window| {
            let goes = window.ends <= quarter && surplus > 0;
            surplus -= usize::from(goes);
            !goes
        });
    }
}

/// One household has one IPv4 address or one IPv6 /64.
pub fn address_key(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
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
    fn never_keeps_more_than_its_bound() {
        let limiter = Limiter::default();
        for key in 0..KEYS_KEPT + 50 {
            let _ = limiter.try_once(&key.to_string(), Limit::a_minute(1), START.plus_seconds(key as i64 / 1_000));
        }
        let windows = limiter.windows.lock();
        assert!((KEYS_KEPT / 2..=KEYS_KEPT).contains(&windows.len()), "{}", windows.len());
        assert!(windows.contains_key(&(KEYS_KEPT + 49).to_string()), "the newest is the one that matters");
    }

    #[test]
    fn an_address_is_a_household() {
        let key = |text: &str| address_key(text.parse().unwrap());
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), key("2001:db8:1:2:ffff::1"));
    }
}
