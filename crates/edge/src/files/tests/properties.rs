//! What a request can say about files, in every form.

use hyper::header::{self, HeaderName, HeaderValue};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::conditional::{self, Precondition};
use super::super::path;
use super::super::range::{self, WantedRange};
use super::HeaderMap;
use crate::encoding::{AcceptedEncodings, Encoding};

const ETAG: &str = "\"a,b\"";

fn with<T: AsRef<str>>(name: &HeaderName, values: &[T]) -> HeaderMap {
    let values = values.iter().filter_map(|value| HeaderValue::from_bytes(value.as_ref().as_bytes()).ok());
    values.map(|value| (name.clone(), value)).collect()
}

/// An entity tag, whether it is weak, and how it is written.
fn tag() -> impl Strategy<Value = (String, bool)> {
    (select(&["\"a,b\"", "\"\"", "\"a\"", "\"W/\"", "\"*\"", "\"a, \""][..]), any::<bool>())
        .prop_map(|(tag, weak)| (tag.to_owned(), weak))
}

fn is_hidden(segment: &[u8]) -> bool {
    segment.starts_with(b".") && segment != b".well-known"
}

proptest! {
    #[test]
    fn ranges_lie_within_the_file(
        first in prop::option::of(0..20_u64), last in prop::option::of(0..20_u64), length in 0..15_u64,
    ) {
        let shown = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
        let value = format!("bytes={}-{}", shown(first), shown(last));
        let wanted = range::wanted(&with(&header::RANGE, &[value]), length);
        let all: Vec<u64> = (0..length).collect();
        // Which bytes the standard means, counted one by one.
        let meant: Option<Vec<u64>> = match (first, last) {
            (None, None) => None,
            (None, Some(count)) => Some(all.iter().copied().filter(|at| at + count >= length).collect()),
            (Some(first), None) => Some(all.iter().copied().filter(|at| *at >= first).collect()),
            (Some(first), Some(last)) if last < first => None,
            (Some(first), Some(last)) => Some(all.iter().copied().filter(|at| (first..=last).contains(at)).collect()),
        };
        match (wanted, meant) {
            (WantedRange::Whole, None) => {}
            (WantedRange::Part(part), Some(meant)) => assert_eq!(part.collect::<Vec<_>>(), meant),
            (WantedRange::Outside, Some(meant)) => assert!(meant.is_empty()),
            // There is no way to say that an empty file has no last bytes.
            (WantedRange::Whole, Some(_)) => assert!(length == 0 && first.is_none()),
            (wanted, meant) => panic!("{wanted:?} for {meant:?}"),
        }
    }

    #[test]
    fn any_range_lies_within_the_file(
        value in prop_oneof!["bytes=[0-9, -]{0,30}", "(?i)bytes *= *[0-9]{0,30}-[0-9]{0,30}", any::<String>()], length in any::<u64>(),
    ) {
        if let WantedRange::Part(part) = range::wanted(&with(&header::RANGE, &[value]), length) {
            assert!(part.start < part.end && part.end <= length, "{part:?}");
        }
    }

    #[test]
    fn tags_of_conditions(tags in vec(tag(), 0..4), separator in select(&[",", ", ", " ,\t", ",,"][..])) {
        let list = |(tag, weak): &(String, bool)| if *weak { format!("W/{tag}") } else { tag.clone() };
        let value = tags.iter().map(list).collect::<Vec<_>>().join(separator);
        let etag = HeaderValue::from_static(ETAG);
        let none = conditional::check(&with(&header::IF_NONE_MATCH, &[&value]), &etag, 7);
        assert_eq!(none == Precondition::NotModified, tags.iter().any(|(tag, _)| tag == ETAG), "{value}");
        let some = conditional::check(&with(&header::IF_MATCH, &[&value]), &etag, 7);
        assert_eq!(some == Precondition::Failed, !tags.iter().any(|(tag, weak)| tag == ETAG && !weak), "{value}");
    }

    #[test]
    fn dates_of_conditions(
        (known, modified) in (0..4_000_000_000_u64, 0..3_u64).prop_map(|(known, more)| (known, known + more)),
    ) {
        let date = httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(known));
        let etag = HeaderValue::from_static(ETAG);
        let since = conditional::check(&with(&header::IF_MODIFIED_SINCE, &[&date]), &etag, modified);
        assert_eq!(since == Precondition::NotModified, modified == known);
        let unless = conditional::check(&with(&header::IF_UNMODIFIED_SINCE, &[&date]), &etag, modified);
        assert_eq!(unless == Precondition::Failed, modified > known);
        assert_eq!(conditional::if_range_holds(&with(&header::IF_RANGE, &[date]), &etag, modified), known == modified);
    }

    #[test]
    fn any_condition_is_judged(
        name in select(&[header::IF_MATCH, header::IF_NONE_MATCH, header::IF_MODIFIED_SINCE, header::IF_UNMODIFIED_SINCE, header::IF_RANGE][..]),
        values in vec(prop_oneof![any::<String>(), "[W/\"a, *]{0,12}"], 0..3),
    ) {
        let headers = with(&name, &values);
        conditional::check(&headers, &HeaderValue::from_static(ETAG), 7);
        conditional::if_range_holds(&headers, &HeaderValue::from_static(ETAG), 7);
    }

    #[test]
    fn paths_stay_below_the_folder(raw in prop_oneof![
        any::<String>(),
        "/?([a-b.]{0,3}|%2[eEfF]|%00|%5c|%|%4|\\.\\.|\\.well-known|%C3%A4|/|\\\\){0,6}",
    ]) {
        let Some(decoded) = path::decode(&raw) else { return Ok(()) };
        let inside = decoded.strip_prefix(b"/").unwrap();
        let inside = inside.strip_suffix(b"/").unwrap_or(inside);
        assert!(!decoded.contains(&0) && !inside.split(|byte| *byte == b'/').any(is_hidden), "{raw:?}");
        assert!(inside.is_empty() || inside.split(|byte| *byte == b'/').all(|segment| !segment.is_empty()), "{raw:?}");
        // What `Location` says leads to the same path, on the same host.
        let location = path::encode(&decoded);
        assert!(location.starts_with('/') && !location.starts_with("//") && location.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(path::decode(&location).as_deref(), Some(&*decoded));
    }

    #[test]
    fn qualities_of_encodings(thousandths in 0..=1000_u16, other in 0..=1000_u16) {
        let shown = |quality: u16| format!("{}.{:03}", quality / 1000, quality % 1000);
        let value = format!("gzip;q={} , BR; q={}", shown(thousandths), shown(other));
        let accepted = AcceptedEncodings::from(&with(&header::ACCEPT_ENCODING, &[value]));
        assert_eq!((accepted.quality(Encoding::Gzip), accepted.quality(Encoding::Brotli)), (thousandths, other));
        assert_eq!(accepted.quality(Encoding::Zstd), 0);
    }

    #[test]
    fn any_list_of_encodings_is_understood(values in vec(prop_oneof![any::<String>(), "(gzip|br|\\*|identity|[;=q0-9., ]){0,9}"], 0..3)) {
        let accepted = AcceptedEncodings::from(&with(&header::ACCEPT_ENCODING, &values));
        for encoding in [Encoding::Identity, Encoding::Brotli, Encoding::Zstd, Encoding::Gzip] {
            assert!(accepted.quality(encoding) <= 1000);
        }
    }
}
