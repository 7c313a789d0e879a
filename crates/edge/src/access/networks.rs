//! Which addresses come in.

use std::net::IpAddr;

use ipnet::{IpNet, Ipv4Net};

pub struct Networks {
    /// Empty for all.
    allow: Vec<IpNet>,
    deny: Vec<IpNet>,
}

impl Networks {
    pub fn new(allow: &[IpNet], deny: &[IpNet]) -> Self {
        let canonical = |networks: &[IpNet]| networks.iter().copied().map(canonical).collect();
        Self { allow: canonical(allow), deny: canonical(deny) }
    }

    pub fn let_in(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_in = |networks: &[IpNet]| networks.iter().any(|network| network.contains(&address));
        !is_in(&self.deny) && (self.allow.is_empty() || is_in(&self.allow))
    }
}

/// A network of IPv4 addresses that are written as IPv6 is one of IPv4, as addresses of visitors are.
fn canonical(network: IpNet) -> IpNet {
    const MAPPED_BITS: u8 = 96;
    let mapped = match (network.network().to_canonical(), network.prefix_len().checked_sub(MAPPED_BITS)) {
        (IpAddr::V4(address), Some(prefix)) if network.network().is_ipv6() => Ipv4Net::new(address, prefix).ok(),
        _ => None,
    };
    mapped.map_or(network, IpNet::V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn networks(texts: &[&str]) -> Vec<IpNet> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn those_who_are_denied_stay_out_and_only_those_who_are_allowed_come_in() {
        for (allow, deny, address, comes_in) in [
            (&[][..], &[][..], "192.0.2.1", true),
            (&["192.0.2.0/24"], &[], "192.0.2.1", true),
            (&["192.0.2.0/24"], &[], "::ffff:192.0.2.1", true),
            (&["::ffff:192.0.2.0/120"], &[], "192.0.2.1", true),
            (&["::ffff:192.0.2.0/120"], &[], "192.0.3.1", false),
            (&["192.0.2.0/24"], &[], "198.51.100.1", false),
            (&["192.0.2.0/24"], &["192.0.2.7/32"], "192.0.2.7", false),
            (&["192.0.2.0/24"], &["192.0.2.7/32"], "192.0.2.8", true),
            (&[], &["::ffff:192.0.2.7/128"], "192.0.2.7", false),
            (&[], &["0.0.0.0/0"], "::ffff:192.0.2.7", false),
            (&[], &["0.0.0.0/0"], "2001:db8::1", true),
            (&["2001:db8::/32"], &[], "2001:db8:1::1", true),
            (&["2001:db8::/32"], &[], "192.0.2.1", false),
            (&["::/0"], &[], "192.0.2.1", false),
        ] {
            let let_in = Networks::new(&networks(allow), &networks(deny)).let_in(address.parse().unwrap());
            assert_eq!(let_in, comes_in, "{address} of {allow:?} without {deny:?}");
        }
    }
}
