use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::at::At;
use crate::bounds::MOST_PORTS;
use crate::problems::{Problems, shown};

/// A port of the container that the host publishes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Port {
    pub container: u16,
    pub protocol: Protocol,
    /// The host's port; without it, one that is free.
    pub published: Option<u16>,
    /// The host's address; without it, all of them.
    pub address: Option<IpAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    Tcp,
    Udp,
    Sctp,
}

const LONG: &[&str] = &["app_protocol", "host_ip", "mode", "name", "protocol", "published", "target"];

/// The ports of a service, in the short form or the long one.
pub fn read(at: &At<'_>, problems: &mut Problems) -> Vec<Port> {
    let mut all: Vec<Port> = Vec::new();
    for item in at.one_or_more(problems) {
        let ports = if item.node.as_map().is_some() { long(&item, problems) } else { item.parse(problems, short) };
        for port in ports.unwrap_or_default() {
            if !all.contains(&port) {
                all.push(port);
            }
        }
    }
    if all.len() > MOST_PORTS {
        at.problem(problems, format!("asks for {} ports; at most {MOST_PORTS} are allowed", all.len()));
    }
    all
}

/// `[[ADDRESS:]PORT:]PORT[/PROTOCOL]`, with ranges for both ports.
fn short(text: &str) -> Result<Vec<Port>, String> {
    let (ports, protocol) = match text.split_once('/') {
        Some((ports, name)) => (ports, protocol(name)?),
        None => (text, Protocol::Tcp),
    };
    let (host, container) = match ports.rsplit_once(':') {
        Some((host, container)) => (Some(host), container),
        None => (None, ports),
    };
    let (ip, published) = match host.and_then(|host| host.rsplit_once(':')) {
        Some((ip, published)) => (Some(address(ip)?), Some(published)),
        None => (None, host),
    };
    pair(range(container)?, published.filter(|published| !published.is_empty()), ip, protocol)
}

fn long(at: &At<'_>, problems: &mut Problems) -> Option<Vec<Port>> {
    let (mut target, mut published, mut ip, mut kind) = (None, None, None, Some(Protocol::Tcp));
    for (key, field) in at.fields(LONG, problems) {
        match key {
            "target" => target = Some(field.parse(problems, range)?),
            "published" => published = Some(field.text(problems)?),
            "host_ip" => ip = Some(field.parse(problems, address)?),
            "protocol" => kind = field.parse(problems, protocol),
            // How a cluster spreads requests, and names for people: there is one host.
            _ => {}
        }
    }
    let Some(target) = target else {
        at.problem(problems, "needs \"target\", the port of the container");
        return None;
    };
    pair(target, published.as_deref(), ip, kind?).map_err(|message| at.problem(problems, message)).ok()
}

type Range = (u16, u16);

/// Each port of the container with its port of the host.
fn pair(container: Range, published: Option<&str>, ip: Option<IpAddr>, kind: Protocol) -> Result<Vec<Port>, String> {
    let host = match published {
        None | Some("0") => None,
        Some(text) => Some(range(text)?),
    };
    let count = |(first, last): Range| usize::from(last - first) + 1;
    if let Some(host) = host
        && count(host) != count(container)
    {
        return Err("must name as many ports of the host as of the container".into());
    }
    if count(container) > MOST_PORTS {
        return Err(format!("asks for {} ports; at most {MOST_PORTS} are allowed", count(container)));
    }
    let port = |number: u16| Port {
        container: number,
        protocol: kind,
        published: host.map(|(first, _)| first + (number - container.0)),
        address: ip,
    };
    Ok((container.0..=container.1).map(port).collect())
}

/// One port, or the first and the last of several: `80` or `3000-3005`.
pub fn range(text: &str) -> Result<Range, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u16>().ok().filter(|number| *number > 0 && !text.starts_with('+'));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok((first, last)),
        _ => Err(format!("must be a port from 1 to 65535 or a range such as \"3000-3005\", and is {}", shown(text))),
    }
}

fn protocol(text: &str) -> Result<Protocol, String> {
    match text.to_ascii_lowercase().as_str() {
        "tcp" => Ok(Protocol::Tcp),
        "udp" => Ok(Protocol::Udp),
        "sctp" => Ok(Protocol::Sctp),
        _ => Err(format!("must have the protocol tcp, udp or sctp, and has {}", shown(text))),
    }
}

fn address(text: &str) -> Result<IpAddr, String> {
    let plain = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    plain
        .parse()
        .map_err(|_| format!("must have an address such as 127.0.0.1 before the ports, and has {}", shown(text)))
}

/// Ports that other services may use. Nothing is published; the protocol changes nothing.
pub fn exposed(at: &At<'_>, problems: &mut Problems) -> Vec<u16> {
    let ports = at.parse_each(problems, |text| {
        let (ports, name) = text.split_once('/').unwrap_or((text, "tcp"));
        protocol(name)?;
        range(ports)
    });
    let mut all: Vec<u16> = Vec::new();
    for port in ports.into_iter().flat_map(|(first, last)| first..=last) {
        if all.len() <= MOST_PORTS && !all.contains(&port) {
            all.push(port);
        }
    }
    if all.len() > MOST_PORTS {
        at.problem(problems, format!("names more than {MOST_PORTS} ports"));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Result<Vec<String>, String> {
        let show = |port: &Port| {
            let host = port.published.map_or("*".into(), |port| port.to_string());
            let address = port.address.map_or("*".into(), |address| address.to_string());
            format!("{address} {host} {} {:?}", port.container, port.protocol)
        };
        short(text).map(|ports| ports.iter().map(show).collect())
    }

    #[test]
    fn short_ports() {
        let cases: [(&str, &[&str]); 9] = [
            ("80", &["* * 80 Tcp"]),
            ("8080:80", &["* 8080 80 Tcp"]),
            ("53:53/udp", &["* 53 53 Udp"]),
            ("127.0.0.1:8080:80", &["127.0.0.1 8080 80 Tcp"]),
            ("127.0.0.1::80", &["127.0.0.1 * 80 Tcp"]),
            ("[::1]:8080:80", &["::1 8080 80 Tcp"]),
            ("3000-3001", &["* * 3000 Tcp", "* * 3001 Tcp"]),
            ("9000-9001:80-81/udp", &["* 9000 80 Udp", "* 9001 81 Udp"]),
            ("0:80", &["* * 80 Tcp"]),
        ];
        for (text, ports) in cases {
            assert_eq!(shown(text).unwrap(), ports, "{text}");
        }
    }

    #[test]
    fn wrong_ports() {
        for text in [
            "",
            "a",
            "0",
            "65536",
            "80/icmp",
            "80:",
            "1-2:80",
            "81-80",
            "127.0.0.1:80",
            "x:1:2",
            "1-65535",
            "-1",
            "+80",
            "80 81",
            "1-2-3",
        ] {
            assert!(short(text).is_err(), "{text}");
        }
    }
}
