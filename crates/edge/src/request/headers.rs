//! Which headers pass, and which belong to one connection only.

use hyper::HeaderMap;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderName, HeaderValue, PROXY_AUTHORIZATION, TE, TRANSFER_ENCODING,
    UPGRADE,
};
use hyper::http::request::Parts;

use super::pages::PAGE_HEADER;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
const HTTP2_SETTINGS: HeaderName = HeaderName::from_static("http2-settings");

/// Removes what is between two neighbours only. `upgrade` and `te: trailers` are put back where they are passed on.
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
            // What frames the message or says which host it is for is not for a neighbour to take out.
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

/// A visitor's request, for the target: without what is hop by hop, with `Host`, framed as the body needs it.
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
/// side without being announced.
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
    // Only the edge says that a page is the edge's.
    headers.remove(PAGE_HEADER);
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

#[cfg(test)]
mod tests {
    use super::*;

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
