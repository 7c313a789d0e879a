//! Where Windlass may send things on behalf of a user. Addresses of the server's own network are not theirs to reach, unless
//! the operator says so.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};
use windlass_api::is_local_name;

use crate::app::App;
use crate::error::{Error, Result};

/// A web address, when it is saved. What sends to it has to check again: names change where they lead.
pub async fn check_url(app: &App, field: &str, text: &str) -> Result<()> {
    let refuse = |problem: &str| Err(Error::field(field, problem));
    let Ok(url) = Url::parse(text) else {
        return refuse("must be a web address, such as https://hooks.example.org/abc");
    };
    if !matches!(url.scheme(), "https" | "http") {
        return refuse("must begin with https:// or http://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refuse("must not contain a user name or a password");
    }
    if url.port() == Some(0) {
        return refuse("has the port 0, where nothing can listen");
    }
    match url.host() {
        None => refuse("names no host"),
        Some(Host::Ipv4(address)) => check_address(app, field, address.into()),
        Some(Host::Ipv6(address)) => check_address(app, field, address.into()),
        Some(Host::Domain(name)) => check_name(app, field, name).await,
    }
}

/// A host name or an address.
pub async fn check_host(app: &App, field: &str, host: &str) -> Result<()> {
    match host.parse() {
        Ok(address) => check_address(app, field, address),
        Err(_) => check_name(app, field, host).await,
    }
}

async fn check_name(app: &App, field: &str, name: &str) -> Result<()> {
    // Dots at the end change how a name is looked up, not what it means.
    let name = name.trim_end_matches('.');
    if name.is_empty() {
        return Err(Error::field(field, "names no host"));
    }
    if app.config.allow_private_targets {
        return Ok(());
    }
    if is_local_name(name) {
        return Err(private(field));
    }
    if let Ok(address) = name.parse() {
        return check_address(app, field, address);
    }
    for address in app.resolver.addresses(name).await? {
        check_address(app, field, address)?;
    }
    Ok(())
}

fn check_address(app: &App, field: &str, address: IpAddr) -> Result<()> {
    if app.config.allow_private_targets || is_public(address) {
        return Ok(());
    }
    Err(private(field))
}

fn private(field: &str) -> Error {
    let problem = "leads to a private address. The operator can allow that with the setting allow-private-targets.";
    Error::field(field, problem)
}

/// Whether an address belongs to the internet at large.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_protocol = (a, b, c) == (192, 0, 0);
    let is_benchmark = a == 198 && (b == 18 || b == 19);
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || is_shared
        || is_protocol
        || is_benchmark)
}

/// Addresses that carry an IPv4 address inside lead to that one.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b) {
        (0x2002, _) => embedded(b, c),
        (0x64, 0xff9b) if [c, d, e, f] == [0; 4] => embedded(g, h),
        // ISATAP, under any prefix.
        _ if e & !0x0200 == 0 && f == 0x5efe => a & 0xe000 == 0x2000 && embedded(g, h),
        // Teredo hides an address, local NAT64 is local, and what is below 0x2000 is not the internet.
        (0x2001, 0) => false,
        _ => a & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_in_every_disguise() {
        let private = [
            "127.0.0.1",
            "127.9.9.9",
            "10.1.2.3",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12:3456::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2002:c0a8:101::",
            "2001:0:1::1",
            "100::1",
            "2620::5efe:127.0.0.1",
            "2620::200:5efe:10.0.0.1",
        ];
        for text in private {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
        for text in
            ["1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2002:808:808::", "64:ff9b::808:808"]
        {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
