//! Where a request comes from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Version, header};

use crate::app::App;
use crate::error::{Error, Result};

/// Where a request comes from, known or not.
#[derive(Clone, Debug)]
pub struct Origin {
    pub address: IpAddr,
    pub user_agent: String,
    pub request_id: String,
    /// The other end of the connection: the client, a proxy or the edge.
    pub peer: Peer,
    /// Whether a program stands between the client and this server, as far as that shows in the request.
    pub is_forwarded: bool,
}

/// The peer of the connection, put into each request by the listener.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub address: SocketAddr,
    /// This end of the connection.
    pub local: SocketAddr,
    /// Whether it is a program of our own user at the listener for the edge, which says for whom it speaks.
    pub is_edge: bool,
}

impl Peer {
    /// Whether what it says of its client is believed.
    pub fn is_trusted(&self, trusted: &[IpAddr]) -> bool {
        self.is_edge || trusted.contains(&self.address.ip().to_canonical())
    }
}

/// The id of the request, put into it by the outermost layer.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

impl FromRequestParts<Arc<App>> for Origin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self> {
        let missing = || Error::internal("the request carries no peer address or id");
        let peer: Peer = parts.extensions.get().copied().ok_or_else(missing)?;
        let RequestId(request_id) = parts.extensions.get().cloned().ok_or_else(missing)?;
        let user_agent = header_text(&parts.headers, header::USER_AGENT.as_str()).unwrap_or_default();
        let user_agent = user_agent.chars().filter(|c| !c.is_control()).take(200).collect();
        let address = real_address(peer, &parts.headers, &app.config.trusted_proxies);
        let is_forwarded = is_forwarded(parts);
        Ok(Self { address, user_agent, request_id, peer, is_forwarded })
    }
}

/// What proxies add to a request, each some of these.
const FORWARDED: [&str; 5] = ["forwarded", "via", "x-real-ip", "cf-connecting-ip", "true-client-ip"];
const FORWARDED_BEGINNING: &str = "x-forwarded-";

/// nginx adds nothing if it is not told to; but then it speaks HTTP/1.0, which no other client does any more.
fn is_forwarded(parts: &Parts) -> bool {
    let is_of_proxy = |name: &str| FORWARDED.contains(&name) || name.starts_with(FORWARDED_BEGINNING);
    parts.version == Version::HTTP_10 || parts.headers.keys().any(|name| is_of_proxy(name.as_str()))
}

/// The peer, or whom the edge or a trusted proxy speaks for: the last address in `X-Forwarded-For` that is not a trusted proxy itself.
/// What stands before it was written by the client and proves nothing.
pub fn real_address(peer: Peer, headers: &HeaderMap, trusted: &[IpAddr]) -> IpAddr {
    let own = peer.address.ip().to_canonical();
    if !peer.is_trusted(trusted) {
        return own;
    }
    let forwarded = headers.get_all("x-forwarded-for").iter().rev().filter_map(|value| value.to_str().ok());
    let addresses = forwarded.flat_map(|line| line.rsplit(',')).map_while(|text| text.trim().parse::<IpAddr>().ok());
    addresses.map(|address| address.to_canonical()).find(|address| !trusted.contains(address)).unwrap_or(own)
}

pub fn header_text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_shows_in_what_it_adds() {
        let parts = |version, name: &'static str| {
            axum::http::Request::builder().version(version).header(name, "x").body(()).unwrap().into_parts().0
        };
        assert!(!is_forwarded(&parts(Version::HTTP_11, "host")));
        assert!(is_forwarded(&parts(Version::HTTP_10, "host")));
        assert!(is_forwarded(&parts(Version::HTTP_11, "x-forwarded-for")));
        assert!(is_forwarded(&parts(Version::HTTP_2, "via")));
    }

    #[test]
    fn only_trusted_proxies_speak_for_others() {
        let ip = |text: &str| text.parse::<IpAddr>().unwrap();
        let (proxy, inner) = (ip("10.0.0.1"), ip("10.0.0.2"));
        let from = |peer: IpAddr, is_edge, forwarded: &str| {
            let headers = HeaderMap::from_iter([("x-forwarded-for".parse().unwrap(), forwarded.parse().unwrap())]);
            real_address(
                Peer { address: (peer, 1).into(), local: (peer, 2).into(), is_edge },
                &headers,
                &[proxy, inner],
            )
        };
        let address = |peer, forwarded: &str| from(peer, false, forwarded);
        assert_eq!(from(ip("127.0.0.1"), true, "203.0.113.1, 198.51.100.7"), ip("198.51.100.7"));
        assert_eq!(address(ip("127.0.0.1"), "198.51.100.7"), ip("127.0.0.1"));
        assert_eq!(address(ip("192.0.2.9"), "198.51.100.7"), ip("192.0.2.9"));
        assert_eq!(address(proxy, "198.51.100.7"), ip("198.51.100.7"));
        assert_eq!(address(proxy, "203.0.113.1, 198.51.100.7, 10.0.0.2"), ip("198.51.100.7"));
        // Some proxies write IPv4 addresses as IPv6 ones, their own too.
        assert_eq!(address(proxy, "::ffff:198.51.100.7, ::ffff:10.0.0.2"), ip("198.51.100.7"));
        assert_eq!(address(proxy, "203.0.113.1, nonsense"), proxy);
        let peer = Peer { address: (proxy, 1).into(), local: (proxy, 2).into(), is_edge: false };
        assert_eq!(real_address(peer, &HeaderMap::new(), &[proxy]), proxy);
    }
}
