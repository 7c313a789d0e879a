//! How often somebody may try. In memory and bounded: a restart forgives, a flood of addresses forgets the oldest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use windlass_api::Timestamp;

const WINDOW_SECONDS: i64 = 60;
const KEYS_KEPT: usize = 10_000;

#[derive(Default)]
pub struct Limiter {
    windows: Mutex<HashMap<String, Window>>,
}

struct Window {
    ends: Timestamp,
    tries: u32,
}

impl Limiter {
    /// Counts a try, of which there may be `limit` a minute. Beyond that: the seconds until the next one is allowed.
    pub fn try_once(&self, key: &str, limit: u32, now: Timestamp) -> Result<(), u64> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() >= KEYS_KEPT && !windows.contains_key(key) {
            make_room(&mut windows, now);
        }
        let fresh = || Window { ends: now.plus_seconds(WINDOW_SECONDS), tries: 0 };
        let window = windows.entry(key.to_owned()).or_insert_with(fresh);
        if window.ends <= now {
            *window = fresh();
        }
        if window.tries >= limit {
            return Err(now.seconds_until(window.ends).max(1));
        }
        window.tries += 1;
        Ok(())
    }
}

fn make_room(windows: &mut HashMap<String, Window>, now: Timestamp) {
    windows.retain(|_, window| window.ends > now);
    if windows.len() >= KEYS_KEPT {
        let oldest = windows.iter().min_by_key(|(_, window)| window.ends).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            windows.remove(&oldest);
        }
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
        assert_eq!(limiter.try_once("a", 2, START), Ok(()));
        assert_eq!(limiter.try_once("a", 2, START.plus_seconds(10)), Ok(()));
        assert_eq!(limiter.try_once("a", 2, START.plus_seconds(20)), Err(40));
        assert_eq!(limiter.try_once("b", 2, START.plus_seconds(20)), Ok(()));
        assert_eq!(limiter.try_once("a", 2, START.plus_seconds(60)), Ok(()));
    }

    #[test]
    fn never_keeps_more_than_its_bound() {
        let limiter = Limiter::default();
        for key in 0..KEYS_KEPT + 50 {
            let _ = limiter.try_once(&key.to_string(), 1, START);
        }
        assert_eq!(limiter.windows.lock().unwrap().len(), KEYS_KEPT);
    }

    #[test]
    fn an_address_is_a_household() {
        let key = |text: &str| address_key(text.parse().unwrap());
        assert_eq!(key("192.0.2.7"), "192.0.2.7");
        assert_eq!(key("::ffff:192.0.2.7"), "192.0.2.7");
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), key("2001:db8:1:2:ffff::1"));
    }
}
