//! The installation as a whole, for its admins.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::closed_set::closed_set;
use crate::text::absent_when_empty;
use crate::{Pagination, Text, Timestamp, UserType, Whole};

closed_set! {
    pub enum DatabaseKind {
        Sqlite = "sqlite",
        Postgres = "postgres",
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Instance {
    pub version: String,
    /// When the server that answers was started.
    pub started_at: Timestamp,
    pub database: DatabaseKind,
    /// How people and code hosts reach the server.
    pub public_url: String,
    /// Where visitors of applications are received, as set.
    pub edge_addresses: Vec<String>,
    /// The disk of the data folder; none where it does not tell.
    pub disk: Option<DiskSpace>,
    pub queue: Queue,
    pub users: i64,
    pub organizations: i64,
    pub applications: i64,
    /// In the order of the guide.
    pub settings: Vec<InstanceSetting>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DiskSpace {
    pub total_bytes: i64,
    pub free_bytes: i64,
}

/// Jobs of all kinds.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Queue {
    pub waiting: i64,
    pub running: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceSetting {
    pub name: String,
    pub section: String,
    /// One sentence without its full stop.
    pub help: String,
    /// Masked where it is a secret; several values are separated by commas.
    pub value: String,
    pub is_default: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceUser {
    pub id: Uuid,
    pub username: String,
    pub email: String,
    pub r#type: UserType,
    pub two_factor_enabled: bool,
    /// How many organizations the user is a member of.
    pub organizations: i64,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct InstanceUsers {
    /// By e-mail address.
    pub users: Vec<InstanceUser>,
    pub pagination: Pagination,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InstanceUsersQuery {
    /// Default: 1. Behind the last page there is nothing.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page: Option<Whole<1, 1_000_000_000>>,
    /// Default: 25.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub page_size: Option<Whole<1, 100>>,
    /// A part of the name or of the e-mail address, in any case.
    #[serde(deserialize_with = "absent_when_empty", skip_serializing_if = "Option::is_none")]
    pub search: Option<Text<1, 200>>,
}
