//! Relations between records.

use std::borrow::Cow;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// A related record. Walking down from the root of an answer, a link to a type that is already open on
/// the way is cut off and shows as `{}`; that keeps cyclic data finite. So is one that was not asked for, or that leads to a record
/// which is not remembered any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link<T> {
    #[default]
    Cut,
    To(Box<T>),
    /// Written already, because many records of one answer have it.
    Shared(Written),
}

/// A record as JSON, which is cheap to clone.
#[derive(Clone, Debug)]
pub struct Written(Arc<RawValue>);

impl PartialEq for Written {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

impl Eq for Written {}

impl<T> Link<T> {
    pub fn to(record: T) -> Self {
        Self::To(Box::new(record))
    }
}

impl<T: Serialize> Link<T> {
    /// How long it is as JSON, where that is known.
    pub fn written_size(&self) -> usize {
        match self {
            Self::Cut | Self::To(_) => 0,
            Self::Shared(Written(record)) => record.get().len(),
        }
    }

    /// Written once, however often it is cloned.
    pub fn shared(record: &T) -> serde_json::Result<Self> {
        Ok(Self::Shared(Written(serde_json::value::to_raw_value(record)?.into())))
    }
}

impl<T: Serialize> Serialize for Link<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Cut => serializer.serialize_map(Some(0))?.end(),
            Self::To(record) => record.serialize(serializer),
            Self::Shared(Written(record)) => record.serialize(serializer),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Link<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Object(fields) if fields.is_empty() => Ok(Self::Cut),
            record => T::deserialize(record).map(Self::to).map_err(D::Error::custom),
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
            "description": "The record, or `{}`: where the link would lead back to a type that is already open, where relations were not asked for, \
                            and where the record is not remembered any more.",
            "anyOf": [record, { "type": "object", "maxProperties": 0 }],
        })
    }
}
