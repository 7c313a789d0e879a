//! Answers that send a visitor elsewhere.

use bytes::Bytes;
use hyper::header::{CACHE_CONTROL, HeaderValue, LOCATION, STRICT_TRANSPORT_SECURITY};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::{Response, StatusCode};

use super::host::Host;
use super::pages::PAGE_HEADER;
use crate::body::Body;
use crate::routes::RedirectSpec;
use crate::scheme::{HTTPS_PORT, Scheme};

/// To the same address over https, at this port.
pub fn to_https(host: &str, port: u16, parts: &Parts) -> Response<Body> {
    let port = if port == HTTPS_PORT { String::new() } else { format!(":{port}") };
    // Not remembered by the browser: the domain's owner may turn it off again. That is what HSTS is for.
    redirect(StatusCode::PERMANENT_REDIRECT, &format!("https://{host}{port}{}", path(parts)), "no-store")
}

/// To the same path at another host, at the port that was asked for.
pub fn to_host(to: &RedirectSpec, scheme: Scheme, asked: &Host, parts: &Parts) -> Response<Body> {
    let (status, caching) = match to.permanent {
        true => (StatusCode::PERMANENT_REDIRECT, "max-age=86400"),
        false => (StatusCode::TEMPORARY_REDIRECT, "no-store"),
    };
    let port = asked.port().map(|port| format!(":{port}")).unwrap_or_default();
    redirect(status, &format!("{scheme}://{}{port}{}", to.host, path(parts)), caching)
}

fn path(parts: &Parts) -> &str {
    // `OPTIONS *` has a path that is none.
    parts.uri.path_and_query().map(PathAndQuery::as_str).filter(|path| path.starts_with('/')).unwrap_or("/")
}

/// Browsers repeat a request as it was for both statuses, with its method and body.
fn redirect(status: StatusCode, to: &str, caching: &'static str) -> Response<Body> {
    let mut answer = Response::new(Body::Full(Bytes::new()));
    *answer.status_mut() = status;
    let headers = answer.headers_mut();
    // Made of a host name, a port and a path that were read from a request: no byte in them ends a line.
    headers.insert(LOCATION, HeaderValue::from_str(to).unwrap_or(HeaderValue::from_static("/")));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert(PAGE_HEADER, HeaderValue::from_static("redirect"));
    answer
}

/// Tells browsers never to come over http again, unless the application has said something about it.
pub fn pin_https(answer: &mut Response<Body>, seconds: u64) {
    if seconds == 0 {
        return;
    }
    let said = answer.headers_mut().entry(STRICT_TRANSPORT_SECURITY);
    said.or_insert_with(|| {
        HeaderValue::from_str(&format!("max-age={seconds}")).unwrap_or(HeaderValue::from_static("max-age=0"))
    });
}
