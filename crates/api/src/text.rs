//! Texts that are checked while they are read. Each type is its own rule, its own message and its own
//! entry in the API description, so the three cannot drift apart.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{self, Deserialize, Deserializer, Visitor};

use crate::sent::Sent;

/// Human text of `MIN` to `MAX` characters after trimming, on one line, without invisible characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Text<const MIN: usize, const MAX: usize>(String);

impl<const MIN: usize, const MAX: usize> Text<MIN, MAX> {
    pub fn into_string(self) -> String {
        self.0
    }
}

impl<const MIN: usize, const MAX: usize> Deref for Text<MIN, MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> TryFrom<&str> for Text<MIN, MAX> {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let text = text.trim();
        refuse_invisible(text)?;
        check_length(text, MIN, MAX)?;
        Ok(Self(text.to_owned()))
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Text<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Text{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = json_schema!({ "type": "string", "minLength": MIN, "maxLength": MAX });
        if MIN > 0 {
            schema.insert("pattern".into(), NOT_BLANK.into());
        }
        schema
    }
}

/// Spaces alone are nothing: texts are trimmed before they are counted.
pub(crate) const NOT_BLANK: &str = r"\S";

/// Lower-case letters, digits and single hyphens, at most `MAX` characters: `arctic-chill`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slug<const MAX: usize>(String);

impl<const MAX: usize> Deref for Slug<MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const MAX: usize> TryFrom<&str> for Slug<MAX> {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        check_length(text, 1, MAX)?;
        let well_formed = text.split('-').all(|part| {
            !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        });
        if !well_formed {
            return Err("must be lower-case letters, digits and single hyphens, such as \"arctic-chill\"".into());
        }
        Ok(Self(text.to_owned()))
    }
}

impl<const MAX: usize> JsonSchema for Slug<MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Slug{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": MAX, "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$" })
    }
}

/// An e-mail address in lower case, the form in which addresses are compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Email(String);

impl Email {
    pub fn local_part(&self) -> &str {
        self.0.split('@').next().unwrap_or_default()
    }
}

impl Deref for Email {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Email {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let text = text.trim();
        check_length(text, 1, 254)?;
        let malformed = || "must be an e-mail address, such as \"ada@example.org\"".to_owned();
        let (local, domain) = text.split_once('@').ok_or_else(malformed)?;
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic());
        let labels_filled = domain.split('.').all(|label| !label.is_empty());
        if local.is_empty() || local.len() > 64 || domain.contains('@') || !printable || !labels_filled {
            return Err(malformed());
        }
        Ok(Self(text.to_ascii_lowercase()))
    }
}

impl JsonSchema for Email {
    fn schema_name() -> Cow<'static, str> {
        "Email".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Visible ASCII: up to 64 characters, the @, and labels with dots between them.
        let pattern = r"^[!-?A-~]{1,64}@[!-,\-/-?A-~]+(\.[!-,\-/-?A-~]+)*$";
        json_schema!({ "type": "string", "format": "email", "minLength": 3, "maxLength": 254, "pattern": pattern })
    }
}

/// A secret of `MIN` to `MAX` characters as the caller sent it: never trimmed, never shown in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<const MIN: usize, const MAX: usize>(String);

/// A password that is being chosen.
pub type NewPassword = Secret<10, 128>;
/// A password, token or code that is being presented.
pub type Presented = Secret<1, 128>;
/// A password for some other server, or none.
pub type Password = Secret<0, 500>;
/// What a code host asks for instead of a password.
pub type AccessToken = Secret<1, 2_000>;

impl<const MIN: usize, const MAX: usize> Secret<MIN, MAX> {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl<const MIN: usize, const MAX: usize> Sent for Secret<MIN, MAX> {
    fn sent(&self) -> impl Serialize {
        self.reveal()
    }
}

impl<const MIN: usize, const MAX: usize> fmt::Debug for Secret<MIN, MAX> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<const MIN: usize, const MAX: usize> TryFrom<&str> for Secret<MIN, MAX> {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        refuse_invisible(text)?;
        check_length(text, MIN, MAX)?;
        Ok(Self(text.to_owned()))
    }
}

impl<const MIN: usize, const MAX: usize> JsonSchema for Secret<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("Secret{MIN}To{MAX}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "password", "minLength": MIN, "maxLength": MAX })
    }
}

