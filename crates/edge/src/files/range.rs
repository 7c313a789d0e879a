//! A part of a file (RFC 9110, section 14).

use std::ops::Range;

use hyper::HeaderMap;
use hyper::header;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedRange {
    Whole,
    Part(Range<u64>),
    /// Nothing of what the file has.
    Outside,
}

/// What `Range` asks for. Several parts get the whole file: hardly a client asks for them, an answer in several parts
/// is a known way to make a server send a file many times over, and the whole is a correct answer to every range. What
/// is not understood counts as absent, as the standard wants it.
pub fn wanted(headers: &HeaderMap, length: u64) -> WantedRange {
    let mut values = headers.get_all(header::RANGE).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return WantedRange::Whole };
    parse(value.as_bytes(), length).unwrap_or(WantedRange::Whole)
}

fn parse(value: &[u8], length: u64) -> Option<WantedRange> {
    let (unit, range) = value.split_at_checked(6)?;
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return None;
    }
    let range = range.trim_ascii();
    let dash = range.iter().position(|&byte| byte == b'-')?;
    let (first, last) = (&range[..dash], &range[dash + 1..]);
    if first.is_empty() {
        return Some(suffix(number(last)?, length));
    }
    let first = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    if last < first {
        return None;
    }
    if first >= length {
        return Some(WantedRange::Outside);
    }
    Some(WantedRange::Part(first..last.saturating_add(1).min(length)))
}

/// The last bytes. An empty file has none, and no way to say so in `Content-Range`: it is sent whole.
fn suffix(count: u64, length: u64) -> WantedRange {
    match (count, length) {
        (0, _) => WantedRange::Outside,
        (_, 0) => WantedRange::Whole,
        _ => WantedRange::Part(length.saturating_sub(count)..length),
    }
}

/// Digits and nothing else. More of them than fit are simply very many.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        digit.is_ascii_digit().then(|| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    })
}
