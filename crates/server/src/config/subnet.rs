//! Ranges of IPv4 addresses.

use std::fmt;
use std::net::Ipv4Addr;

/// Such as `10.192.0.0/12`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subnet {
    first: u32,
    pub prefix: u8,
}

impl Subnet {
    /// The range of this length that the address lies in.
    pub const fn around(address: Ipv4Addr, prefix: u8) -> Self {
        let mask = if prefix == 0 { 0 } else { u32::MAX << (32 - prefix as u32) };
        Self { first: address.to_bits() & mask, prefix }
    }

    /// How many addresses it has.
    const fn size(self) -> u64 {
        1 << (32 - self.prefix as u64)
    }

    pub fn overlaps(self, other: Self) -> bool {
        let end = |subnet: Self| u64::from(subnet.first) + subnet.size();
        u64::from(self.first) < end(other) && u64::from(other.first) < end(self)
    }

    /// The parts of it of this length, in order.
    pub fn parts(self, prefix: u8) -> impl Iterator<Item = Self> {
        let count = if prefix < self.prefix { 0 } else { 1_u32 << (prefix - self.prefix) };
        let first = self.first;
        (0..count).map(move |index| Self { first: first + (index << (32 - u32::from(prefix))), prefix })
    }

    /// Addresses for hosts: not the network's own, not the gateway's (the first), not the broadcast one.
    pub fn hosts(self) -> impl Iterator<Item = Ipv4Addr> {
        let first = u64::from(self.first);
        (2..self.size() - 1).filter_map(move |offset| u32::try_from(first + offset).ok().map(Ipv4Addr::from_bits))
    }

    pub fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first + 1)
    }
}

impl TryFrom<&str> for Subnet {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let parsed = text.split_once('/').and_then(|(address, prefix)| {
            let address: Ipv4Addr = address.parse().ok()?;
            let prefix: u8 = prefix.parse().ok()?;
            (prefix <= 32).then(|| (address, Self::around(address, prefix)))
        });
        match parsed {
            Some((address, subnet)) if address.to_bits() == subnet.first => Ok(subnet),
            Some((_, subnet)) => Err(format!("must begin where the range begins: {subnet}")),
            None => Err("must be a range of IPv4 addresses, such as 10.192.0.0/12".into()),
        }
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", Ipv4Addr::from_bits(self.first), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(text: &str) -> Subnet {
        Subnet::try_from(text).unwrap()
    }

    #[test]
    fn only_whole_ranges_are_taken() {
        assert_eq!(subnet("10.192.0.0/12").to_string(), "10.192.0.0/12");
        assert!(Subnet::try_from("10.192.0.1/12").unwrap_err().contains("10.192.0.0/12"));
        for text in ["", "10.0.0.0", "10.0.0.0/33", "10.0.0/8", "::/8", "10.0.0.0/-1"] {
            assert!(Subnet::try_from(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_and_hosts() {
        let parts: Vec<_> = subnet("10.192.0.0/22").parts(24).map(|part| part.to_string()).collect();
        assert_eq!(parts, ["10.192.0.0/24", "10.192.1.0/24", "10.192.2.0/24", "10.192.3.0/24"]);
        let hosts: Vec<_> = subnet("10.192.3.0/24").hosts().collect();
        assert_eq!(hosts.len(), 253);
        assert_eq!(hosts[0], Ipv4Addr::new(10, 192, 3, 2));
        assert_eq!(hosts[252], Ipv4Addr::new(10, 192, 3, 254));
        assert_eq!(subnet("255.255.255.0/24").hosts().count(), 253);
    }

    #[test]
    fn overlaps_are_seen_both_ways() {
        for (a, b, overlap) in [
            ("10.0.0.0/8", "10.192.0.0/12", true),
            ("10.192.0.0/24", "10.192.1.0/24", false),
            ("0.0.0.0/0", "255.255.255.0/24", true),
        ] {
            assert_eq!(subnet(a).overlaps(subnet(b)), overlap, "{a} {b}");
            assert_eq!(subnet(b).overlaps(subnet(a)), overlap, "{b} {a}");
        }
    }
}
