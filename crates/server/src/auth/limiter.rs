//! How often a caller may try. In memory and bounded; a restart clears all counts. No flood of new keys takes a count away: when there
//! are as many keys as are kept, the tries of new ones are counted together, in groups. Addresses and names are kept apart, and new
//! addresses are counted together with their neighbours: so a flood from one network refuses its neighbours, and no other client.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use parking_lot::Mutex;
use windlass_api::Timestamp;
use windlass_edge::addresses::{household, neighbourhood};

use crate::error::Error;

const KEYS_KEPT: usize = 10_000;
/// The groups of keys beyond those.
const GROUPS: u64 = 1_024;
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
    addresses: Mutex<Windows>,
    names: Mutex<Windows>,
    hasher: RandomState,
}

/// What tries are counted by, and which others it is counted with when there is no room for it.
struct Key {
    text: String,
    group: u64,
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
    /// Counts a try of an account, a key or an organization. Beyond the limit: the seconds until the next one is allowed.
    pub fn try_once(&self, name: &str, limit: Limit, now: Timestamp) -> Result<(), u64> {
        let key = Key { text: name.to_owned(), group: self.hasher.hash_one(name) % GROUPS };
        try_in(&mut self.names.lock(), key, limit, now)
    }

    /// The same for a purpose and an address: all addresses of one household are counted together.
    pub fn try_address(&self, purpose: &str, address: IpAddr, limit: Limit, now: Timestamp) -> Result<(), u64> {
        let text = format!("{purpose} {}", household(address));
        let key = Key { text, group: self.hasher.hash_one((purpose, neighbourhood(address))) % GROUPS };
        try_in(&mut self.addresses.lock(), key, limit, now)
    }

    /// Counts a request of this minute; a limit of 0 is none.
    pub fn count_request(&self, name: &str, tries: u32, now: Timestamp) -> crate::error::Result<()> {
        match tries {
            0 => Ok(()),
            _ => self.try_once(name, Limit::a_minute(tries), now).map_err(|seconds| too_many_requests(tries, seconds)),
        }
    }

    /// The same for an address.
    pub fn count_request_from(&self, address: IpAddr, tries: u32, now: Timestamp) -> crate::error::Result<()> {
        match tries {
            0 => Ok(()),
            _ => self
                .try_address("request", address, Limit::a_minute(tries), now)
                .map_err(|seconds| too_many_requests(tries, seconds)),
        }
    }

    /// A caller who succeeds starts anew.
    pub fn forgive(&self, name: &str) {
        self.names.lock().of_keys.remove(name);
    }
}

fn too_many_requests(tries: u32, seconds: u64) -> Error {
    Error::rate_limited(format!("More than {tries} requests in a minute. Wait {seconds} seconds."), seconds)
}

fn try_in(windows: &mut Windows, key: Key, limit: Limit, now: Timestamp) -> Result<(), u64> {
    let fresh = || Window { ends: now.plus_seconds(limit.seconds), tries: 0 };
    let window = match windows.has_room_for(&key.text, now) {
        true => windows.of_keys.entry(key.text).or_insert_with(fresh),
        false => windows.of_groups.entry((limit.seconds, key.group)).or_insert_with(fresh),
    };
    // One that ends later than a new one would was begun before the clock was set back.
    if window.ends <= now || window.ends > now.plus_seconds(limit.seconds) {
        *window = fresh();
    }
    if window.tries >= limit.tries {
        return Err(now.seconds_until(window.ends).max(1));
    }
    window.tries += 1;
    Ok(())
}

impl Windows {
    fn has_room_for(&mut self, key: &str, now: Timestamp) -> bool {
        if self.of_keys.len() < KEYS_KEPT || self.of_keys.contains_key(key) {
            return true;
        }
        // Not for each key of a flood.
        if self.swept_at.plus_seconds(SWEEP_SECONDS) <= now || self.swept_at > now {
            self.swept_at = now;
            self.of_keys.retain(|_, window| window.ends > now);
            self.of_groups.retain(|_, window| window.ends > now);
        }
        self.of_keys.len() < KEYS_KEPT
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

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
        assert!((KEYS_KEPT..=KEYS_KEPT + GROUPS as usize).contains(&allowed), "{allowed} of {tries}");
        assert!(limiter.try_once("guessed account", Limit::an_hour(1), START.plus_seconds(100)).is_err());
        assert!(limiter.names.lock().of_keys.len() <= KEYS_KEPT);
        // When the hour is over, all begin anew.
        let later = START.plus_seconds(4_000);
        assert_eq!(limiter.try_once("another", Limit::an_hour(1), later), Ok(()));
        let windows = limiter.names.lock();
        assert_eq!((windows.of_keys.len(), windows.of_groups.len()), (1, 0));
    }

    /// New keys share windows. One that is tried by the minute must not let one go that is tried by the hour.
    #[test]
    fn a_shared_window_of_a_minute_ends_none_of_an_hour() {
        let limiter = Limiter::default();
        let (minute, hour) = (Limit::a_minute(1), Limit::an_hour(1));
        (0..KEYS_KEPT).for_each(|key| assert_eq!(limiter.try_once(&key.to_string(), hour, START), Ok(())));
        assert_eq!(limiter.try_once("code", minute, START), Ok(()));
        assert_eq!(limiter.try_once("code", hour, START), Ok(()));
        let later = START.plus_seconds(100);
        assert_eq!(limiter.try_once("code", minute, later), Ok(()));
        assert_eq!(limiter.try_once("code", hour, later), Err(3_500));
    }

    #[test]
    fn an_address_is_a_household() {
        let limiter = Limiter::default();
        let try_one = |text: &str| limiter.try_address("login", text.parse().unwrap(), Limit::a_minute(1), START);
        assert!(try_one("192.0.2.7").is_ok() && try_one("192.0.2.8").is_ok());
        assert!(try_one("::ffff:192.0.2.7").is_err());
        assert!(try_one("2001:db8:1:2:3:4:5:6").is_ok());
        assert!(try_one("2001:db8:1:2:ffff::1").is_err());
        assert!(limiter.try_once("login 192.0.2.7", Limit::a_minute(1), START).is_ok(), "a name is no address");
    }

    #[test]
    fn a_flood_from_one_network_refuses_no_client_of_another() {
        let limiter = Limiter::default();
        let from = |address: u128| {
            limiter.try_address("login", Ipv6Addr::from_bits(address).into(), Limit::a_minute(10), START)
        };
        // All that a /48 has, many times.
        for network in 0..4 * KEYS_KEPT as u128 {
            let _ = from((0x2001_0db8_0001 << 80) | (network << 64));
        }
        assert!(from((0x2001_0db8_0001 << 80) | (0xffff << 64)).is_err(), "its neighbours share its group");
        let refused = (0..200_u128).filter(|other| from((0x2001_0db9_0000 + other) << 80).is_err()).count();
        // One group of 1,024 is the flood's, and another client is in it only by chance.
        assert!(refused <= 5, "{refused} of 200");
        assert!(limiter.try_once("an account", Limit::a_minute(1), START).is_ok());
    }
}
