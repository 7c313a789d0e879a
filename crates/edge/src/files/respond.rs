//! The answers that are made from a file, and those without one.

use std::ops::Range;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode};

use super::conditional::{self, Precondition};
use super::range::{self, WantedRange};
use super::served_file::{Content, ServedFile, Variant};
use super::stream::FileStream;
use crate::body::Body;

/// A request for a range is about the file as it is: a range of a compressed one is of no use.
pub fn file(request: &Parts, file: &ServedFile) -> Response<Body> {
    let headers = &request.headers;
    let ranged = request.method == Method::GET && headers.contains_key(header::RANGE);
    let variant = if ranged { &file.identity } else { file.choose(headers) };
    match conditional::check(headers, &variant.etag, file.modified) {
        Precondition::Failed => bare(StatusCode::PRECONDITION_FAILED, only(&variant.head, &[header::ETAG])),
        Precondition::NotModified => not_modified(variant),
        Precondition::Proceed if ranged && conditional::if_range_holds(headers, &variant.etag, file.modified) => {
            match range::wanted(headers, variant.length) {
                WantedRange::Whole => whole(&request.method, variant),
                WantedRange::Part(part) => partial(variant, part),
                WantedRange::Outside => outside(variant),
            }
        }
        Precondition::Proceed => whole(&request.method, variant),
    }
}

/// The file that is shown for a path without one. Conditions and ranges are about files that are there, so this answer
/// has no headers to make them with.
pub fn not_found(request: &Parts, file: &ServedFile) -> Response<Body> {
    let mut response = whole(&request.method, file.choose(&request.headers));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let head = response.headers_mut();
    for name in [header::ETAG, header::LAST_MODIFIED, header::ACCEPT_RANGES] {
        head.remove(name);
    }
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// The path under which the same file is found. `path` is encoded.
pub fn elsewhere(request: &Parts, path: &str) -> Response<Body> {
    sent(request, StatusCode::PERMANENT_REDIRECT, path)
}

/// A redirect that browsers must ask for again, also if it is a permanent one: the next deployment may have a file there. The request's
/// query goes along, unless the location has one.
pub fn sent(request: &Parts, status: StatusCode, location: &str) -> Response<Body> {
    let (before, fragment) = match location.find('#') {
        Some(place) => location.split_at(place),
        None => (location, ""),
    };
    let location = match request.uri.query().filter(|_| !before.contains('?')) {
        Some(query) => HeaderValue::try_from(format!("{before}?{query}{fragment}")),
        None => HeaderValue::try_from(location),
    };
    let Ok(location) = location else { return bare(StatusCode::BAD_REQUEST, HeaderMap::new()) };
    let mut head = HeaderMap::with_capacity(2);
    head.insert(header::LOCATION, location);
    head.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    bare(status, head)
}

pub fn method_not_allowed() -> Response<Body> {
    let allow = HeaderMap::from_iter([(header::ALLOW, HeaderValue::from_static("GET, HEAD"))]);
    bare(StatusCode::METHOD_NOT_ALLOWED, allow)
}

/// The machine could not read the file; the log says why.
pub fn unavailable() -> Response<Body> {
    let retry = HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static("5"))]);
    bare(StatusCode::SERVICE_UNAVAILABLE, retry)
}

fn whole(method: &Method, variant: &Variant) -> Response<Body> {
    let body = if method == Method::HEAD { Body::empty() } else { body(variant, 0..variant.length) };
    answer(StatusCode::OK, variant.head.clone(), body)
}

fn partial(variant: &Variant, part: Range<u64>) -> Response<Body> {
    let mut head = variant.head.clone();
    let place = format!("bytes {}-{}/{}", part.start, part.end - 1, variant.length);
    insert_text(&mut head, header::CONTENT_RANGE, &place);
    head.insert(header::CONTENT_LENGTH, HeaderValue::from(part.end - part.start));
    answer(StatusCode::PARTIAL_CONTENT, head, body(variant, part))
}

fn outside(variant: &Variant) -> Response<Body> {
    let mut head = only(&variant.head, &[header::ACCEPT_RANGES, header::CACHE_CONTROL, header::VARY]);
    insert_text(&mut head, header::CONTENT_RANGE, &format!("bytes */{}", variant.length));
    bare(StatusCode::RANGE_NOT_SATISFIABLE, head)
}

/// The headers that update the visitor's copy, and none about content that is not sent.
fn not_modified(variant: &Variant) -> Response<Body> {
    let kept = [header::ETAG, header::LAST_MODIFIED, header::CACHE_CONTROL, header::VARY];
    answer(StatusCode::NOT_MODIFIED, only(&variant.head, &kept), Body::empty())
}

fn body(variant: &Variant, part: Range<u64>) -> Body {
    match &variant.content {
        Content::Held(bytes) => Body::Full(bytes.slice(part.start as usize..part.end as usize)),
        Content::OnDisk(file) => Body::Stream(Box::pin(FileStream::new(file.clone(), part))),
    }
}

fn only(head: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    names.iter().filter_map(|name| Some((name.clone(), head.get(name)?.clone()))).collect()
}

fn insert_text(head: &mut HeaderMap, name: HeaderName, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        head.insert(name, value);
    }
}

fn bare(status: StatusCode, mut head: HeaderMap) -> Response<Body> {
    head.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    answer(status, head, Body::empty())
}

fn answer(status: StatusCode, head: HeaderMap, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = head;
    response
}
