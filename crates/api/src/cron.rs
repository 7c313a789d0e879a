//! When something is to be done again and again: five fields, as cron reads them. Times are UTC, which has no hour twice and none
//! left out.

use std::borrow::Cow;
use std::ops::{Deref, RangeInclusive};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use time::{Date, OffsetDateTime};

use crate::Timestamp;
use crate::text::{self, check_length};

#[cfg(test)]
mod properties;

const SHORTEST: usize = 6;
const LONGEST: usize = 100;
/// What it must be beyond that, only the rule can say.
const PATTERN: &str = "^(@[a-z]+|[0-9A-Za-z*,/-]+( +[0-9A-Za-z*,/-]+){4})$";
/// The calendar is the same again after this many years.
const CYCLE_YEARS: i32 = 400;
const MINUTE_MICROS: i64 = 60_000_000;

/// Minute, hour, day of the month, month and day of the week, or one of the names below. It knows the times that they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    text: String,
    /// A bit for each value.
    minutes: u64,
    hours: u64,
    days: u64,
    months: u64,
    /// From Sunday, which is 0.
    weekdays: u64,
    /// Whether one of the two fields about days begins with `*`: then a day must fit both, else one of them.
    needs_both_days: bool,
}

/// The names, and what they stand for.
const NAMED: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

struct Field {
    name: &'static str,
    least: u8,
    most: u8,
    /// Of its values, from the least on.
    names: &'static [&'static str],
}

const MINUTE: Field = Field { name: "minute", least: 0, most: 59, names: &[] };
const HOUR: Field = Field { name: "hour", least: 0, most: 23, names: &[] };
const DAY: Field = Field { name: "day of the month", least: 1, most: 31, names: &[] };
const MONTH: Field = Field {
    name: "month",
    least: 1,
    most: 12,
    names: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
/// Sunday is 0 and 7.
const WEEKDAY: Field =
    Field { name: "day of the week", least: 0, most: 7, names: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

impl Cron {
    /// The first time after this one that it means.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let next_minute = after.micros().div_euclid(MINUTE_MICROS) + 1;
        let from = OffsetDateTime::from_unix_timestamp(next_minute.checked_mul(60)?).ok()?;
        let (mut date, last_year) = (from.date(), from.year() + CYCLE_YEARS);
        let mut time = self.first_time(from.hour(), from.minute());
        loop {
            if self.is_day(date)
                && let Some((hour, minute)) = time
            {
                let at = date.with_hms(hour, minute, 0).ok()?.assume_utc();
                return at.unix_timestamp().checked_mul(1_000_000).map(Timestamp::from_micros);
            }
            date = if has(self.months, date.month().into()) { date.next_day()? } else { first_of_next_month(date)? };
            time = self.first_time(0, 0);
            if date.year() > last_year {
                return None;
            }
        }
    }

    fn is_day(&self, date: Date) -> bool {
        let (day, weekday) = (has(self.days, date.day()), has(self.weekdays, date.weekday().number_days_from_sunday()));
        let is_day = if self.needs_both_days { day && weekday } else { day || weekday };
        has(self.months, date.month().into()) && is_day
    }

    /// The first time of a day that is not before this one.
    fn first_time(&self, hour: u8, minute: u8) -> Option<(u8, u8)> {
        (hour..=HOUR.most).filter(|candidate| has(self.hours, *candidate)).find_map(|candidate| {
            let from = if candidate == hour { minute } else { 0 };
            (from..=MINUTE.most).find(|minute| has(self.minutes, *minute)).map(|minute| (candidate, minute))
        })
    }

    fn of_fields(text: &str, fields: &str) -> Result<Self, String> {
        let all: Vec<&str> = fields.split(' ').filter(|field| !field.is_empty()).collect();
        let [minute, hour, day, month, weekday] = all[..] else {
            return Err("must be five fields with spaces between them (minute, hour, day of the month, month, day of the week), \
                        such as \"30 3 * * *\", or a name such as @daily"
                .to_owned());
        };
        let weekdays = values(weekday, &WEEKDAY)?;
        let sunday = weekdays >> 7 & 1;
        Ok(Self {
            text: text.to_owned(),
            minutes: values(minute, &MINUTE)?,
            hours: values(hour, &HOUR)?,
            days: values(day, &DAY)?,
            months: values(month, &MONTH)?,
            weekdays: weekdays & 0x7F | sunday,
            needs_both_days: day.starts_with('*') || weekday.starts_with('*'),
        })
    }
}

fn has(bits: u64, value: u8) -> bool {
    bits >> value & 1 == 1
}

fn first_of_next_month(date: Date) -> Option<Date> {
    let month = date.month().next();
    let year = date.year() + i32::from(month == time::Month::January);
    Date::from_calendar_date(year, month, 1).ok()
}

/// A bit for each value that a field lists.
fn values(text: &str, field: &Field) -> Result<u64, String> {
    text.split(',').try_fold(0, |bits, part| {
        let (range, step) = part_of(part, field)?;
        Ok(range.step_by(step).fold(bits, |bits, value| bits | 1 << value))
    })
}

/// `*`, a value or `from-to`; the first and the last may have a step after a slash.
fn part_of(part: &str, field: &Field) -> Result<(RangeInclusive<u8>, usize), String> {
    let (range, step) = match part.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (part, None),
    };
    let wrong = |what: String| format!("has \"{part}\" as {}: {what}", field.name);
    let range = match range.split_once('-') {
        None if range == "*" => field.least..=last_of_all(field),
        None if step.is_some() => {
            return Err(wrong("a step needs * or a range before it, such as */5 or 0-30/5".into()));
        }
        None => {
            let only = value(range, field).map_err(wrong)?;
            only..=only
        }
        Some((from, to)) => value(from, field).map_err(wrong)?..=value(to, field).map_err(wrong)?,
    };
    if range.is_empty() {
        return Err(wrong("the range begins after its end".into()));
    }
    let step = match step {
        None => 1,
        Some(step) => number(step)
            .filter(|step| (1..=field.most).contains(step))
            .ok_or_else(|| wrong(format!("a step must be from 1 to {}", field.most)))?,
    };
    Ok((range, step.into()))
}