/// A text with a rule of its own: `checked_text! { /// Doc. Name, 1..=100, PATTERN, rule }`. The rule gives the text as it
/// is kept. The pattern is what clients are told of the rule; it lets everything pass that the rule does.
macro_rules! checked_text {
    ($($(#[$doc:meta])* $name:ident, $min:literal..=$max:literal, $pattern:expr, $rule:expr;)+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, ::serde::Serialize)]
        pub struct $name(String);

        impl ::std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<&str> for $name {
            type Error = String;

            fn try_from(text: &str) -> Result<Self, String> {
                let text = text.trim();
                $crate::text::check_length(text, $min, $max)?;
                let rule: fn(&str) -> Result<String, String> = $rule;
                $crate::text::can_be_sent_again(rule(text)?, $min, $max).map(Self)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::text::read(deserializer)
            }
        }

        impl ::schemars::JsonSchema for $name {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                ::schemars::json_schema!({
                    "type": "string", "minLength": $min, "maxLength": $max, "pattern": $pattern,
                })
            }
        })+
    };
}
pub(crate) use checked_text;

/// What is shown to clients comes back from them, and must then be what it is.
pub(crate) fn can_be_sent_again(kept: String, min: usize, max: usize) -> Result<String, String> {
    check_length(&kept, min, max)?;
    if kept.trim() != kept {
        return Err("must not begin or end with a space".into());
    }
    Ok(kept)
}

pub(crate) fn check_length(text: &str, min: usize, max: usize) -> Result<(), String> {
    let length = text.chars().count();
    if length == 0 && min > 0 {
        return Err("must not be empty".into());
    }
    if length < min {
        return Err(format!("must have at least {min} characters"));
    }
    if length > max {
        return Err(format!("must have at most {max} characters"));
    }
    Ok(())
}

/// Characters that no reader sees, or that change how the rest is shown, have no place in a name: they make
/// two names look alike. Joiners stay, because emoji and several scripts need them.
pub(crate) fn refuse_invisible(text: &str) -> Result<(), String> {
    let invisible = |c: &char| {
        c.is_control()
            || matches!(*c,
                '\u{00AD}' | '\u{115F}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{FFA0}' | '\u{180E}' | '\u{200B}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}'
                | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF0}'..='\u{FFFB}' | '\u{FDD0}'..='\u{FDEF}'
                | '\u{E0000}'..='\u{E007F}')
            || (*c as u32) & 0xFFFE == 0xFFFE
    };
    match text.chars().find(invisible) {
        Some(c) => Err(format!("must not contain the invisible character U+{:04X}", c as u32)),
        None => Ok(()),
    }
}

/// Reads a JSON string through `TryFrom<&str>`, without naming the value in the error: it may be a secret.
struct FromText<T>(std::marker::PhantomData<T>);

impl<T> Visitor<'_> for FromText<T>
where
    T: for<'a> TryFrom<&'a str, Error = String>,
{
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::try_from(text).map_err(E::custom)
    }
}

pub(crate) fn read<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: for<'a> TryFrom<&'a str, Error = String>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(FromText(std::marker::PhantomData))
}

/// A query parameter that a form sends empty is one that was not filled in.
pub(crate) fn absent_when_empty<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: for<'a> TryFrom<&'a str, Error = String>,
    D: Deserializer<'de>,
{
    let text = Cow::<'de, str>::deserialize(deserializer)?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    T::try_from(&text).map(Some).map_err(de::Error::custom)
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Text<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Slug<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de> Deserialize<'de> for Email {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

impl<'de, const MIN: usize, const MAX: usize> Deserialize<'de> for Secret<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Result<String, String> {
        Text::<1, 5>::try_from(text).map(Text::into_string)
    }

    #[test]
    fn text_is_trimmed_and_counted_in_characters() {
        assert_eq!(name("  Ünïcö  "), Ok("Ünïcö".into()));
        assert_eq!(name("👩‍🚀"), Ok("👩‍🚀".into()));
        assert_eq!(name("   "), Err("must not be empty".into()));
        assert_eq!(name("abcdef"), Err("must have at most 5 characters".into()));
    }

    #[test]
    fn text_refuses_what_no_reader_sees() {
        for text in ["a\0b", "a\nb", "a\u{202E}b", "a\u{200B}b", "a\u{FFFE}b", "a\u{1FFFF}b", "a\u{7F}b"] {
            assert!(name(text).unwrap_err().contains("invisible"), "{text:?}");
        }
    }

    #[test]
    fn slugs() {
        assert!(Slug::<20>::try_from("arctic-chill").is_ok());
        for text in ["", "-a", "a-", "a--b", "A", "ä", "a b", "abcdefghijklmnopqrstu"] {
            assert!(Slug::<20>::try_from(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn emails_are_lowered() {
        assert_eq!(&*Email::try_from(" Ada@Example.ORG ").unwrap(), "ada@example.org");
        for text in ["", "ada", "@x", "ada@", "a@b@c", "a b@c", "ä@c", "a@b..c", "a\u{0}@b"] {
            assert!(Email::try_from(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let secret = NewPassword::try_from("correct horse").unwrap();
        assert_eq!(format!("{secret:?}"), "Secret(..)");
    }
}
