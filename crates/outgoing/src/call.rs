//! A request as a caller describes it, how it is written down, and the answer.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, EXPECT, HOST, HeaderValue, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
    USER_AGENT,
};
use hyper::{HeaderMap, Method, Request, StatusCode, Uri};
use url::{Host, Url};

use crate::CallError;

const OUR_NAME: &str = concat!("windlass/", env!("CARGO_PKG_VERSION"));

/// How a message is sent is decided here, not by the caller: two opinions about a body's length would be two requests.
const OURS_TO_SAY: [hyper::header::HeaderName; 6] = [CONTENT_LENGTH, TRANSFER_ENCODING, TE, TRAILER, UPGRADE, EXPECT];

pub struct Call {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the whole call, from the lookup of the name to the last byte of the answer.
    pub time: Duration,
    /// For the body of the answer.
    pub answer_bytes: usize,
}

/// An answer with any status, redirects and failures included.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// Path, query, headers and body can hold secrets.
impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// Headers and body can hold secrets.
impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}

/// Where a call goes.
#[derive(Clone)]
pub(crate) struct Destination {
    pub host: Host<String>,
    pub port: u16,
    pub is_https: bool,
}

impl Destination {
    pub(crate) fn of(url: &Url) -> Result<Self, CallError> {
        let refuse = |reason| Err(CallError::BadUrl { reason });
        let is_https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return refuse("begins with neither https:// nor http://"),
        };
        // They would be left out silently; credentials belong into a header.
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("contains a user name or a password");
        }
        match (url.host(), url.port_or_known_default()) {
            (None, _) => refuse("names no host"),
            (_, None | Some(0)) => refuse("has the port 0, where nothing can listen"),
            (Some(host), Some(port)) => Ok(Self { host: host.to_owned(), port, is_https }),
        }
    }

    /// A host by its name or its address, with or without the brackets of IPv6, for what is not HTTP.
    pub(crate) fn of_host(host: &str, port: u16) -> Result<Self, CallError> {
        let unusable = |_| CallError::BadUrl { reason: "names no host" };
        let host = match host.parse() {
            Ok(IpAddr::V4(address)) => Host::Ipv4(address),
            Ok(IpAddr::V6(address)) => Host::Ipv6(address),
            Err(_) => Host::parse(host).map_err(unusable)?,
        };
        Ok(Self { host, port, is_https: false })
    }

    /// The host as errors name it.
    pub(crate) fn name(&self) -> String {
        self.host.to_string()
    }
}

impl Call {
    pub(crate) fn into_request(self) -> Result<Request<Full<Bytes>>, CallError> {
        let uri = request_target(&self.url)?;
        let mut headers = self.headers;
        for name in OURS_TO_SAY {
            headers.remove(name);
        }
        headers.insert(HOST, host_header(&self.url)?);
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.entry(USER_AGENT).or_insert(HeaderValue::from_static(OUR_NAME));
        // Said for an empty body too: some servers refuse a POST that does not say it.
        if !self.body.is_empty() || has_usually_a_body(&self.method) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(self.body.len()));
        }
        let mut request = Request::new(Full::new(self.body));
        *request.method_mut() = self.method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

fn has_usually_a_body(method: &Method) -> bool {
    [Method::POST, Method::PUT, Method::PATCH].contains(method)
}

fn request_target(url: &Url) -> Result<Uri, CallError> {
    let path = url.path();
    let target = url.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    let unwritable = |_| CallError::BadUrl { reason: "has a path or a query that HTTP cannot carry" };
    target.parse().map_err(unwritable)
}

/// The port is left out if the scheme implies it, as browsers do: some servers compare the whole.
fn host_header(url: &Url) -> Result<HeaderValue, CallError> {
    let host = url.host_str().unwrap_or_default();
    let text = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    text.try_into().map_err(|_| CallError::BadUrl { reason: "names a host that HTTP cannot carry" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: Method, url: &str) -> Request<Full<Bytes>> {
        let limits = Limits { time: Duration::from_secs(1), answer_bytes: 1 };
        let url = Url::parse(url).unwrap();
        let call = Call { method, url, headers: HeaderMap::new(), body: Bytes::new(), limits };
        call.into_request().unwrap()
    }

    #[test]
    fn the_host_header_names_a_port_that_the_scheme_does_not_imply() {
        let cases = [
            ("http://example.org/", "example.org"),
            ("http://example.org:80/", "example.org"),
            ("https://example.org:443/", "example.org"),
            ("https://example.org:80/", "example.org:80"),
            ("https://[2606:4700::1111]/", "[2606:4700::1111]"),
            ("https://[2606:4700::1111]:8443/", "[2606:4700::1111]:8443"),
            ("http://0x7f.1:8080/", "127.0.0.1:8080"),
        ];
        for (url, host) in cases {
            assert_eq!(request(Method::GET, url).headers()[HOST], host, "{url}");
        }
    }

    #[test]
    fn the_target_is_path_and_query_without_the_fragment() {
        let cases = [
            ("http://example.org", "/"),
            ("http://example.org?a=b", "/?a=b"),
            ("http://example.org/a%20b/{c}?d=é&e=f%2Fg#part", "/a%20b/%7Bc%7D?d=%C3%A9&e=f%2Fg"),
            ("http://example.org/a|b^c[d]?e|f", "/a|b^c[d]?e|f"),
        ];
        for (url, target) in cases {
            assert_eq!(request(Method::GET, url).uri().to_string(), target, "{url}");
        }
    }

    #[test]
    fn addresses_that_cannot_be_called_are_refused() {
        for url in [
            "ftp://example.org/",
            "file:///etc/passwd",
            "data:,x",
            "http://me@a.org/",
            "http://:x@a.org",
            "http://a.org:0/",
        ] {
            let refusal = Destination::of(&Url::parse(url).unwrap()).err();
            assert!(matches!(refusal, Some(CallError::BadUrl { .. })), "{url}: {refusal:?}");
        }
    }

    #[test]
    fn a_host_is_named_or_an_address() {
        for (host, name) in [
            ("Mail.Example.org", "mail.example.org"),
            ("127.0.0.1", "127.0.0.1"),
            ("::1", "[::1]"),
            ("[::1]", "[::1]"),
            ("0x7f.1", "127.0.0.1"),
            ("bücher.example", "xn--bcher-kva.example"),
        ] {
            assert_eq!(Destination::of_host(host, 25).map(|to| to.name()).ok().as_deref(), Some(name));
        }
        for host in ["", "a b", "a.org:25", "a@b.org", "a.org/x", "[::1", "a\nb"] {
            assert!(Destination::of_host(host, 25).is_err(), "{host}");
        }
    }

    #[test]
    fn a_call_is_printed_without_what_may_be_secret() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("Bearer hidden"));
        let limits = Limits { time: Duration::from_secs(1), answer_bytes: 1 };
        let url = Url::parse("https://example.org/hidden?token=hidden").unwrap();
        let call = Call { method: Method::GET, url, headers: headers.clone(), body: "hidden".into(), limits };
        assert!(!format!("{call:?}").contains("hidden"), "{call:?}");
        let answer = Answer { status: StatusCode::OK, headers, body: "hidden".into() };
        assert!(!format!("{answer:?}").contains("hidden"), "{answer:?}");
    }
}
