//! The name servers that the machine uses.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

const FILE: &str = "/etc/resolv.conf";
const PORT: u16 = 53;
/// As many as the system's own resolver asks.
const MOST: usize = 3;

/// Read anew each time: the file changes with the network.
pub fn of_machine() -> Vec<SocketAddr> {
    listed(&std::fs::read_to_string(Path::new(FILE)).unwrap_or_default())
}

/// A machine without any asks itself, as its own resolver does.
fn listed(text: &str) -> Vec<SocketAddr> {
    let mut servers = Vec::new();
    for mut line in text.lines().map(str::split_whitespace) {
        let address = (line.next() == Some("nameserver")).then(|| line.next()).flatten();
        let address = address.and_then(|text| text.split('%').next()?.parse::<IpAddr>().ok());
        servers.extend(address.map(|address| SocketAddr::new(address, PORT)));
    }
    servers.truncate(MOST);
    if servers.is_empty() { vec![SocketAddr::new([127, 0, 0, 1].into(), PORT)] } else { servers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_three_are_asked() {
        let text = "# nameserver 1.1.1.1\nsearch example.org\nnameserver 192.0.2.1\n nameserver  2001:db8::1\nnameserver nonsense\n\
                    nameserver fe80::1%eth0\nnameserver 192.0.2.4\n";
        let addresses: Vec<String> = listed(text).iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["192.0.2.1:53", "[2001:db8::1]:53", "[fe80::1]:53"]);
        assert_eq!(listed("").len(), 1);
    }
}
