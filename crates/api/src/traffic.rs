//! Visitors' requests over time, as the edge has counted them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::text::absent_when_empty;
use crate::{Timestamp, Whole};

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Traffic {
    /// The beginning of the first slot.
    pub from: Timestamp,
    /// How long a slot is. The last one is not over yet.
    pub slot_seconds: i64,
    pub slots: i64,
    /// Those that had requests in this time.
    pub applications: Vec<ApplicationTraffic>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationTraffic {
    pub application_id: Uuid,
    /// One number for each slot.
    pub requests: Vec<i64>,
    /// Requests that were answered with 5xx or failed on the way, visitors who left apart.
    pub errors: Vec<i64>,
    /// From the request's head to the answer's, on average, in milliseconds; 0 without answers.
    pub answer_ms: Vec<i64>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TrafficQuery {
    /// One application. Default: all of the organization.
    pub id: Option<Uuid>,
    /// How far back; there are always 60 slots. Default: 1.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub hours: Option<Whole<1, 24>>,
}