/// What `*` goes up to: Sunday counts once.
fn last_of_all(field: &Field) -> u8 {
    if field.most == WEEKDAY.most { 6 } else { field.most }
}

fn value(text: &str, field: &Field) -> Result<u8, String> {
    let named = field.names.iter().position(|name| name.eq_ignore_ascii_case(text));
    let named = named.and_then(|index| u8::try_from(index).ok()).map(|index| index + field.least);
    let found = named.or_else(|| number(text)).filter(|value| (field.least..=field.most).contains(value));
    found.ok_or_else(|| match field.names.first() {
        None => format!("must be from {} to {}", field.least, field.most),
        Some(first) => format!("must be from {} to {}, or a name such as {first}", field.least, field.most),
    })
}

/// One or two digits.
fn number(text: &str) -> Option<u8> {
    let is_number = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

impl TryFrom<&str> for Cron {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.trim().split(' ').filter(|word| !word.is_empty()).collect();
        let text = words.join(" ");
        check_length(&text, SHORTEST, LONGEST)?;
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "*,/-@ ".contains(c);
        if !text.chars().all(is_usual) {
            return Err("must be letters, digits, spaces and the signs * , - / @".into());
        }
        let fields = match NAMED.iter().find(|(name, _)| *name == text) {
            Some((_, fields)) => fields,
            None if text.starts_with('@') => {
                let names: Vec<_> = NAMED.iter().map(|(name, _)| *name).collect();
                return Err(format!("must be five fields, or one of the names {}", names.join(", ")));
            }
            None => text.as_str(),
        };
        let cron = Self::of_fields(&text, fields)?;
        match cron.next_after(Timestamp::default()) {
            Some(_) => Ok(cron),
            None => Err("must be a time that comes: no month of these has such a day".into()),
        }
    }
}

impl Deref for Cron {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl Serialize for Cron {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Cron {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer)
    }
}

