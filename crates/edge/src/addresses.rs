//! Clients by their address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ipnet::Ipv4Net;
use parking_lot::Mutex;

/// One household has one IPv4 address or one IPv6 /64: the beginning of the latter stands for all of it.
pub fn household(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

/// Neighbours are likely to be one person's too: an IPv4 /24, an IPv6 /48.
pub fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 80)).into(),
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << 8)).into(),
    }
}

/// How many connections each household has. The containers of one organization are one household: each of them has an address.
#[derive(Clone)]
pub struct HouseholdCounts {
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
    /// All addresses of containers. Each organization has a /24 of them.
    containers: Ipv4Net,
}

/// One of them. It counts until it is dropped.
pub struct Counted {
    household: IpAddr,
    counts: HouseholdCounts,
}

impl HouseholdCounts {
    pub fn new(containers: Ipv4Net) -> Self {
        Self { counts: Arc::default(), containers }
    }

    /// None when the household has so many already.
    pub fn add(&self, address: IpAddr, limit: usize) -> Option<Counted> {
        let household = self.household(address);
        let mut counts = self.counts.lock();
        let count = counts.entry(household).or_default();
        if *count >= limit {
            return None;
        }
        *count += 1;
        Some(Counted { household, counts: self.clone() })
    }

    /// What an address counts as.
    pub fn household(&self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V4(v4) if self.containers.contains(&v4) => neighbourhood(address),
            _ => household(address),
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.counts.counts.lock();
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
        assert_eq!(neighbourhood(address("2001:db8:1:2:3:4:5:6")), address("2001:db8:1::"));
        assert_eq!(neighbourhood(address("::ffff:192.0.2.7")), address("192.0.2.0"));
    }

    #[test]
    fn counts_until_dropped_and_keeps_nothing() {
        let counts = HouseholdCounts::new("10.192.0.0/12".parse().unwrap());
        let first = counts.add(address("2001:db8::1"), 2);
        let second = counts.add(address("2001:db8::2"), 2);
        assert!(first.is_some() && second.is_some());
        assert!(counts.add(address("2001:db8::3"), 2).is_none(), "the same network");
        assert!(counts.add(address("192.0.2.7"), 2).is_some(), "another one");
        drop(first);
        assert!(counts.add(address("2001:db8::3"), 2).is_some());
        let containers = [counts.add(address("10.192.5.2"), 2), counts.add(address("::ffff:10.192.5.3"), 2)];
        assert!(containers.iter().all(Option::is_some));
        assert!(counts.add(address("10.192.5.4"), 2).is_none(), "the same organization");
        assert!(counts.add(address("10.192.6.4"), 2).is_some(), "another one");
        assert!(counts.add(address("10.0.5.4"), 1).is_some() && counts.add(address("10.0.5.5"), 1).is_some());
        drop(containers);
        drop(second);
        assert!(counts.counts.lock().is_empty());
    }
}
