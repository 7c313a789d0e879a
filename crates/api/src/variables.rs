//! Variables and lists of names, as requests bring them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use crate::Text;
use crate::sent::Sent;
use crate::text::{check_length, refuse_invisible};

/// What stands where a value is not shown. As a value in a request it means: the one that is there.
pub const MASK: &str = "********";

/// Variables by name. Their values may be secret, so they are not shown in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct VariableMap(BTreeMap<String, String>);

impl VariableMap {
    const MOST: usize = 500;
    const NAME_LENGTH: usize = 200;
    pub const VALUE_BYTES: usize = 32 * 1024;
    pub const BYTES: usize = 64 * 1024;

    fn check(&self) -> Result<(), String> {
        if self.len() > Self::MOST {
            return Err(format!("must have at most {} variables", Self::MOST));
        }
        for (name, value) in &self.0 {
            check_variable(name, value).map_err(|problem| format!("{}: {problem}", shown_name(name)))?;
        }
        Self::check_size(&self.0)
    }

    /// Names and values together.
    pub fn check_size(variables: &BTreeMap<String, String>) -> Result<(), String> {
        if variables.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() > Self::BYTES {
            return Err(format!("must have at most {} KiB in all", Self::BYTES / 1024));
        }
        Ok(())
    }
}

fn check_variable(name: &str, value: &str) -> Result<(), String> {
    let in_name = |problem: String| format!("the name {problem}");
    check_length(name, 1, VariableMap::NAME_LENGTH).map_err(in_name)?;
    refuse_invisible(name).map_err(in_name)?;
    if name.contains('=') || name.trim() != name {
        return Err("the name must not contain \"=\", nor begin or end with a space".into());
    }
    if value.contains('\0') {
        return Err("the value must not contain the character U+0000".into());
    }
    if value.len() > VariableMap::VALUE_BYTES {
        return Err(format!("the value must have at most {} KiB", VariableMap::VALUE_BYTES / 1024));
    }
    Ok(())
}

/// A name in a message: it is the caller's own and can be as long as a body.
pub fn shown_name(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

impl Deref for VariableMap {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

/// As one that a request brings.
impl TryFrom<BTreeMap<String, String>> for VariableMap {
    type Error = String;

    fn try_from(variables: BTreeMap<String, String>) -> Result<Self, String> {
        let variables = Self(variables);
        variables.check()?;
        Ok(variables)
    }
}

impl Sent for VariableMap {
    fn sent(&self) -> impl Serialize {
        &self.0
    }
}

impl fmt::Debug for VariableMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VariableMap({})", self.0.len())
    }
}

impl<'de> Deserialize<'de> for VariableMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Variables;
        impl<'de> Visitor<'de> for Variables {
            type Value = VariableMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<VariableMap, A::Error> {
                let mut variables = BTreeMap::new();
                while let Some((name, value)) = access.next_entry::<String, String>()? {
                    if variables.contains_key(&name) {
                        return Err(Error::custom(format!("{}: is given twice", shown_name(&name))));
                    }
                    variables.insert(name, value);
                }
                VariableMap::try_from(variables).map_err(Error::custom)
            }
        }
        deserializer.deserialize_map(Variables)
    }
}

impl JsonSchema for VariableMap {
    fn schema_name() -> Cow<'static, str> {
        "VariableMap".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "maxProperties": Self::MOST,
            "propertyNames": { "minLength": 1, "maxLength": Self::NAME_LENGTH, "pattern": r"^[^\s=]([^=]*[^\s=])?$" },
            "additionalProperties": { "type": "string", "maxLength": Self::VALUE_BYTES, "pattern": r"^[^\u0000]*$" },
            "description": "Replaces all of them. The value \"********\" stands for the one that is there.",
        })
    }
}

/// At most `MOST` different texts, each of 1 to `LENGTH` characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextSet<const MOST: usize, const LENGTH: usize>(Vec<String>);

pub type Labels = TextSet<50, 50>;
pub type VariableNames = TextSet<1000, 200>;
pub type VolumeNames = TextSet<100, 63>;