impl JsonSchema for Cron {
    fn schema_name() -> Cow<'static, str> {
        "Cron".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": SHORTEST, "maxLength": LONGEST, "pattern": PATTERN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::try_from(text).unwrap()
    }

    /// The times that follow a time.
    fn times(cron: &str, after: &str, count: usize) -> Vec<String> {
        let cron = Cron::try_from(cron).unwrap();
        let next = |before: &Timestamp| cron.next_after(*before);
        let all = std::iter::successors(Some(at(after)), next).skip(1).take(count);
        all.map(|time| time.to_string()[..16].to_owned()).collect()
    }

    #[test]
    fn times_follow_each_other() {
        for (cron, after, expected) in [
            ("* * * * *", "2026-01-31T23:58:59Z", ["2026-01-31T23:59", "2026-02-01T00:00"]),
            ("* * * * *", "2026-01-31T23:58:00Z", ["2026-01-31T23:59", "2026-02-01T00:00"]),
            ("*/20 * * * *", "2026-01-01T00:21:00Z", ["2026-01-01T00:40", "2026-01-01T01:00"]),
            ("30 3 * * *", "2026-02-28T03:30:00Z", ["2026-03-01T03:30", "2026-03-02T03:30"]),
            ("0 0 31 * *", "2026-01-31T00:00:00Z", ["2026-03-31T00:00", "2026-05-31T00:00"]),
            ("0 12 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T12:00", "2032-02-29T12:00"]),
            ("0 12 29 2 *", "2096-03-01T00:00:00Z", ["2104-02-29T12:00", "2108-02-29T12:00"]),
            ("5-15/5,50 1 * jun-aug *", "2026-01-01T00:00:00Z", ["2026-06-01T01:05", "2026-06-01T01:10"]),
            ("0 9 * * MON-FRI", "2026-01-02T09:00:00Z", ["2026-01-05T09:00", "2026-01-06T09:00"]),
            ("0 9 * * 7", "2026-01-01T00:00:00Z", ["2026-01-04T09:00", "2026-01-11T09:00"]),
            ("0 9 * * 5-7", "2026-01-01T00:00:00Z", ["2026-01-02T09:00", "2026-01-03T09:00"]),
            ("@hourly", "2026-12-31T23:00:00Z", ["2027-01-01T00:00", "2027-01-01T01:00"]),
            ("@weekly", "2026-01-01T00:00:00Z", ["2026-01-04T00:00", "2026-01-11T00:00"]),
            ("@yearly", "2026-01-01T00:00:00Z", ["2027-01-01T00:00", "2028-01-01T00:00"]),
        ] {
            assert_eq!(times(cron, after, 2), expected, "{cron}");
        }
    }

    #[test]
    fn a_day_fits_one_of_two_fields_unless_one_begins_with_a_star() {
        // The 13th, and each Friday.
        let either = ["2026-01-02T00:00", "2026-01-09T00:00", "2026-01-13T00:00"];
        assert_eq!(times("0 0 13 * 5", "2026-01-01T00:00:00Z", 3), either);
        // A Friday among these.
        assert_eq!(times("0 0 */2 * 5", "2026-01-01T00:00:00Z", 2), ["2026-01-09T00:00", "2026-01-23T00:00"]);
        assert_eq!(times("0 0 13 * */5", "2026-01-01T00:00:00Z", 1), ["2026-02-13T00:00"]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |text: &str| Cron::try_from(text).unwrap_err();
        assert_eq!(message(""), "must not be empty");
        assert_eq!(message("*"), "must have at least 6 characters");
        for few in ["* * * *", "* * * * * *", "0 0 0 0 0 2026"] {
            assert!(message(few).starts_with("must be five fields"), "{few}");
        }
        assert_eq!(message("60 * * * *"), "has \"60\" as minute: must be from 0 to 59");
        assert_eq!(message("0 24 * * *"), "has \"24\" as hour: must be from 0 to 23");
        assert_eq!(message("0 0 0 * *"), "has \"0\" as day of the month: must be from 1 to 31");
        assert_eq!(message("0 0 1 13 *"), "has \"13\" as month: must be from 1 to 12, or a name such as jan");
        assert_eq!(message("0 0 * * 8"), "has \"8\" as day of the week: must be from 0 to 7, or a name such as sun");
        assert_eq!(message("30-10 * * * *"), "has \"30-10\" as minute: the range begins after its end");
        assert_eq!(message("*/0 * * * *"), "has \"*/0\" as minute: a step must be from 1 to 59");
        assert!(message("5/10 * * * *").contains("a step needs * or a range before it"));
        for bad in ["1,,2 * * * *", "1- * * * *", "-1 * * * *", "+1 * * * *", "1.5 * * * *", "001 * * * *", "a * * * *"]
        {
            assert!(message(bad).contains("minute") || message(bad).contains("must be letters"), "{bad}");
        }
        for impossible in ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *"] {
            assert!(message(impossible).starts_with("must be a time that comes"), "{impossible}");
        }
        // A day of the week comes in each month.
        assert!(Cron::try_from("0 0 31 2 1").is_ok());
        assert!(message("@reboot").contains("@hourly"));
        assert!(message("0\t0 * * *").contains("must be letters"));
        assert!(message("0 0 L * *").contains("day of the month"));
    }

    #[test]
    fn what_is_kept_has_single_spaces() {
        assert_eq!(&*Cron::try_from("  0   3 * *   MON ").unwrap(), "0 3 * * MON");
    }
}
