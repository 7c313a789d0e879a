//! Answers of targets that are compressed on their way: which ones, and what their heads say then.

use std::sync::Arc;

use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName,
    HeaderValue, VARY,
};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Response, StatusCode, Version};
use tokio::sync::Semaphore;

use super::compressed_body::CompressedBody;
use crate::body::Body;
use crate::encoding::{AcceptedEncodings, Encoding, StreamEncoder, becomes_smaller};

/// Below this, compression saves no packet.
const WORTH_COMPRESSING: u64 = 1024;
/// Headers that say something about the very bytes of a body.
const DIGESTS: [HeaderName; 3] = [
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
];

/// How a visitor wants an answer to be compressed.
#[derive(Clone, Copy)]
pub struct WantedCompression {
    encoding: Encoding,
    is_head: bool,
}

impl WantedCompression {
    /// None if the answer to such a request is never compressed.
    pub fn of(request: &Parts) -> Option<Self> {
        // Over HTTP/1.0, an answer without a length that breaks off looks like a whole one.
        let is_new_enough = request.version >= Version::HTTP_11;
        let is_read = matches!(request.method, Method::GET | Method::HEAD);
        (is_new_enough && is_read).then(|| Self {
            encoding: AcceptedEncodings::from(&request.headers).streamed(),
            is_head: request.method == Method::HEAD,
        })
    }

    /// The same answer, compressed if that makes sense, the visitor wants it, and there is room for one more.
    pub fn compress(self, answer: Response<Body>, room: &Arc<Semaphore>) -> Response<Body> {
        let (mut head, body) = answer.into_parts();
        if !is_compressible(head.status, &head.headers) {
            return Response::from_parts(head, body);
        }
        add_vary(&mut head.headers);
        let (body, is_compressed) = self.body(body, room);
        if is_compressed {
            prepare_head(&mut head.headers, self.encoding);
        }
        Response::from_parts(head, body)
    }

    /// The body, and whether it is compressed. An answer to HEAD says what that to GET would say.
    fn body(self, body: Body, room: &Arc<Semaphore>) -> (Body, bool) {
        if self.is_head {
            return (body, self.encoding != Encoding::Identity);
        }
        match (body, StreamEncoder::new(self.encoding)) {
            (Body::Stream(stream), Some(encoder)) => match room.clone().try_acquire_owned() {
                Ok(turn) => (Body::stream(CompressedBody::new(stream, encoder, turn)), true),
                Err(_) => (Body::Stream(stream), false),
            },
            (body, _) => (body, false),
        }
    }
}

fn is_compressible(status: StatusCode, headers: &HeaderMap) -> bool {
    let is_whole = status.is_success()
        && ![StatusCode::NO_CONTENT, StatusCode::RESET_CONTENT, StatusCode::PARTIAL_CONTENT].contains(&status);
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    let is_long =
        text(CONTENT_LENGTH).is_none_or(|length| length.parse().is_ok_and(|length: u64| length >= WORTH_COMPRESSING));
    is_whole
        && is_long
        && text(CONTENT_TYPE).is_some_and(becomes_smaller)
        && !headers.contains_key(CONTENT_ENCODING)
        && !headers.contains_key(CONTENT_RANGE)
        && !DIGESTS.iter().any(|name| headers.contains_key(name))
        && !has_item(headers, CACHE_CONTROL, "no-transform")
}

/// Whether one of the items of a header is this one.
fn has_item(headers: &HeaderMap, name: HeaderName, wanted: &str) -> bool {
    let has_it = |value: &HeaderValue| {
        value
            .as_bytes()
            .split(|byte| *byte == b',')
            .any(|item| item.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes()))
    };
    headers.get_all(name).iter().any(has_it)
}

/// Caches keep one answer for each way in which visitors want it, also of those who want it as it is.
fn add_vary(headers: &mut HeaderMap) {
    if !has_item(headers, VARY, "accept-encoding") && !has_item(headers, VARY, "*") {
        headers.append(VARY, HeaderValue::from_static("accept-encoding"));
    }
}

fn prepare_head(headers: &mut HeaderMap, encoding: Encoding) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(encoding.token()));
    headers.remove(CONTENT_LENGTH);
    headers.remove(ACCEPT_RANGES);
    // The bytes are others; what they mean is the same.
    if let Some(tag) = headers.get_mut(ETAG)
        && tag.as_bytes().starts_with(b"\"")
        && let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat())
    {
        *tag = weak;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers
    }

    #[test]
    fn only_whole_and_long_texts_are_compressed() {
        const TEXT: (&str, &str) = ("content-type", "text/html; charset=utf-8");
        let compressible =
            |status: u16, lines: &[_]| is_compressible(StatusCode::from_u16(status).unwrap(), &head(lines));
        for status in [200, 201, 203] {
            assert!(compressible(status, &[TEXT]), "{status}");
        }
        for status in [204, 205, 206, 301, 304, 404, 500] {
            assert!(!compressible(status, &[TEXT]), "{status}");
        }
        assert!(!compressible(200, &[]) && !compressible(200, &[("content-type", "image/png")]));
        assert!(compressible(200, &[TEXT, ("content-length", "1024"), ("cache-control", "no-store")]));
        for line in [
            ("content-length", "1023"),
            ("content-length", "x"),
            ("content-encoding", "br"),
            ("content-encoding", "identity"),
            ("content-range", "bytes 0-1/2"),
            ("cache-control", "max-age=1, No-Transform"),
            ("content-digest", "sha-256=:x:"),
        ] {
            assert!(!compressible(200, &[TEXT, line]), "{line:?}");
        }
    }

    #[test]
    fn the_head_says_what_has_become_of_the_body() {
        let mut headers =
            head(&[("etag", "\"x\""), ("content-length", "5000"), ("accept-ranges", "bytes"), ("vary", "origin")]);
        add_vary(&mut headers);
        add_vary(&mut headers);
        prepare_head(&mut headers, Encoding::Gzip);
        assert_eq!(
            headers,
            head(&[("etag", "W/\"x\""), ("content-encoding", "gzip"), ("vary", "origin"), ("vary", "accept-encoding")])
        );
        let mut weak = head(&[("etag", "W/\"x\""), ("vary", "*")]);
        add_vary(&mut weak);
        prepare_head(&mut weak, Encoding::Zstd);
        assert_eq!(weak, head(&[("etag", "W/\"x\""), ("vary", "*"), ("content-encoding", "zstd")]));
    }
}
