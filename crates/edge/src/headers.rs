//! Which headers pass, which the edge sets, and which belong to one connection only.

use std::net::IpAddr;
use std::sync::Arc;

use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, FORWARDED, HOST, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The longest host, port included, that anybody has a use for.
const LONGEST_HOST: usize = 260;
const LONGEST_REQUEST_ID: usize = 128;

/// Whom a request is for.
pub struct Host {
    /// As it was sent, port included.
    pub sent: HeaderValue,
    /// In lower case, without port and final dot: what routes are found by.
    pub name: String,
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
            address.parse::<std::net::Ipv6Addr>().ok()?;
            (port.is_empty() || is_port(port.strip_prefix(':')?)).then_some(())?;
            return Some(format!("[{}]", address.to_ascii_lowercase()));
        }
        None => match text.split_once(':') {
            Some((name, port)) => is_port(port).then_some(name)?,
            None => text,
        },
    };
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    (!name.is_empty() && name.bytes().all(is_name)).then(|| name.to_ascii_lowercase())
}

fn is_port(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What the edge tells a target about where a request came from; made once for each visitor's connection.
pub struct Origin {
    address: HeaderValue,
    /// `for=...` of the standard header.
    node: String,
    /// The proxies whose word about this is taken, if the visitor is one of them.
    trusted: Option<Arc<[IpAddr]>>,
    /// The standard header for the host that was asked for last, because the next request will be for the same one.
    last: Option<(HeaderValue, HeaderValue)>,
}

impl Origin {
    pub fn new(address: IpAddr, proxies: &Arc<[IpAddr]>) -> Self {
        let address = address.to_canonical();
        let trusted = proxies.contains(&address).then(|| proxies.clone());
        let node = match address {
            IpAddr::V4(address) => format!("for={address}"),
            IpAddr::V6(address) => format!("for=\"[{address}]\""),
        };
        Self { address: value(&address.to_string()), node, trusted, last: None }
    }

    /// Sets the headers that say where the request came from. What a visitor says about itself is dropped.
    pub fn set(&mut self, headers: &mut HeaderMap, host: &HeaderValue, request_id: HeaderValue) {
        if let Some(trusted) = self.trusted.clone() {
            return self.append(headers, host, request_id, &trusted);
        }
        remove_claims(headers);
        headers.insert(X_FORWARDED_FOR, self.address.clone());
        headers.insert(X_REAL_IP, self.address.clone());
        headers.insert(X_FORWARDED_HOST, host.clone());
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static("http"));
        headers.insert(FORWARDED, self.forwarded(host));
        headers.insert(X_REQUEST_ID, request_id);
    }

    fn forwarded(&mut self, host: &HeaderValue) -> HeaderValue {
        if let Some((known, forwarded)) = &self.last
            && known == host
        {
            return forwarded.clone();
        }
        let host_text = host.to_str().unwrap_or_default();
        let forwarded = value(&format!("{};host=\"{host_text}\";proto=http", self.node));
        // A copy: the value itself would keep the whole buffer alive that its request was read into.
        self.last = Some((value(host_text), forwarded.clone()));
        forwarded
    }

    /// A proxy in front has said where the request came from; the edge adds the proxy.
    fn append(&mut self, headers: &mut HeaderMap, host: &HeaderValue, request_id: HeaderValue, trusted: &[IpAddr]) {
        let chain = |headers: &HeaderMap, name: &HeaderName, last: &HeaderValue| {
            let all = headers.get_all(name);
            let mut chain: Vec<&[u8]> = all.iter().map(HeaderValue::as_bytes).collect();
            chain.push(last.as_bytes());
            HeaderValue::from_bytes(&chain.join(&b", "[..])).unwrap_or_else(|_| last.clone())
        };
        let addresses = chain(headers, &X_FORWARDED_FOR, &self.address);
        let forwarded = chain(headers, &FORWARDED, &self.forwarded(host));
        headers.insert(X_REAL_IP, nearest_stranger(&addresses, trusted).unwrap_or_else(|| self.address.clone()));
        headers.insert(X_FORWARDED_FOR, addresses);
        headers.insert(FORWARDED, forwarded);
        headers.entry(X_FORWARDED_HOST).or_insert_with(|| host.clone());
        headers.entry(X_FORWARDED_PROTO).or_insert(HeaderValue::from_static("http"));
        let id = headers.entry(X_REQUEST_ID).or_insert_with(|| request_id.clone());
        if !is_request_id(id) {
            *id = request_id;
        }
    }
}

