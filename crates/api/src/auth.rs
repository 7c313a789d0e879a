//! Registration, login and sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::sent;
use crate::{Email, NewPassword, OrganizationName, Presented, Text, Timestamp, User};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct AdminRegistered {
    pub admin_registered: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Register {
    pub email: Email,
    #[serde(serialize_with = "sent::whole")]
    pub password: NewPassword,
    /// Default: the part of the e-mail address before the `@`.
    pub username: Option<Text<1, 50>>,
    /// The name of the new user's own organization. Default: `<username>'s team`, and none with an invitation.
    pub organization: Option<OrganizationName>,
    /// The token of an invitation; for the very first user the set-up token that the server printed.
    #[serde(serialize_with = "sent::optional")]
    pub token: Option<Presented>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Login {
    pub email: Email,
    #[serde(serialize_with = "sent::whole")]
    pub password: Presented,
    /// With a second factor: the code that the authenticator shows, or a recovery code.
    #[serde(serialize_with = "sent::optional")]
    pub code: Option<Presented>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct LoggedIn {
    /// Send it as `Authorization: Bearer <access_token>`. It is shown only now. Empty for a browser that asked for a cookie.
    pub access_token: String,
    pub expires_at: Timestamp,
    pub user: User,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    #[serde(serialize_with = "sent::whole")]
    pub current_password: Presented,
    #[serde(serialize_with = "sent::whole")]
    pub new_password: NewPassword,
}

/// One place where the caller is logged in.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    pub id: Uuid,
    /// Whether it is the session of this very request.
    pub current: bool,
    pub ip_address: String,
    pub user_agent: String,
    /// Kept to the minute.
    pub last_used_at: Timestamp,
    pub expires_at: Timestamp,
    pub created_at: Timestamp,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SetUpTwoFactor {
    /// A stranger who finds an open session must not be able to lock its owner out.
    #[serde(serialize_with = "sent::whole")]
    pub password: Presented,
}

/// Shown only now. The second factor is on once a code has been sent back.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct TwoFactorSetup {
    /// For an authenticator that takes no picture: base32.
    pub secret: String,
    pub otpauth_uri: String,
    /// The same as a picture.
    pub qr_svg: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TwoFactorCode {
    /// The code that the authenticator shows now, or a recovery code.
    #[serde(serialize_with = "sent::whole")]
    pub code: Presented,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct RecoveryCodes {
    /// Each works once in place of a code. They are shown only now.
    pub recovery_codes: Vec<String>,
}
