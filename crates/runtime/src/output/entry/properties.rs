//! Entries of any text, whole, broken and behind each other.

use proptest::prelude::*;
use time::format_description::well_known::Rfc3339;

use super::*;

/// From 1970 to 2262.
const MOMENTS: std::ops::Range<i64> = 0..i64::MAX;

fn stream() -> impl Strategy<Value = Stream> {
    prop_oneof![Just(Stream::Stdout), Just(Stream::Stderr)]
}

/// As the engine writes it: what HTML could misunderstand is escaped.
fn written(text: &str, stream: Stream, at: i64) -> String {
    let name = if stream == Stream::Stderr { "stderr" } else { "stdout" };
    let text =
        serde_json::to_string(text).unwrap().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026");
    let time = super::super::gather::moment(at).format(&Rfc3339).unwrap();
    format!("{{\"log\":{text},\"stream\":\"{name}\",\"time\":\"{time}\"}}")
}

fn read(line: &[u8]) -> (Parsed, Vec<u8>) {
    let mut text = b"of the entry before".to_vec();
    let parsed = parse(line, &mut text);
    (parsed, text)
}

proptest! {
    #[test]
    fn nothing_of_an_entry_is_lost(text in any::<String>(), stream in stream(), at in MOMENTS) {
        let line = written(&text, stream, at);
        assert_eq!(read(line.as_bytes()), (Parsed::Entry(Entry { stream, at }), text.into_bytes()));
    }

    #[test]
    fn an_entry_behind_rubbish_is_found(
        rubbish in prop_oneof![any::<Vec<u8>>(), ".{0,9}\\{\"log\":\".{0,9}".prop_map(String::into_bytes)],
        text in any::<String>(), at in MOMENTS,
    ) {
        let whole = written(&text, Stream::Stdout, at);
        let (parsed, found) = read(&[rubbish.as_slice(), whole.as_bytes()].concat());
        let entry = Entry { stream: Stream::Stdout, at };
        // Spaces before an entry are a part of it.
        let is_blank = rubbish.iter().all(|byte| b" \t\r\n".contains(byte));
        let expected = if is_blank { Parsed::Entry(entry) } else { Parsed::AfterRubbish(entry, rubbish.len()) };
        assert_eq!((parsed, found), (expected, text.into_bytes()));
    }

    #[test]
    fn an_entry_that_was_cut_off_is_none(text in any::<String>(), at in MOMENTS, cut in any::<prop::sample::Index>()) {
        let line = written(&text, Stream::Stdout, at);
        assert_eq!(read(&line.as_bytes()[..cut.index(line.len())]).0, Parsed::Rubbish);
    }

    #[test]
    fn the_quick_way_and_the_thorough_one_agree(
        line in "\\{\"log\":\"([a-z<]|\\\\[nrtbfu\"\\\\/x]|\\\\u00[0-9a-f]{2}|\\\\ud83d\\\\udea2|\u{fc}){0,9}\",\"stream\":\"(stdout|stderr|x)\",\"time\":\"20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{0,10})?Z\"\\}?",
    ) {
        let (mut quick, mut thorough) = (Vec::new(), Vec::new());
        if let Some(entry) = parse_usual(line.as_bytes(), &mut quick) {
            assert_eq!(parse_any(line.as_bytes(), &mut thorough), Some(entry));
            assert_eq!(quick, thorough);
        }
    }

    #[test]
    fn moments_are_those_of_the_calendar(
        text in "(19[67][0-9]|20[0-9]{2}|21[0-9]{2})-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9](\\.[0-9]{1,10})?Z",
    ) {
        if let Some(at) = nanoseconds_usual(text.as_bytes()) {
            let expected = moment::parse(&text).map(time::OffsetDateTime::unix_timestamp_nanos);
            assert_eq!(Some(i128::from(at)), expected);
        }
    }

    #[test]
    fn any_bytes_are_read_or_not(line in any::<Vec<u8>>()) {
        read(&line);
    }
}
