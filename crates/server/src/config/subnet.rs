//! Ranges of IPv4 addresses.

use std::fmt;
use std::net::Ipv4Addr;

use ipnet::Ipv4Net;

/// Such as `10.192.0.0/12`. It begins where its range begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Subnet(Ipv4Net);

impl Subnet {
    /// The range that the address lies in, with the mask that routes have.
    pub fn masked(address: Ipv4Addr, mask: Ipv4Addr) -> Option<Self> {
        Ipv4Net::with_netmask(address, mask).ok().map(|net| Self(net.trunc()))
    }

    pub fn prefix(self) -> u8 {
        self.0.prefix_len()
    }

    pub fn overlaps(self, other: Self) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }

    /// The parts of it of this length, in order.
    pub fn parts(self, prefix: u8) -> impl Iterator<Item = Self> {
        self.0.subnets(prefix).into_iter().flatten().map(Self)
    }

    /// Addresses for hosts: not the network's own, not the gateway's (the first), not the broadcast one.
    pub fn hosts(self) -> impl Iterator<Item = Ipv4Addr> {
        self.0.hosts().skip(1)
    }

    pub fn gateway(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.0.network().to_bits() + 1)
    }
}

impl TryFrom<&str> for Subnet {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let net: Ipv4Net =
            text.parse().map_err(|_| "must be a range of IPv4 addresses, such as 10.192.0.0/12".to_owned())?;
        match net.trunc() {
            whole if whole == net => Ok(Self(net)),
            whole => Err(format!("must begin where the range begins: {whole}")),
        }
    }
}

impl From<Subnet> for Ipv4Net {
    fn from(subnet: Subnet) -> Self {
        subnet.0
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
