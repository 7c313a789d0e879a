//! The host that a request is for.

use hyper::Method;
use hyper::header::{HOST, HeaderValue};
use hyper::http::request::Parts;

/// The longest host, port included, that is accepted.
const LONGEST_HOST: usize = 260;

/// Which host a request is for.
pub struct Host {
    /// As it was sent, port included.
    pub sent: HeaderValue,
    /// In lower case, without port and final dot: what routes are found by.
    pub name: String,
}

impl Host {
    /// As it was sent.
    pub fn port(&self) -> Option<&str> {
        let sent = self.sent.to_str().ok()?;
        let after_address = sent.rsplit_once(']').map_or(sent, |(_, rest)| rest);
        after_address.split_once(':').map(|(_, port)| port).filter(|port| !port.is_empty())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadHost {
    Missing,
    Several,
    Malformed,
}

impl BadHost {
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Missing => "The request does not say which host it is for.",
            Self::Several => "The request names more than one host.",
            Self::Malformed => "The request's host is not a host name.",
        }
    }
}

/// The authority of the request's target goes before the `Host` header, as RFC 9112 wants it.
pub fn host(parts: &Parts) -> Result<Host, BadHost> {
    let mut named = parts.headers.get_all(HOST).iter();
    let header = named.next();
    if named.next().is_some() {
        return Err(BadHost::Several);
    }
    // Without a scheme it is the form that only CONNECT has.
    if parts.uri.authority().is_some() && parts.uri.scheme().is_none() && parts.method != Method::CONNECT {
        return Err(BadHost::Malformed);
    }
    let sent = match (parts.uri.authority(), header) {
        (Some(authority), _) => HeaderValue::from_str(authority.as_str()).map_err(|_| BadHost::Malformed)?,
        (None, Some(header)) => header.clone(),
        (None, None) => return Err(BadHost::Missing),
    };
    let name = host_name(sent.as_bytes()).ok_or(BadHost::Malformed)?;
    Ok(Host { sent, name })
}

fn host_name(sent: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(sent).ok().filter(|text| !text.is_empty() && text.len() <= LONGEST_HOST)?;
    let name = match text.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            let address: std::net::Ipv6Addr = address.parse().ok()?;
            (port.is_empty() || is_port(port.strip_prefix(':')?)).then_some(())?;
            // In the one form that routes have, whichever the visitor has written.
            return Some(format!("[{address}]"));
        }
        None => match text.split_once(':') {
            Some((name, port)) => is_port(port).then_some(name)?,
            None => text,
        },
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (!name.is_empty() && !name.ends_with('.') && name.bytes().all(is_name)).then(|| name.to_ascii_lowercase())
}

fn is_port(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_by_name_only() {
        for (sent, name) in [
            ("Shop.Example.org:8080", Some("shop.example.org")),
            ("shop.example.org.", Some("shop.example.org")),
            ("[::1]:80", Some("[::1]")),
            ("[0:0::0001]", Some("[::1]")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("a_b.example.org", Some("a_b.example.org")),
            ("", None),
            (".", None),
            ("shop.example.org..", None),
            ("a b", None),
            ("user@host", None),
            ("host:port", None),
            ("[::1", None),
            ("[nonsense]", None),
            ("host/path", None),
        ] {
            assert_eq!(host_name(sent.as_bytes()).as_deref(), name, "{sent}");
        }
    }
}
