//! How often each household may do something: so often at once, and again as time passes. In bounded memory, however
//! many households come.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::addresses::household;

/// Households that are remembered.
const MOST_HOUSEHOLDS: usize = 10_000;
/// When there are too many, so many are forgotten that a look at all of them is rare.
const KEPT_HOUSEHOLDS: usize = MOST_HOUSEHOLDS / 10 * 9;

pub struct Buckets {
    /// In which a household may do it once more.
    interval: Duration,
    /// In which it may do it as often as at first, after it has done so.
    filling: Duration,
    /// When each household may do it as often as at first. One that is not here may do so now.
    full_at: Mutex<HashMap<IpAddr, Instant>>,
}

impl Buckets {
    /// Both are at least 1.
    pub fn new(per_minute: u32, burst: u32) -> Self {
        let interval = Duration::from_secs(60) / per_minute.max(1);
        Self { interval, filling: interval * burst, full_at: Mutex::default() }
    }

    /// Whether it may be done now, and how long it takes until then if not. Nothing is counted.
    pub fn look(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let full_at = self.full_at.lock().get(&household(address)).copied();
        self.after(full_at, now).map(|_| ())
    }

    /// The same, and it is counted if it may be done.
    pub fn take(&self, address: IpAddr, now: Instant) -> Result<(), Duration> {
        let (household, mut all) = (household(address), self.full_at.lock());
        let known = all.get(&household).copied();
        let after = self.after(known, now)?;
        if known.is_none() && all.len() >= MOST_HOUSEHOLDS {
            make_room(&mut all, now);
        }
        all.insert(household, after);
        Ok(())
    }

    /// When the bucket would be full again after one more, or how long until there can be one more.
    fn after(&self, full_at: Option<Instant>, now: Instant) -> Result<Instant, Duration> {
        let after = full_at.unwrap_or(now).max(now) + self.interval;
        match (after - now).checked_sub(self.filling) {
            Some(wait) if !wait.is_zero() => Err(wait),
            _ => Ok(after),
        }
    }
}

/// Forgets households whose buckets are full, which changes nothing for them, and then those with the fullest ones. One
/// that has to wait is forgotten last: it would be free again.
fn make_room(full_at: &mut HashMap<IpAddr, Instant>, now: Instant) {
    full_at.retain(|_, at| *at > now);
    let mut excess = full_at.len().saturating_sub(KEPT_HOUSEHOLDS);
    if excess == 0 {
        return;
    }
    let mut moments: Vec<Instant> = full_at.values().copied().collect();
    let last = *moments.select_nth_unstable(excess - 1).1;
    full_at.retain(|_, at| {
        let goes = *at <= last && excess > 0;
        excess -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn numbered(number: usize) -> IpAddr {
        IpAddr::from(u32::try_from(number).unwrap().to_be_bytes())
    }

    #[test]
    fn so_many_at_once_and_more_as_time_passes() {
        let (buckets, now, visitor) = (Buckets::new(30, 5), Instant::now(), address("192.0.2.1"));
        for _ in 0..5 {
            assert_eq!(buckets.look(visitor, now), Ok(()));
            assert_eq!(buckets.take(visitor, now), Ok(()));
        }
        assert_eq!(buckets.take(visitor, now), Err(2 * SECOND));
        assert_eq!(buckets.look(visitor, now + SECOND), Err(SECOND), "who is refused owes nothing for it");
        assert_eq!(buckets.take(address("192.0.2.2"), now), Ok(()), "another one");
        assert_eq!(buckets.take(visitor, now + 2 * SECOND), Ok(()));
        assert_eq!(buckets.take(visitor, now + 2 * SECOND), Err(2 * SECOND));
        // Never more at once than at first, however long it was quiet.
        let later = now + 1000 * SECOND;
        assert_eq!((0..9).filter(|_| buckets.take(visitor, later).is_ok()).count(), 5);
    }

    #[test]
    fn a_household_has_one_bucket() {
        let (buckets, now) = (Buckets::new(1, 1), Instant::now());
        assert_eq!(buckets.take(address("2001:db8:1:2::1"), now), Ok(()));
        assert_eq!(buckets.take(address("2001:db8:1:2:ffff::9"), now), Err(60 * SECOND));
        assert_eq!(buckets.take(address("2001:db8:1:3::1"), now), Ok(()));
        assert_eq!(buckets.take(address("192.0.2.1"), now), Ok(()));
        assert!(buckets.take(address("::ffff:192.0.2.1"), now).is_err());
    }

    #[test]
    fn a_flood_of_addresses_frees_none_that_waits_and_locks_none_out() {
        let (buckets, now) = (Buckets::new(6, 10), Instant::now());
        let mut limited = (0..200).map(|last| address(&format!("192.0.2.{last}")));
        limited.clone().for_each(|household| while buckets.take(household, now).is_ok() {});
        for number in 0..5 * MOST_HOUSEHOLDS {
            assert_eq!(buckets.take(numbered(number), now), Ok(()), "a newcomer");
        }
        assert!(buckets.full_at.lock().len() <= MOST_HOUSEHOLDS);
        assert!(limited.clone().all(|household| buckets.take(household, now).is_err()));
        // Even when all others have done it almost as often.
        for number in 0..2 * MOST_HOUSEHOLDS {
            (0..8).for_each(|_| assert_eq!(buckets.take(numbered(number), now), Ok(())));
        }
        assert!(buckets.full_at.lock().len() <= MOST_HOUSEHOLDS);
        assert!(limited.all(|household| buckets.take(household, now).is_err()));
    }

    #[test]
    fn those_that_are_full_again_are_forgotten_first() {
        let (buckets, now) = (Buckets::new(60, 2), Instant::now());
        for number in 0..MOST_HOUSEHOLDS - 10 {
            buckets.take(numbered(number), now).unwrap();
        }
        let later = now + 2 * SECOND;
        for number in MOST_HOUSEHOLDS..MOST_HOUSEHOLDS + 10 {
            buckets.take(numbered(number), later).unwrap();
        }
        buckets.take(numbered(MOST_HOUSEHOLDS * 2), later).unwrap();
        assert_eq!(buckets.full_at.lock().len(), 11);
    }

    /// A look at all of them is rare.
    #[test]
    fn room_is_made_for_many_at_once() {
        let (mut full_at, now) = (HashMap::new(), Instant::now());
        for number in 0..MOST_HOUSEHOLDS {
            full_at.insert(numbered(number), now + SECOND);
        }
        make_room(&mut full_at, now);
        assert_eq!(full_at.len(), KEPT_HOUSEHOLDS);
    }
}
