//! What a request wants only if the file changed, or only if it did not (RFC 9110, section 13).

use std::time::UNIX_EPOCH;

use hyper::HeaderMap;
use hyper::header::{self, GetAll, HeaderValue};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    Proceed,
    NotModified,
    Failed,
}

/// In the order of section 13.2.2: a condition about the tag makes the one about the date void. The date of `If-Modified-Since` must be exactly the
/// one that was sent: after a rollback a file is older than what the visitor has.
pub fn check(headers: &HeaderMap, etag: &HeaderValue, modified: u64) -> Precondition {
    if headers.contains_key(header::IF_MATCH) {
        if !any_tag(&headers.get_all(header::IF_MATCH), |tag, weak| !weak && tag == etag.as_bytes()) {
            return Precondition::Failed;
        }
    } else if date(headers, &header::IF_UNMODIFIED_SINCE).is_some_and(|limit| modified > limit) {
        return Precondition::Failed;
    }
    if headers.contains_key(header::IF_NONE_MATCH) {
        if any_tag(&headers.get_all(header::IF_NONE_MATCH), |tag, _| tag == etag.as_bytes()) {
            return Precondition::NotModified;
        }
    } else if date(headers, &header::IF_MODIFIED_SINCE) == Some(modified) {
        return Precondition::NotModified;
    }
    Precondition::Proceed
}

/// Whether a part of the file is still a part of what the visitor has. A date must be exactly the one that was sent.
pub fn if_range_holds(headers: &HeaderMap, etag: &HeaderValue, modified: u64) -> bool {
    let Some(value) = headers.get(header::IF_RANGE) else { return true };
    value == etag || date(headers, &header::IF_RANGE) == Some(modified)
}

/// In seconds since 1970. What is no date is as good as absent.
fn date(headers: &HeaderMap, name: &header::HeaderName) -> Option<u64> {
    let text = headers.get(name)?.to_str().ok()?;
    let date = httpdate::parse_http_date(text).ok()?;
    date.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// Whether one of the tags satisfies. They come with their quotes, which may hold commas. `*` is every tag.
fn any_tag(values: &GetAll<'_, HeaderValue>, satisfies: impl Fn(&[u8], bool) -> bool) -> bool {
    values.iter().any(|value| {
        let mut rest = value.as_bytes().trim_ascii();
        if rest == b"*" {
            return true;
        }
        while let Some((tag, weak, after)) = next_tag(rest) {
            if satisfies(tag, weak) {
                return true;
            }
            rest = after;
        }
        false
    })
}

fn next_tag(list: &[u8]) -> Option<(&[u8], bool, &[u8])> {
    let begin = list.iter().position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
    let list = &list[begin..];
    let (weak, quoted) = match list.strip_prefix(b"W/") {
        Some(quoted) => (true, quoted),
        None => (false, list),
    };
    let inside = quoted.strip_prefix(b"\"")?;
    let end = inside.iter().position(|&byte| byte == b'"')?;
    let (tag, after) = quoted.split_at(end + 2);
    Some((tag, weak, after))
}
