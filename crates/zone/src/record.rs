//! What is to be changed, checked before it is sent anywhere.

use crate::ZoneError;

const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;
/// A text in DNS can be longer, but is in several pieces then.
const LONGEST_VALUE: usize = 255;

/// How long resolvers keep it, in seconds. The least that all providers take.
pub const LIFETIME: u32 = 60;

/// A TXT record of a zone. Names are in small letters, and without the dot at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRecord {
    pub zone: String,
    pub name: String,
    pub value: String,
}

impl TextRecord {
    pub fn new(zone: &str, name: &str, value: &str) -> Result<Self, ZoneError> {
        let (zone, name) = (checked(zone)?, checked(name)?);
        if name != zone && !name.ends_with(&format!(".{zone}")) {
            return Err(ZoneError::BadRecord(format!("The name {name} is not in the zone {zone}.")));
        }
        if !is_value(value) {
            let longest = format!("1 to {LONGEST_VALUE} visible ASCII signs without quotes and backslashes");
            return Err(ZoneError::BadRecord(format!("The text for {name} must be {longest}.")));
        }
        Ok(Self { zone, name, value: value.to_owned() })
    }
}

fn checked(name: &str) -> Result<String, ZoneError> {
    match is_name(name) {
        true => Ok(name.to_ascii_lowercase()),
        false => Err(ZoneError::BadRecord("A zone or a name in it is not a name of DNS.".into())),
    }
}

/// The names that people give to hosts and keys, of the many more that DNS can hold.
pub fn is_name(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_inside = |label: &str| !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(is_sign);
    let is_label = |label: &str| (1..=LONGEST_LABEL).contains(&label.len()) && is_inside(label);
    text.len() <= LONGEST_NAME && text.split('.').all(is_label)
}

/// No provider has to escape anything of it.
fn is_value(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\');
    (1..=LONGEST_VALUE).contains(&text.len()) && text.bytes().all(is_sign)
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What is taken can be written as a name of DNS, and as a part of an address or of JSON without escapes.
        #[test]
        fn what_is_taken_is_in_its_zone(zone in "\\PC{0,9}|[a-z.]{0,9}", below in "\\PC{0,9}|[a-zA-Z0-9_.-]{0,9}", value in "\\PC{0,300}") {
            let Ok(record) = TextRecord::new(&zone, &format!("{below}.{zone}"), &value) else { return Ok(()) };
            let name = hickory_proto::rr::Name::from_ascii(format!("{}.", record.name)).unwrap();
            let zone = hickory_proto::rr::Name::from_ascii(format!("{}.", record.zone)).unwrap();
            prop_assert!(zone.zone_of(&name));
            prop_assert_eq!(name.to_ascii(), format!("{}.", record.name));
            prop_assert!(record.value.is_ascii() && !record.value.contains(['"', '\\', ' ']));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_zone_is_changed() {
        let record = TextRecord::new("Example.org", "_acme-challenge.EXAMPLE.org", "value").unwrap();
        assert_eq!((record.zone.as_str(), record.name.as_str()), ("example.org", "_acme-challenge.example.org"));
        assert!(TextRecord::new("example.org", "example.org", "value").is_ok());
        for name in
            ["example.com", "badexample.org", "a..example.org", ".example.org", "*.example.org", "a.example.org."]
        {
            assert!(TextRecord::new("example.org", name, "value").is_err(), "{name}");
        }
        assert!(TextRecord::new("", "", "value").is_err());
        let long = "a".repeat(LONGEST_VALUE);
        assert!(TextRecord::new("example.org", "example.org", &long).is_ok());
        for value in ["", "a b", "a\"b", "a\\b", "ä", "a\n", &format!("{long}a")] {
            assert!(TextRecord::new("example.org", "example.org", value).is_err(), "{value}");
        }
    }
}
