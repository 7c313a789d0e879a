//! Addresses that containers may reach although they are this machine's own, or a cloud's metadata.

use std::net::IpAddr;

use ipnet::IpNet;

/// Such as `10.0.0.5`, `192.168.0.0/24:5432` or `[fd00::5]:53`. Without a port: all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    pub addresses: IpNet,
    pub port: Option<u16>,
}

impl TryFrom<&str> for Reach {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let problem = "must be ADDRESS, ADDRESS/BITS or one of them with :PORT, such as 10.0.0.5:5432 or [fd00::5]:53";
        let (addresses, port) = split(text).ok_or(problem)?;
        let addresses = parsed(addresses).ok_or(problem)?;
        if addresses.trunc() != addresses {
            return Err(format!("must begin where the range begins: {}", addresses.trunc()));
        }
        match port.map(str::parse) {
            None => Ok(Self { addresses, port: None }),
            Some(Ok(port)) if port > 0 => Ok(Self { addresses, port: Some(port) }),
            Some(_) => Err("must have a port from 1 to 65535".into()),
        }
    }
}

/// The addresses, and the port. One of IPv6 has its addresses in brackets if it has a port.
fn split(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (addresses, rest) = rest.split_once(']')?;
        return Some((addresses, Some(rest.strip_prefix(':')?)));
    }
    match text.split_once(':') {
        Some((addresses, port)) if !port.contains(':') => Some((addresses, Some(port))),
        _ => Some((text, None)),
    }
}

fn parsed(text: &str) -> Option<IpNet> {
    match text.parse::<IpAddr>() {
        Ok(address) => Some(address.into()),
        Err(_) => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_listed() {
        for (text, addresses, port) in [
            ("10.0.0.5", "10.0.0.5/32", None),
            ("10.0.0.5:5432", "10.0.0.5/32", Some(5432)),
            ("192.168.0.0/24:65535", "192.168.0.0/24", Some(65_535)),
            ("0.0.0.0/0", "0.0.0.0/0", None),
            ("fd00::5", "fd00::5/128", None),
            ("::/0", "::/0", None),
            ("[fd00::5]:53", "fd00::5/128", Some(53)),
            ("[fd00::/64]:53", "fd00::/64", Some(53)),
        ] {
            let expected = Reach { addresses: addresses.parse().unwrap(), port };
            assert_eq!(Reach::try_from(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot() {
        for text in [
            "",
            "db.example.org",
            "10.0.0.5:",
            "10.0.0.5:0",
            "10.0.0.5:65536",
            "10.0.0.5:x",
            ":5432",
            "10.0.0/24",
            "10.0.0.0/33",
            "[fd00::5]",
            "[fd00::5]53",
            "[fd00::5",
            "fd00::5]:53",
            "10.0.0.5 -j ACCEPT",
            "10.0.0.5\n",
        ] {
            assert!(Reach::try_from(text).is_err(), "{text}");
        }
        assert!(Reach::try_from("10.0.0.5/24").unwrap_err().contains("10.0.0.0/24"));
    }
}