impl<const MOST: usize, const LENGTH: usize> Deref for TextSet<MOST, LENGTH> {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.0
    }
}

impl<const MOST: usize, const LENGTH: usize> TextSet<MOST, LENGTH> {
    fn check(texts: Vec<Text<1, LENGTH>>) -> Result<Self, String> {
        if texts.len() > MOST {
            return Err(format!("must have at most {MOST} items"));
        }
        let mut all: Vec<String> = Vec::new();
        for text in texts.into_iter().map(Text::into_string) {
            if all.contains(&text) {
                return Err(format!("has {} twice", shown_name(&text)));
            }
            all.push(text);
        }
        Ok(Self(all))
    }
}

impl<const MOST: usize, const LENGTH: usize> TryFrom<Vec<String>> for TextSet<MOST, LENGTH> {
    type Error = String;

    fn try_from(texts: Vec<String>) -> Result<Self, String> {
        Self::check(texts.iter().map(|text| Text::try_from(text.as_str())).collect::<Result<_, _>>()?)
    }
}

impl<'de, const MOST: usize, const LENGTH: usize> Deserialize<'de> for TextSet<MOST, LENGTH> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::check(Vec::deserialize(deserializer)?).map_err(Error::custom)
    }
}

/// As a query parameter: separated by commas.
impl<const MOST: usize, const LENGTH: usize> TryFrom<&str> for TextSet<MOST, LENGTH> {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let mut parts: Vec<_> = text.split(',').map(str::trim).filter(|part| !part.is_empty()).collect();
        parts.sort_unstable();
        parts.dedup();
        Self::check(parts.into_iter().map(Text::try_from).collect::<Result<_, _>>()?)
    }
}

impl<const MOST: usize, const LENGTH: usize> JsonSchema for TextSet<MOST, LENGTH> {
    fn schema_name() -> Cow<'static, str> {
        format!("TextSet{MOST}Of{LENGTH}").into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let items = Text::<1, LENGTH>::json_schema(generator);
        json_schema!({ "type": "array", "items": items, "maxItems": MOST, "uniqueItems": true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<VariableMap, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn variables_are_checked_and_not_shown() {
        let variables = read(r#"{"B": "2", "A": "line\nline"}"#).unwrap();
        assert_eq!(variables.keys().collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!(format!("{variables:?}"), "VariableMap(2)");
        for bad in [
            r#"{"": "x"}"#,
            r#"{"A=B": "x"}"#,
            r#"{" A": "x"}"#,
            r#"{"A\n": "x"}"#,
            r#"{"A": "\u0000"}"#,
            r#"{"A": 1}"#,
            r#"{"A": "1", "A": "2"}"#,
            r#"["A"]"#,
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
        let value = "x".repeat(32 * 1024);
        assert!(read(&format!(r#"{{"A": "{value}"}}"#)).is_ok());
        assert!(
            read(&format!(r#"{{"A": "{value}x"}}"#)).unwrap_err().contains("A: the value must have at most 32 KiB")
        );
        let many: BTreeMap<_, _> = (0..501).map(|number| (number.to_string(), "")).collect();
        assert!(read(&serde_json::to_string(&many).unwrap()).unwrap_err().contains("at most 500"));
        let large: BTreeMap<_, _> = (0..8).map(|number| (number.to_string(), &value)).collect();
        assert!(read(&serde_json::to_string(&large).unwrap()).unwrap_err().contains("64 KiB in all"));
    }

    #[test]
    fn sets_of_texts() {
        assert_eq!(&*TextSet::<2, 3>::try_from("a, b,").unwrap(), ["a", "b"]);
        for bad in [r#"["a", "a"]"#, r#"["a", "b", "c"]"#, r#"[""]"#, r#"["abcd"]"#, r#"[1]"#, r#""a""#] {
            assert!(serde_json::from_str::<TextSet<2, 3>>(bad).is_err(), "{bad}");
        }
    }
}
