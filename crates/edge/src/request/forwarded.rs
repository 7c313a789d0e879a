//! The headers that tell a target where a request came from.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use hyper::HeaderMap;
use hyper::header::{FORWARDED, HeaderName, HeaderValue};

use crate::scheme::Scheme;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");
pub const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const LONGEST_REQUEST_ID: usize = 128;

/// What the edge tells a target about where a request came from; made once for each visitor's connection.
pub struct ForwardedHeaders {
    address: HeaderValue,
    scheme: Scheme,
    /// `for=...` of the standard header.
    node: String,
    /// The proxies that are believed about this, if the visitor is one of them.
    trusted: Option<Arc<[IpAddr]>>,
    /// The standard header for the host that was asked for last, because the next request will be for the same one.
    last: Option<(HeaderValue, HeaderValue)>,
}

impl ForwardedHeaders {
    pub fn new(address: IpAddr, scheme: Scheme, proxies: &Arc<[IpAddr]>) -> Self {
        let address = address.to_canonical();
        let trusted = proxies.contains(&address).then(|| proxies.clone());
        let node = match address {
            IpAddr::V4(address) => format!("for={address}"),
            IpAddr::V6(address) => format!("for=\"[{address}]\""),
        };
        Self { address: value(&address.to_string()), scheme, node, trusted, last: None }
    }

    pub fn is_from_proxy(&self) -> bool {
        self.trusted.is_some()
    }

    /// Over what the visitor has asked the first proxy, if the one that says so is believed.
    pub fn asked_over(&self, headers: &HeaderMap) -> Scheme {
        let said = headers.get(X_FORWARDED_PROTO).filter(|_| self.trusted.is_some());
        let first = said.and_then(|said| said.to_str().ok()?.split(',').next()).map(str::trim);
        match first {
            Some(scheme) if scheme.eq_ignore_ascii_case("https") => Scheme::Https,
            Some(_) => Scheme::Http,
            None => self.scheme,
        }
    }

    /// Where the first proxy that is believed was asked from. None if no proxy says so.
    pub fn believed_address(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let trusted = self.trusted.as_deref()?;
        let chains = headers.get_all(X_FORWARDED_FOR).iter().rev();
        chains.into_iter().find_map(|chain| nearest_untrusted(chain, trusted)).and_then(address)
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
        headers.insert(X_FORWARDED_PROTO, HeaderValue::from_static(self.scheme.name()));
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
        let forwarded = value(&format!("{};host=\"{host_text}\";proto={}", self.node, self.scheme));
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
        let nearest = nearest_untrusted(&addresses, trusted).and_then(|item| HeaderValue::from_bytes(item).ok());
        headers.insert(X_REAL_IP, nearest.unwrap_or_else(|| self.address.clone()));
        headers.insert(X_FORWARDED_FOR, addresses);
        headers.insert(FORWARDED, forwarded);
        headers.entry(X_FORWARDED_HOST).or_insert_with(|| host.clone());
        headers.entry(X_FORWARDED_PROTO).or_insert(HeaderValue::from_static(self.scheme.name()));
        let id = headers.entry(X_REQUEST_ID).or_insert_with(|| request_id.clone());
        if !is_request_id(id) {
            *id = request_id;
        }
    }
}

/// The last address in the chain that is not a trusted proxy's: what comes before it may be made up, and is not looked at.
fn nearest_untrusted<'a>(chain: &'a HeaderValue, trusted: &[IpAddr]) -> Option<&'a [u8]> {
    let is_trusted = |item: &[u8]| address(item).is_some_and(|address| trusted.contains(&address));
    chain.as_bytes().rsplit(|byte| *byte == b',').map(<[u8]>::trim_ascii).find(|item| !is_trusted(item))
}

