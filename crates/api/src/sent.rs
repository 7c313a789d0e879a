//! Secrets on their way to the server. They have no `Serialize` of their own, so that none gets into a record or a log by
//! mistake; the field of a request that sends one says so: `#[serde(serialize_with = "sent::whole")]`.

use serde::{Serialize, Serializer};

use crate::Given;

/// Serialized into requests; hidden in debug output.
pub(crate) trait Sent {
    fn sent(&self) -> impl Serialize;
}

pub(crate) fn whole<T: Sent, S: Serializer>(secret: &T, serializer: S) -> Result<S::Ok, S::Error> {
    secret.sent().serialize(serializer)
}

pub(crate) fn optional<T: Sent, S: Serializer>(secret: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(Sent::sent).serialize(serializer)
}

pub(crate) fn given<T: Sent, S: Serializer>(secret: &Given<T>, serializer: S) -> Result<S::Ok, S::Error> {
    match secret {
        Given::Absent => serializer.serialize_none(),
        Given::Empty => serializer.serialize_str(""),
        Given::Value(secret) => secret.sent().serialize(serializer),
    }
}
