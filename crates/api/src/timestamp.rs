//! Points in time: RFC 3339, UTC, always six decimals.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Microseconds since 1970. Both databases hold the same number, so order and equality are the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    pub const fn micros(self) -> i64 {
        self.0
    }

    #[must_use]
    pub const fn plus_seconds(self, seconds: i64) -> Self {
        Self(self.0.saturating_add(seconds.saturating_mul(1_000_000)))
    }

    /// Whole seconds from `self` to `later`, rounded up; 0 when `later` is past.
    pub const fn seconds_until(self, later: Self) -> u64 {
        let micros = later.0.saturating_sub(self.0);
        if micros <= 0 { 0 } else { (micros as u64).div_ceil(1_000_000) }
    }

    /// The 27 bytes `2026-01-31T23:59:59.123456Z`. By hand, because a page of records holds hundreds.
    fn render(self) -> [u8; 27] {
        // Outside the years 0 to 9999 there is no RFC 3339 text; such a value only comes from a damaged row.
        let at = OffsetDateTime::from_unix_timestamp(self.0.div_euclid(1_000_000))
            .ok()
            .filter(|at| (0..=9999).contains(&at.year()))
            .unwrap_or(OffsetDateTime::UNIX_EPOCH);
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        digits(&mut text[0..4], at.year().unsigned_abs());
        digits(&mut text[5..7], u32::from(u8::from(at.month())));
        digits(&mut text[8..10], u32::from(at.day()));
        digits(&mut text[11..13], u32::from(at.hour()));
        digits(&mut text[14..16], u32::from(at.minute()));
        digits(&mut text[17..19], u32::from(at.second()));
        digits(&mut text[20..26], self.0.rem_euclid(1_000_000) as u32);
        text
    }
}

fn digits(target: &mut [u8], mut value: u32) {
    for digit in target.iter_mut().rev() {
        *digit = b'0' + (value % 10) as u8;
        value /= 10;
    }
}

/// RFC 3339, or a date, which begins at midnight UTC.
impl TryFrom<&str> for Timestamp {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        // In a query a plus sign that is not escaped arrives as a space.
        let text = text.trim().replace(' ', "+");
        let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text };
        // At the ends of the calendar, a moment with an offset can be in a year that has no text in UTC.
        let has_text = |at: &OffsetDateTime| at.checked_to_utc().is_some_and(|at| (0..=9999).contains(&at.year()));
        let parsed = OffsetDateTime::parse(&whole, &Rfc3339).ok().filter(has_text);
        let micros = parsed.and_then(|at| i64::try_from(at.unix_timestamp_nanos().div_euclid(1_000)).ok());
        micros.map(Self).ok_or_else(|| "must be a time such as 2026-01-31T23:59:59Z, or a date".to_owned())
    }
}

impl From<i64> for Timestamp {
    fn from(micros: i64) -> Self {
        Self(micros)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.render()))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = self.render();
        serializer.serialize_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::text::read(deserializer)
    }
}

impl JsonSchema for Timestamp {
    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time", "description": "RFC 3339, UTC, microseconds." })
    }
}

#[cfg(test)]
mod tests {
    use super::Timestamp;

    #[test]
    fn is_rendered_with_six_decimals() {
        assert_eq!(Timestamp::from_micros(0).to_string(), "1970-01-01T00:00:00.000000Z");
        assert_eq!(Timestamp::from_micros(1_798_761_599_000_042).to_string(), "2026-12-31T23:59:59.000042Z");
        assert_eq!(Timestamp::from_micros(-1).to_string(), "1969-12-31T23:59:59.999999Z");
        assert_eq!(Timestamp::from_micros(i64::MAX).to_string(), "1970-01-01T00:00:00.775807Z");
    }

    #[test]
    fn is_read_as_people_write_it() {
        let read = |text| Timestamp::try_from(text).map(|at| at.to_string());
        assert_eq!(read("2026-01-31T23:59:59.5Z").unwrap(), "2026-01-31T23:59:59.500000Z");
        assert_eq!(read("2026-02-01T01:00:00 02:00").unwrap(), "2026-01-31T23:00:00.000000Z");
        assert_eq!(read("2026-01-31").unwrap(), "2026-01-31T00:00:00.000000Z");
        for text in ["", "yesterday", "2026-02-30", "2026-01-31T25:00:00Z", "1767225600"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn counts_seconds_upwards() {
        let now = Timestamp::from_micros(5_000_000);
        assert_eq!(now.seconds_until(Timestamp::from_micros(5_000_001)), 1);
        assert_eq!(now.seconds_until(now.plus_seconds(60)), 60);
        assert_eq!(now.seconds_until(Timestamp::from_micros(0)), 0);
    }
}
