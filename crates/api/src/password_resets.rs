//! Links with which users who have forgotten their password set a new one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Email, NewPassword, Presented, Timestamp, sent};

/// Shown only now. It works once; a newer one that an admin makes takes its place.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct PasswordReset {
    pub token: String,
    /// Opens the dashboard with the token. Give it to the user.
    pub link: String,
    pub expires_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestPasswordReset {
    pub email: Email,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResetPassword {
    #[serde(serialize_with = "sent::whole")]
    pub token: Presented,
    #[serde(serialize_with = "sent::whole")]
    pub password: NewPassword,
}
