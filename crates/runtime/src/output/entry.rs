//! One entry of the engine's log file: `{"log":"text\n","stream":"stdout","time":"2026-11-15T13:34:55.123456789Z"}`.

use std::borrow::Cow;

use memchr::memchr2;
use memchr::memmem;
use serde::Deserialize;

use crate::{Stream, moment};

const BEGINNING: &[u8] = br#"{"log":""#;

/// Where it came from and when; its text is in the buffer that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub stream: Stream,
    /// Nanoseconds since 1970.
    pub at: i64,
}

/// What a line of the file is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    Entry(Entry),
    /// After a loss of power an entry may follow the rest of a broken one in the same line: so many bytes.
    AfterRubbish(Entry, usize),
    Rubbish,
}

/// `text` is filled with what was printed.
pub(super) fn parse(line: &[u8], text: &mut Vec<u8>) -> Parsed {
    if let Some(entry) = parse_whole(line, text) {
        return Parsed::Entry(entry);
    }
    // Within a text the quotes would be escaped.
    match memmem::rfind(line, BEGINNING) {
        Some(start) if start > 0 => match parse_whole(&line[start..], text) {
            Some(entry) => Parsed::AfterRubbish(entry, start),
            None => Parsed::Rubbish,
        },
        _ => Parsed::Rubbish,
    }
}

fn parse_whole(line: &[u8], text: &mut Vec<u8>) -> Option<Entry> {
    parse_usual(line, text).or_else(|| parse_any(line, text))
}

/// As the engine writes it, field by field.
fn parse_usual(line: &[u8], text: &mut Vec<u8>) -> Option<Entry> {
    let rest = unescape(line.strip_prefix(BEGINNING)?, text)?;
    let rest = rest.strip_prefix(br#","stream":"std"#)?;
    let (stream, rest) = match rest.strip_prefix(b"out") {
        Some(rest) => (Stream::Stdout, rest),
        None => (Stream::Stderr, rest.strip_prefix(b"err")?),
    };
    let time = rest.strip_prefix(br#"","time":""#)?.strip_suffix(br#""}"#)?;
    Some(Entry { stream, at: nanoseconds(time)? })
}

/// In whatever way it may be written otherwise: with labels, for example.
fn parse_any(line: &[u8], text: &mut Vec<u8>) -> Option<Entry> {
    #[derive(Deserialize)]
    struct Fields<'a> {
        #[serde(borrow, default)]
        log: Cow<'a, str>,
        #[serde(borrow)]
        stream: Cow<'a, str>,
        #[serde(borrow)]
        time: Cow<'a, str>,
    }
    let fields: Fields<'_> = serde_json::from_slice(line).ok()?;
    text.clear();
    text.extend_from_slice(fields.log.as_bytes());
    let stream = if fields.stream == "stderr" { Stream::Stderr } else { Stream::Stdout };
    Some(Entry { stream, at: nanoseconds(fields.time.as_bytes())? })
}

/// The text up to the closing quote, and what follows that; none if there is something that only a real parser knows.
fn unescape<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Option<&'a [u8]> {
    text.clear();
    loop {
        let special = memchr2(b'"', b'\\', rest)?;
        text.extend_from_slice(&rest[..special]);
        if rest[special] == b'"' {
            return Some(&rest[special + 1..]);
        }
        let length = match *rest.get(special + 1)? {
            b'u' => {
                let code = rest.get(special + 2..special + 6)?;
                let code = code.iter().try_fold(0, |code, digit| Some(code << 4 | char::from(*digit).to_digit(16)?))?;
                // None for one half of a pair.
                text.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
                6
            }
            letter => {
                text.push(match letter {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    b'"' | b'\\' | b'/' => letter,
                    _ => return None,
                });
                2
            }
        };
        rest = &rest[special + length..];
    }
}

/// Since 1970. None before 1678 and after 2262, which no entry is.
pub(super) fn nanoseconds(time: &[u8]) -> Option<i64> {
    nanoseconds_usual(time).or_else(|| {
        let moment = moment::parse(str::from_utf8(time).ok()?)?;
        i64::try_from(moment.unix_timestamp_nanos()).ok()
    })
}