/// The last address in the chain that is not a trusted proxy's: what comes before it is a stranger's word.
fn nearest_stranger(chain: &HeaderValue, trusted: &[IpAddr]) -> Option<HeaderValue> {
    let is_trusted = |text: &str| text.parse().is_ok_and(|address: IpAddr| trusted.contains(&address.to_canonical()));
    chain.to_str().ok()?.rsplit(',').map(str::trim).find(|text| !is_trusted(text)).map(value)
}

fn is_request_id(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=LONGEST_REQUEST_ID).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
}

/// Removes whatever a visitor says about where the request came from. Many programs take `_` for `-`.
pub fn remove_claims(headers: &mut HeaderMap) {
    let is_claim = |name: &HeaderName| {
        let name = name.as_str();
        let named = |wanted: &str| {
            name.len() >= wanted.len()
                && name
                    .bytes()
                    .zip(wanted.bytes())
                    .all(|(byte, wanted)| byte == wanted || (byte == b'_' && wanted == b'-'))
        };
        match name.as_bytes().first() {
            Some(b'x') => named("x-forwarded") || named("x-real-ip") || named("x-request-id"),
            Some(b'f') => named("forwarded"),
            _ => false,
        }
    };
    if headers.keys().any(is_claim) {
        let claims: Vec<HeaderName> = headers.keys().filter(|name| is_claim(name)).cloned().collect();
        for claim in claims {
            headers.remove(claim);
        }
    }
}

/// Removes what is between two neighbours only. `upgrade` and `te: trailers` are put back by those who pass them on.
fn remove_hop_by_hop(headers: &mut HeaderMap) {
    // One look at each name is cheaper than asking for all of those that are mostly not there.
    if !headers.keys().any(is_hop_by_hop) {
        return;
    }
    if headers.contains_key(CONNECTION) {
        let named: Vec<HeaderName> = headers
            .get_all(CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| name.trim().parse().ok())
            // What frames the message or says whom it is for is not a neighbour's to take out.
            .filter(|name| !matches!(*name, CONTENT_LENGTH | TRANSFER_ENCODING | HOST))
            .collect();
        for name in named {
            headers.remove(name);
        }
        headers.remove(CONNECTION);
    }
    for name in [KEEP_ALIVE, PROXY_CONNECTION, PROXY_AUTHORIZATION, HTTP2_SETTINGS, TE, TRANSFER_ENCODING, UPGRADE] {
        headers.remove(name);
    }
}

fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(*name, CONNECTION | PROXY_AUTHORIZATION | TE | TRANSFER_ENCODING | UPGRADE)
        || [KEEP_ALIVE, PROXY_CONNECTION, HTTP2_SETTINGS].contains(name)
}

/// A visitor's request, for the target: hop by hop out, `Host` in, framing as the body needs it.
pub fn prepare_request(headers: &mut HeaderMap, host: HeaderValue, is_chunked: bool, upgrade: Option<HeaderValue>) {
    let wants_trailers = headers.get(TE).is_some_and(|te| has_token(te, "trailers"));
    remove_hop_by_hop(headers);
    join_cookies(headers);
    headers.insert(HOST, host);
    if wants_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONNECTION, HeaderValue::from_static("te"));
    }
    if is_chunked {
        headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
    }
    if let Some(protocol) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
}

/// Whether the body comes as it is or in chunks. What is coded otherwise, or in chunks twice, would reach the other
/// side without a word of it.
pub fn is_plainly_framed(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
    codings.next().is_none_or(is_chunked) && codings.next().is_none()
}

/// HTTP/2 may send one cookie at a time; HTTP/1.1 must not.
fn join_cookies(headers: &mut HeaderMap) {
    let mut cookies = headers.get_all(hyper::header::COOKIE).iter();
    if let (Some(first), Some(second)) = (cookies.next(), cookies.next()) {
        let mut all = vec![first.as_bytes(), second.as_bytes()];
        all.extend(cookies.map(HeaderValue::as_bytes));
        if let Ok(joined) = HeaderValue::from_bytes(&all.join(&b"; "[..])) {
            headers.insert(hyper::header::COOKIE, joined);
        }
    }
}