/// Some proxies add the port.
fn address(text: &[u8]) -> Option<IpAddr> {
    let text = str::from_utf8(text).ok()?;
    let address = text.parse().or_else(|_| text.parse().map(|address: SocketAddr| address.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

fn is_request_id(id: &HeaderValue) -> bool {
    let bytes = id.as_bytes();
    (1..=LONGEST_REQUEST_ID).contains(&bytes.len()) && bytes.iter().all(u8::is_ascii_graphic)
}

/// Removes what a visitor says about where the request came from. Many programs take `_` for `-`.
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

/// Texts that are known to be visible ASCII.
fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_visitor_claims_is_dropped_however_it_is_spelled() {
        let mut headers = HeaderMap::new();
        for name in
            ["x-forwarded-for", "x_forwarded_for", "x-real_ip", "forwarded", "x-forwarded-prefix", "x-request-id"]
        {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_static("1.2.3.4"));
        }
        headers.insert("x-other", HeaderValue::from_static("stays"));
        let mut forwarded = ForwardedHeaders::new("192.0.2.7".parse().unwrap(), Scheme::Http, &Arc::from([]));
        forwarded.set(&mut headers, &HeaderValue::from_static("shop"), HeaderValue::from_static("id"));
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
    fn the_scheme_is_that_of_the_visitors_connection() {
        let proxies: Arc<[IpAddr]> = Arc::from(["192.0.2.7".parse().unwrap()]);
        for address in ["192.0.2.1", "192.0.2.7"] {
            let mut forwarded = ForwardedHeaders::new(address.parse().unwrap(), Scheme::Https, &proxies);
            let mut headers = HeaderMap::new();
            forwarded.set(&mut headers, &HeaderValue::from_static("shop"), HeaderValue::from_static("id"));
            assert_eq!(headers["x-forwarded-proto"], "https");
            assert_eq!(headers["forwarded"], format!("for={address};host=\"shop\";proto=https"));
        }
    }

    #[test]
    fn a_trusted_proxy_is_believed_and_added() {
        let mut headers = HeaderMap::new();
        headers.insert("x-forwarded-for", HeaderValue::from_static("127.0.0.1, 198.51.100.4, 192.0.2.8"));
        headers.insert("x-real-ip", HeaderValue::from_static("127.0.0.1"));
        headers.insert("x-forwarded-proto", HeaderValue::from_static("https"));
        headers.insert("x-request-id", HeaderValue::from_static("theirs"));
        let proxies: Arc<[IpAddr]> = Arc::from(["192.0.2.7".parse().unwrap(), "192.0.2.8".parse().unwrap()]);
        let mut forwarded = ForwardedHeaders::new("192.0.2.7".parse().unwrap(), Scheme::Http, &proxies);
        forwarded.set(&mut headers, &HeaderValue::from_static("shop"), HeaderValue::from_static("ours"));
        assert_eq!(headers["x-forwarded-for"], "127.0.0.1, 198.51.100.4, 192.0.2.8, 192.0.2.7");
        assert_eq!(headers["x-forwarded-proto"], "https");
        assert_eq!(headers["x-real-ip"], "198.51.100.4");
        assert_eq!(headers["x-request-id"], "theirs");
    }

    #[test]
    fn a_visitor_is_where_a_trusted_proxy_says() {
        let proxies: Arc<[IpAddr]> = Arc::from(["192.0.2.7".parse().unwrap(), "192.0.2.8".parse().unwrap()]);
        let believed = |peer: &str, chains: &[&str]| {
            let mut headers = HeaderMap::new();
            for chain in chains {
                headers.append(X_FORWARDED_FOR, HeaderValue::from_bytes(chain.as_bytes()).unwrap());
            }
            ForwardedHeaders::new(peer.parse().unwrap(), Scheme::Http, &proxies).believed_address(&headers)
        };
        let address = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        assert_eq!(believed("192.0.2.1", &["198.51.100.4"]), None, "any visitor can say so");
        assert_eq!(believed("192.0.2.7", &[]), None);
        assert_eq!(believed("192.0.2.7", &["127.0.0.1, 198.51.100.4"]), address("198.51.100.4"));
        assert_eq!(believed("::ffff:192.0.2.7", &["::ffff:198.51.100.4"]), address("198.51.100.4"));
        assert_eq!(believed("192.0.2.7", &["127.0.0.1, 198.51.100.4, 192.0.2.8"]), address("198.51.100.4"));
        assert_eq!(believed("192.0.2.7", &["127.0.0.1", "198.51.100.4"]), address("198.51.100.4"));
        assert_eq!(believed("192.0.2.7", &["127.0.0.1, 198.51.100.4", "192.0.2.8"]), address("198.51.100.4"));
        assert_eq!(believed("192.0.2.7", &["198.51.100.4:1234"]), address("198.51.100.4"));
        assert_eq!(believed("192.0.2.7", &["[2001:db8::1]:1234"]), address("2001:db8::1"));
        assert_eq!(believed("192.0.2.7", &["192.0.2.8"]), None);
        for made_up in ["unknown", "", "é"] {
            assert_eq!(believed("192.0.2.7", &["127.0.0.1", &format!("127.0.0.1, {made_up}")]), None);
            let chain = format!("{made_up}, 198.51.100.4");
            assert_eq!(believed("192.0.2.7", &["127.0.0.1", &chain]), address("198.51.100.4"));
        }
    }
}