/// `2026-11-15T13:34:55.123456789Z`, with up to nine decimals or none.
fn nanoseconds_usual(time: &[u8]) -> Option<i64> {
    let (clock, fraction) = time.strip_suffix(b"Z")?.split_at_checked(19)?;
    let &[_, _, _, _, b'-', _, _, b'-', _, _, b'T', _, _, b':', _, _, b':', _, _] = clock else { return None };
    let (year, month, day) = (number(&clock[..4])?, number(&clock[5..7])?, number(&clock[8..10])?);
    let (hour, minute, second) = (number(&clock[11..13])?, number(&clock[14..16])?, number(&clock[17..])?);
    let is_usual = (1970..2200).contains(&year)
        && (1..=12).contains(&month)
        && (1..=last_day(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    if !is_usual {
        return None;
    }
    let nanoseconds = match fraction {
        [] => 0,
        [b'.', decimals @ ..] if (1..=9).contains(&decimals.len()) => {
            number(decimals)? * 10_i64.pow(9 - u32::try_from(decimals.len()).ok()?)
        }
        _ => return None,
    };
    let seconds = (days(year, month, day) * 24 + hour) * 3600 + minute * 60 + second;
    Some(seconds * 1_000_000_000 + nanoseconds)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |number, digit| digit.is_ascii_digit().then(|| number * 10 + i64::from(digit - b'0')))
}

fn last_day(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// From the first of January 1970, in years that begin in March, so that the leap day is their last day.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 719_469
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> (Parsed, String) {
        let mut text = Vec::new();
        let parsed = parse(line.as_bytes(), &mut text);
        (parsed, String::from_utf8(text).unwrap())
    }

    #[test]
    fn what_the_engine_writes_is_read() {
        let entry = |stream| Parsed::Entry(Entry { stream, at: 1_794_749_695_120_000_000 });
        let cases = [
            (r#"{"log":"hello\n","stream":"stdout","time":"2026-11-15T13:34:55.12Z"}"#, Stream::Stdout, "hello\n"),
            (r#"{"log":"","stream":"stderr","time":"2026-11-15T13:34:55.12Z"}"#, Stream::Stderr, ""),
            (
                r#"{"log":"\u003ca\u003e \"q\" \\ \t\r\b\f\/ ü \ufffd \ud83d\udea2\n","stream":"stdout","time":"2026-11-15T13:34:55.12Z"}"#,
                Stream::Stdout,
                "<a> \"q\" \\ \t\r\u{8}\u{c}/ ü \u{fffd} 🚢\n",
            ),
            (
                r#"{"log":"x\n","stream":"stderr","attrs":{"a":"b"},"time":"2026-11-15T14:34:55.12+01:00"}"#,
                Stream::Stderr,
                "x\n",
            ),
            // The engine leaves out what is empty.
            (r#"{"stream":"stderr","time":"2026-11-15T13:34:55.12Z"}"#, Stream::Stderr, ""),
        ];
        for (line, stream, text) in cases {
            assert_eq!(parsed(line), (entry(stream), text.to_owned()), "{line}");
        }
    }

    #[test]
    fn rubbish_is_told_from_an_entry_after_it() {
        let whole = r#"{"log":"b\n","stream":"stdout","time":"1970-01-01T00:00:01Z"}"#;
        let entry = Entry { stream: Stream::Stdout, at: 1_000_000_000 };
        for rubbish in ["\0\0\0\0", r#"{"log":"a"#, r#"{"log":"a\n","stream":"stdout","ti"#] {
            let line = format!("{rubbish}{whole}");
            assert_eq!(parsed(&line), (Parsed::AfterRubbish(entry, rubbish.len()), "b\n".to_owned()), "{line}");
        }
        let broken = ["", "\0\0", "{}", "null", r#"{"log":"a\n","stream":"stdout","time":"never"}"#, "{\"log\":\"\\"];
        for line in broken {
            assert_eq!(parsed(line).0, Parsed::Rubbish, "{line}");
        }
    }

    #[test]
    fn moments_are_those_of_the_calendar() {
        let times = [
            "1970-01-01T00:00:00Z",
            "2000-02-29T23:59:59.999999999Z",
            "2024-12-31T12:00:00.5Z",
            "2100-03-01T00:00:00.000000001Z",
        ];
        for time in times {
            let expected = i64::try_from(moment::parse(time).unwrap().unix_timestamp_nanos()).unwrap();
            assert_eq!(nanoseconds_usual(time.as_bytes()), Some(expected), "{time}");
        }
        for time in
            ["", "Z", "2026-11-15T13:34:55", "2026-11-15T13:34:55.Z", "2026-13-15T13:34:55Z", "2026-11-15T13:34:5xZ"]
        {
            assert_eq!(nanoseconds(time.as_bytes()), None, "{time}");
        }
    }
}
