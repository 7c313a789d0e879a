//! Relations between records.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// A related record. Walking down from the root of an answer, a link to a type that is already open on
/// the way is cut off and shows as `{}`; that keeps cyclic data finite.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link<T> {
    #[default]
    Cut,
    To(Box<T>),
}

impl<T> Link<T> {
    pub fn to(record: T) -> Self {
        Self::To(Box::new(record))
    }
}

impl<T: Serialize> Serialize for Link<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Cut => serializer.serialize_map(Some(0))?.end(),
            Self::To(record) => record.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for Link<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Link", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let record = generator.subschema_for::<T>();
        json_schema!({
            "description": "The record, or `{}` where the link would lead back to a type that is already open.",
            "anyOf": [record, { "type": "object", "maxProperties": 0 }],
        })
    }
}
