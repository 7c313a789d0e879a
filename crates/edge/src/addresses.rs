//! Clients by their address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;

/// One household has one IPv4 address or one IPv6 /64: the beginning of the latter stands for all of it.
pub fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// How many connections each household has.
#[derive(Clone, Default)]
pub struct HouseholdCounts(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of them. It counts until it is dropped.
pub struct Counted {
    household: IpAddr,
    counts: HouseholdCounts,
}

impl HouseholdCounts {
    /// None when the household has so many already.
    pub fn add(&self, address: IpAddr, limit: usize) -> Option<Counted> {
        let household = household(address);
        let mut counts = self.0.lock();
        let count = counts.entry(household).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(Counted { household, counts: self.clone() })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        match counts.get_mut(&self.household) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                counts.remove(&self.household);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_household_has_one_address_or_one_network() {
        assert_eq!(household(address("192.0.2.7")), address("192.0.2.7"));
        assert_eq!(household(address("::ffff:192.0.2.7")), address("192.0.2.7"));
        assert_eq!(household(address("2001:db8:1:2:3:4:5:6")), address("2001:db8:1:2::"));
        assert_ne!(household(address("2001:db8:1:2::1")), household(address("2001:db8:1:3::1")));
    }

    #[test]
    fn counts_until_dropped_and_keeps_nothing() {
        let counts = HouseholdCounts::default();
        let first = counts.add(address("2001:db8::1"), 2);
        let second = counts.add(address("2001:db8::2"), 2);
        assert!(first.is_some() && second.is_some());
        assert!(counts.add(address("2001:db8::3"), 2).is_none(), "the same network");
        assert!(counts.add(address("192.0.2.7"), 2).is_some(), "another one");
        drop(first);
        assert!(counts.add(address("2001:db8::3"), 2).is_some());
        drop(second);
        assert!(counts.0.lock().is_empty());
    }
}
