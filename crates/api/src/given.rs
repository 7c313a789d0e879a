//! Fields that a caller may leave out, or leave empty.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;
use uuid::Uuid;

/// A text that may be absent (or null), empty, or a value. Forms send fields that were not filled in as empty ones; what that means
/// is for each request to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Given<T> {
    #[default]
    Absent,
    Empty,
    Value(T),
}

impl<T> Given<T> {
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            Self::Absent | Self::Empty => None,
        }
    }
}

/// An id that comes as a text: in a field that may be empty, or in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, JsonSchema)]
#[schemars(transparent, inline)]
pub struct GivenId(#[schemars(with = "String")] pub Uuid);

impl TryFrom<&str> for GivenId {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        Uuid::try_parse(text).map(Self).map_err(|_| "must be a UUID".to_owned())
    }
}

/// A field as it is for requests in which empty means the same as absent.
pub(crate) trait Filled {
    #[must_use]
    fn filled(self) -> Self;
}

impl<T> Filled for Given<T> {
    fn filled(self) -> Self {
        if matches!(self, Self::Empty) { Self::Absent } else { self }
    }
}

/// Only texts can be empty.
impl<T> Filled for Option<T> {
    fn filled(self) -> Self {
        self
    }
}

impl<'de, T> Deserialize<'de> for Given<T>
where
    T: for<'a> TryFrom<&'a str, Error = String>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Option::<Cow<'de, str>>::deserialize(deserializer)? {
            None => Ok(Self::Absent),
            Some(text) if text.trim().is_empty() => Ok(Self::Empty),
            Some(text) => T::try_from(&text).map(Self::Value).map_err(D::Error::custom),
        }
    }
}

impl<T: Serialize> Serialize for Given<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Empty => serializer.serialize_str(""),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Given<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Given{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if !T::inline_schema() {
            let value = generator.subschema_for::<T>();
            let empty = json_schema!({ "type": ["string", "null"], "maxLength": 0 });
            return json_schema!({ "anyOf": [value, empty], "minLength": 0 });
        }
        let mut schema = T::json_schema(generator);
        schema.insert("type".into(), serde_json::json!(["string", "null"]));
        schema.insert("minLength".into(), 0.into());
        if let Some(Value::String(pattern)) = schema.get("pattern") {
            let pattern = format!(r"^\s*$|{pattern}");
            schema.insert("pattern".into(), pattern.into());
        }
        schema
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Slug;

    #[test]
    fn absent_empty_and_a_value_are_told_apart() {
        let read = |json: &str| serde_json::from_str::<Given<Slug<5>>>(json);
        assert_eq!(read("null").unwrap(), Given::Absent);
        assert_eq!(read("\" \"").unwrap(), Given::Empty);
        assert!(matches!(read("\"abc\"").unwrap(), Given::Value(slug) if &*slug == "abc"));
        assert_eq!(read("\"\"").unwrap().filled(), Given::Absent);
        assert!(read("\"ABC\"").is_err() && read("5").is_err());
    }
}
