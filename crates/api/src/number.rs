//! Whole numbers within limits.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Whole<const MIN: i64, const MAX: i64>(i64);

pub type FontSize = Whole<8, 72>;
pub type Port = Whole<1, 65_535>;
pub type Days = Whole<1, 365>;

impl<const MIN: i64, const MAX: i64> Whole<MIN, MAX> {
    pub const fn get(self) -> i64 {
        self.0
    }

    fn check(number: Option<i64>) -> Result<Self, String> {
        let number = number.filter(|number| (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| format!("must be a whole number from {MIN} to {MAX}"))
    }
}

/// 0 for none, or a whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ZeroOr<const MIN: i64, const MAX: i64>(i64);

impl<const MIN: i64, const MAX: i64> ZeroOr<MIN, MAX> {
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for ZeroOr<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer).ok().and_then(|number| number.as_i64());
        let number = number.filter(|number| *number == 0 || (MIN..=MAX).contains(number));
        number.map(Self).ok_or_else(|| D::Error::custom(format!("must be 0, or a whole number from {MIN} to {MAX}")))
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for ZeroOr<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("ZeroOr{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let description = format!("0 for no limit, or from {MIN} to {MAX}.");
        // With its type, because a number's limits let everything else pass, null included.
        let too_little = serde_json::json!({ "type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": MIN });
        json_schema!({ "type": "integer", "minimum": 0, "maximum": MAX, "not": too_little, "description": description })
    }
}

/// A number that was measured, with three decimals at most. It can be compared, which other fractions cannot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Decimal(i64);

/// More than anything that is measured.
const MOST_DECIMAL: f64 = 1e15;

impl Decimal {
    pub fn new(number: f64) -> Self {
        let number = if number.is_nan() { 0.0 } else { number.clamp(-MOST_DECIMAL, MOST_DECIMAL) };
        Self((number * 1_000.0).round() as i64)
    }

    pub fn get(self) -> f64 {
        self.0 as f64 / 1_000.0
    }
}

impl Serialize for Decimal {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 % 1_000 {
            0 => serializer.serialize_i64(self.0 / 1_000),
            _ => serializer.serialize_f64(self.get()),
        }
    }
}

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::new)
    }
}

impl JsonSchema for Decimal {
    fn schema_name() -> Cow<'static, str> {
        "Decimal".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number" })
    }
}

/// As a query parameter.
impl<const MIN: i64, const MAX: i64> TryFrom<&str> for Whole<MIN, MAX> {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        Self::check(text.parse().ok())
    }
}

/// As JSON, where a number is a number.
impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Not as a number, whose error would take the place of that of a field that is not there.
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::check(value.as_i64()).map_err(D::Error::custom)
    }
}

impl<const MIN: i64, const MAX: i64> JsonSchema for Whole<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Whole{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_and_read_as_they_were_written() {
        for (number, text) in [(0.0, "0"), (1.0004, "1"), (12.3456, "12.346"), (-0.5, "-0.5"), (f64::NAN, "0")] {
            let decimal = Decimal::new(number);
            assert_eq!(serde_json::to_string(&decimal).unwrap(), text);
            assert_eq!(serde_json::from_str::<Decimal>(text).unwrap(), decimal);
        }
        assert_eq!(Decimal::new(f64::INFINITY), Decimal::new(1e300));
    }

    #[test]
    fn limits_hold_for_json_and_for_text() {
        for (json, text, is_good) in
            [("8", "8", true), ("72", "72", true), ("7", "7", false), ("14.5", "14.5", false), ("1e300", "", false)]
        {
            assert_eq!(serde_json::from_str::<FontSize>(json).is_ok(), is_good, "{json}");
            assert_eq!(FontSize::try_from(text).is_ok(), is_good, "{text}");
        }
        assert!(serde_json::from_str::<FontSize>("\"14\"").is_err());
        for (json, is_good) in [("0", true), ("16", true), ("15", false), ("21", false), ("-1", false)] {
            assert_eq!(serde_json::from_str::<ZeroOr<16, 20>>(json).is_ok(), is_good, "{json}");
        }
    }
}
