//! How often one address may ask for a handshake: each costs the edge about a thousand times what it costs the visitor.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::addresses::HouseholdCounts;
use crate::settings::Settings;

/// Households that are remembered. Beyond them, all others count as one.
const MOST_HOUSEHOLDS: usize = 50_000;
/// What a household may ask for at once: as much as in so long at its pace.
const AT_ONCE: Duration = Duration::from_secs(4);

/// When each household may have its next handshake without having to wait.
pub struct Pace {
    /// Between two handshakes of one household; none for no limit.
    interval: Option<Duration>,
    /// Those who would wait for longer are refused.
    longest_wait: Duration,
    trusted_proxies: Vec<IpAddr>,
    households: HouseholdCounts,
    free: Mutex<HashMap<Option<IpAddr>, Instant>>,
}

impl Pace {
    pub fn new(settings: &Settings) -> Self {
        let per_second = settings.address_handshakes;
        Self {
            interval: (per_second > 0).then(|| Duration::from_secs(1) / per_second),
            longest_wait: settings.head_limit,
            trusted_proxies: settings.trusted_proxies.iter().map(IpAddr::to_canonical).collect(),
            households: HouseholdCounts::new(settings.containers),
            free: Mutex::default(),
        }
    }

    /// How long a handshake that is asked for now has to wait; none if that is too long.
    pub fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let Some(interval) = self.interval.filter(|_| !self.trusted_proxies.contains(&address.to_canonical())) else {
            return Some(Duration::ZERO);
        };
        let mut free = self.free.lock();
        if free.len() >= MOST_HOUSEHOLDS {
            free.retain(|_, at| *at > now);
        }
        let household = Some(self.households.household(address));
        let is_known = free.len() < MOST_HOUSEHOLDS || free.contains_key(&household);
        let next = free.entry(if is_known { household } else { None }).or_insert(now);
        let after = (*next).max(now) + interval;
        let wait = after.saturating_duration_since(now).saturating_sub(AT_ONCE);
        if wait >= self.longest_wait {
            return None;
        }
        *next = after;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(per_second: u32) -> Pace {
        Pace {
            interval: (per_second > 0).then(|| Duration::from_secs(1) / per_second),
            longest_wait: Duration::from_secs(2),
            trusted_proxies: vec![address("192.0.2.9")],
            households: HouseholdCounts::new("10.192.0.0/12".parse().unwrap()),
            free: Mutex::default(),
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_household_waits_and_no_other() {
        let (unlimited, pace, now, none) = (pace(0), pace(10), Instant::now(), Some(Duration::ZERO));
        let waits: Vec<_> = (0..100).map(|_| pace.wait(address("192.0.2.1"), now)).collect();
        assert!(waits[..40].iter().all(|wait| *wait == none), "{waits:?}");
        assert_eq!(waits[49], Some(Duration::from_secs(1)));
        // Who would wait for too long is refused, and owes nothing for it.
        assert_eq!(waits[99], None);
        assert_eq!(pace.wait(address("192.0.2.1"), now + Duration::from_secs(3)), none);
        assert_eq!(pace.wait(address("192.0.2.2"), now), none);
        assert!((0..100).all(|_| pace.wait(address("::ffff:192.0.2.9"), now) == none), "a trusted proxy");
        assert!((0..100).all(|_| unlimited.wait(address("192.0.2.1"), now) == none), "no limit");
    }

    #[test]
    fn containers_of_one_organization_are_one_household() {
        let (pace, now) = (pace(1), Instant::now());
        let waits: Vec<_> = (2..12).map(|last| pace.wait(address(&format!("10.192.5.{last}")), now)).collect();
        assert_eq!(waits[9], None, "{waits:?}");
    }

    #[test]
    fn a_flood_of_addresses_shares_one_pace() {
        let (pace, now) = (pace(1), Instant::now());
        let address = |number: usize| IpAddr::from(u32::try_from(number).unwrap().to_be_bytes());
        for number in 0..MOST_HOUSEHOLDS + 10 {
            pace.wait(address(number), now);
        }
        assert!(pace.free.lock().len() <= MOST_HOUSEHOLDS + 1);
        assert_ne!(pace.wait(address(MOST_HOUSEHOLDS + 20), now), Some(Duration::ZERO));
        assert_eq!(pace.wait(address(3), now), Some(Duration::ZERO), "it is still known");
    }
}
