//! Another e-mail address for a user, once a link that was sent to it is opened.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Email, Presented, Timestamp, sent};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeEmail {
    /// The address that the user has now is asked for anew, as long as it is not verified.
    pub email: Email,
    /// A stranger who finds an open session must not be able to take the account over.
    #[serde(serialize_with = "sent::whole")]
    pub password: Presented,
    /// With a second factor: the code that the authenticator shows, or a recovery code.
    #[serde(serialize_with = "sent::optional")]
    pub code: Option<Presented>,
}

/// A link was sent to the address. A newer one takes its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EmailChange {
    pub email: String,
    /// Until then the link can be opened.
    pub expires_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyEmail {
    #[serde(serialize_with = "sent::whole")]
    pub token: Presented,
}
