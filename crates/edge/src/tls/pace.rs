//! How often one address may ask for a handshake: each costs the edge about a thousand times what it costs the visitor.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::addresses::household;

/// Households that are remembered. Beyond them, all others count as one.
const MOST_HOUSEHOLDS: usize = 50_000;
/// What a household may ask for at once, as seconds of its pace.
const AT_ONCE: u32 = 4;

/// When each household may have its next handshake without having to wait.
pub struct Pace {
    /// Between two handshakes of one household; none for no limit.
    interval: Option<Duration>,
    free: Mutex<HashMap<Option<IpAddr>, Instant>>,
}

impl Pace {
    pub fn new(per_second: u32) -> Self {
        let interval = (per_second > 0).then(|| Duration::from_secs(1) / per_second);
        Self { interval, free: Mutex::default() }
    }

    /// How long a handshake that is asked for now has to wait.
    pub fn wait(&self, address: IpAddr, now: Instant) -> Duration {
        let Some(interval) = self.interval else { return Duration::ZERO };
        let mut free = self.free.lock();
        if free.len() >= MOST_HOUSEHOLDS {
            free.retain(|_, at| *at > now);
        }
        let household = Some(household(address));
        let is_known = free.len() < MOST_HOUSEHOLDS || free.contains_key(&household);
        let next = free.entry(if is_known { household } else { None }).or_insert(now);
        *next = (*next).max(now) + interval;
        next.saturating_duration_since(now).saturating_sub(Duration::from_secs(1) * AT_ONCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_household_waits_and_no_other() {
        let (pace, now) = (Pace::new(10), Instant::now());
        let (one, other): (IpAddr, IpAddr) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let waits: Vec<Duration> = (0..50).map(|_| pace.wait(one, now)).collect();
        assert!(waits[..40].iter().all(Duration::is_zero), "{waits:?}");
        assert_eq!(waits[49], Duration::from_secs(1));
        assert_eq!(pace.wait(other, now), Duration::ZERO);
        assert_eq!(pace.wait(one, now + Duration::from_secs(10)), Duration::ZERO);
        assert_eq!(Pace::new(0).wait(one, now), Duration::ZERO);
    }

    #[test]
    fn a_flood_of_addresses_shares_one_pace() {
        let (pace, now) = (Pace::new(1), Instant::now());
        let address = |number: usize| IpAddr::from(u32::try_from(number).unwrap().to_be_bytes());
        for number in 0..MOST_HOUSEHOLDS + 10 {
            pace.wait(address(number), now);
        }
        assert!(pace.free.lock().len() <= MOST_HOUSEHOLDS + 1);
        assert!(pace.wait(address(MOST_HOUSEHOLDS + 20), now) > Duration::ZERO);
        assert_eq!(pace.wait(address(3), now), Duration::ZERO, "it is still known");
    }
}