/// A target's answer, for the visitor.
pub fn prepare_answer(headers: &mut HeaderMap) {
    if headers.contains_key(TRANSFER_ENCODING) {
        // Both were sent; the length is the one that is not true.
        headers.remove(CONTENT_LENGTH);
    }
    remove_hop_by_hop(headers);
}

/// The protocol that a visitor wants to change to, if it is one that can be passed on.
pub fn upgrade(parts: &Parts) -> Option<HeaderValue> {
    let asked = parts.headers.get_all(CONNECTION).iter().any(|value| has_token(value, "upgrade"));
    let protocol = parts.headers.get(UPGRADE).filter(|_| asked && parts.version == hyper::Version::HTTP_11)?;
    // A target that took one of these up would go on with HTTP past the edge: its routes, headers and counts.
    let is_http = |name: &str| {
        let name = name.trim().to_ascii_lowercase();
        ["h2", "h3", "http", "tls"].iter().any(|known| name.starts_with(known))
    };
    let is_other = protocol.to_str().is_ok_and(|names| !names.split(',').any(is_http));
    is_other.then(|| protocol.clone())
}

pub fn expects_continue(headers: &HeaderMap) -> bool {
    headers.get(EXPECT).is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

fn has_token(value: &HeaderValue, token: &str) -> bool {
    value.to_str().is_ok_and(|value| value.split(',').any(|part| part.trim().eq_ignore_ascii_case(token)))
}

/// Texts that are known to be visible ASCII.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_found_by_name_only() {
        for (sent, name) in [
            ("Shop.Example.org:8080", Some("shop.example.org")),
            ("shop.example.org.", Some("shop.example.org")),
            ("[::1]:80", Some("[::1]")),
            ("127.0.0.1", Some("127.0.0.1")),
            ("a_b.example.org", Some("a_b.example.org")),
            ("", None),
            (".", None),
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

    #[test]
    fn what_a_visitor_claims_is_dropped_however_it_is_spelled() {
        let mut headers = HeaderMap::new();
        for name in
            ["x-forwarded-for", "x_forwarded_for", "x-real_ip", "forwarded", "x-forwarded-prefix", "x-request-id"]
        {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_static("1.2.3.4"));
        }
        headers.insert("x-other", HeaderValue::from_static("stays"));
        let mut origin = Origin::new("192.0.2.7".parse().unwrap(), &Arc::from([]));
        origin.set(&mut headers, &HeaderValue::from_static("shop"), HeaderValue::from_static("id"));
        let mut all: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
        all.sort();
        assert_eq!(
            all,
            [
                "forwarded: for=192.0.2.7;host=\"shop\";proto=http",
                "x-forwarded-for: 192.0.2.7",
                "x-forwarded-host: shop",
                "x-forwarded-proto: http",
                "x-other: stays",
                "x-real-ip: 192.0.2.7",
                "x-request-id: id",
            ]
        );
    }

    #[test]
    fn a_trusted_proxy_is_believed_and_added() {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_static("127.0.0.1, 198.51.100.4, 192.0.2.8"));
        headers.insert("x-real-ip", HeaderValue::from_static("127.0.0.1"));
        headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
        headers.insert("x-request-id", HeaderValue::from_static("theirs"));
        let proxies: Arc<[IpAddr]> = Arc::from(["192.0.2.7".parse().unwrap(), "192.0.2.8".parse().unwrap()]);
        let mut origin = Origin::new("192.0.2.7".parse().unwrap(), &proxies);
        origin.set(&mut headers, &HeaderValue::from_static("shop"), HeaderValue::from_static("ours"));
        assert_eq!(headers["x-forwarded-for"], "127.0.0.1, 198.51.100.4, 192.0.2.8, 192.0.2.7");
        assert_eq!(headers["x-forwarded-proto"], "https");
        assert_eq!(headers["x-real-ip"], "198.51.100.4");
        assert_eq!(headers["x-request-id"], "theirs");
    }

    #[test]
    fn what_is_between_neighbours_stays_there() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, x-secret, content-length"),
            ("x-secret", "1"),
            ("content-length", "3"),
            ("keep-alive", "timeout=5"),
            ("te", "gzip"),
            ("upgrade", "websocket"),
            ("x-kept", "1"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        remove_hop_by_hop(&mut headers);
        let mut left: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "x-kept"]);
    }
}
