//! What an organization shows to registries of images.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::sent;
use crate::{AccessToken, RegistryHost, Text, Timestamp};

/// For every image that the organization's applications take from one registry. The password is never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RegistryCredential {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// Who made it.
    pub user_id: Uuid,
    /// The registry's host, with its port if that is not the usual one.
    pub host: String,
    pub username: String,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// All of an organization, in the order of their hosts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegistryCredentials {
    pub registry_credentials: Vec<RegistryCredential>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRegistryCredential {
    /// An organization has one credential for each.
    pub host: RegistryHost,
    pub username: Text<1, 200>,
    /// Better a token that only reads images.
    #[serde(serialize_with = "sent::whole")]
    pub password: AccessToken,
}

/// What is absent stays as it is. The host cannot change: a password is not for another registry.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRegistryCredential {
    pub username: Option<Text<1, 200>>,
    #[serde(serialize_with = "sent::optional")]
    pub password: Option<AccessToken>,
}
