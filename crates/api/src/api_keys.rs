//! Keys for programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{Can, Days, Text, Timestamp};

/// Acts for one user in one organization, and may do what it lists as far as the user still may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApiKey {
    pub id: Uuid,
    pub organization_id: Uuid,
    pub user_id: Uuid,
    pub name: String,
    /// How the key begins.
    pub hint: String,
    pub permissions: Vec<Can>,
    /// Kept to the minute; null as long as it was not used.
    pub last_used_at: Option<Timestamp>,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ApiKeyCreated {
    pub api_key: ApiKey,
    /// Send it as `Authorization: Bearer <key>`. It is shown only now.
    pub key: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateApiKey {
    pub name: Text<1, 100>,
    /// Default: the organization of the header, else the caller's default one.
    pub organization_id: Option<Uuid>,
    /// Default: all that the caller has in the organization now.
    pub permissions: Option<Vec<Can>>,
    /// Default: 90, or what the server's setting says.
    pub expires_in_days: Option<Days>,
}
