//! What stands between visitors and a service, as the table says it.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::HIDDEN;

/// What stands between visitors and a service. From version 5 on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessSpec {
    /// Only visitors from these networks come in; empty for all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<IpNet>,
    /// Visitors from these do not, also where they are in a network that is allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<IpNet>,
    /// How often each household may ask: an IPv4 address, or an IPv6 /64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateSpec>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sign_in: Option<SignInSpec>,
    /// Every visitor who would come in is told to come again later.
    #[serde(skip_serializing_if = "is_false")]
    pub maintenance: bool,
    /// Set on every answer of the service, the edge's own pages included, or removed from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<HeaderSpec>,
    /// What targets answer is compressed on its way to visitors who accept that.
    #[serde(skip_serializing_if = "is_false")]
    pub compress: bool,
    /// Targets are programs of the user that the edge runs as: others of this machine are not spoken to.
    #[serde(skip_serializing_if = "is_false")]
    pub own_targets: bool,
    /// Shown in place of the edge's own pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pages: Vec<PageSpec>,
}

impl AccessSpec {
    /// Whether it keeps any visitor out, or must look at targets first. An edge that does not know it must not serve the service.
    pub fn keeps_visitors_out(&self) -> bool {
        !self.allow.is_empty()
            || !self.deny.is_empty()
            || self.sign_in.is_some()
            || self.maintenance
            || self.own_targets
    }
}

/// So many requests a minute in the long run, and so many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateSpec {
    pub per_minute: u32,
    pub burst: u32,
}

/// Visitors give a name and a password (HTTP basic authentication, RFC 7617). The application sees neither.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignInSpec {
    /// What browsers show beside their question.
    pub realm: String,
    pub users: Vec<SignInUser>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignInUser {
    pub name: String,
    /// Of PBKDF2 with HMAC-SHA256.
    pub iterations: u32,
    /// In hexadecimal digits.
    pub salt: String,
    /// 32 bytes, in hexadecimal digits.
    pub hash: String,
}

impl SignInUser {
    /// Leaves out what a password could be guessed with.
    pub(super) fn hide(&mut self) {
        (self.salt, self.hash) = (HIDDEN.to_owned(), HIDDEN.to_owned());
    }
}

impl fmt::Debug for SignInUser {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("SignInUser");
        shown.field("name", &self.name).field("iterations", &self.iterations);
        shown.field("salt", &format_args!("{HIDDEN}")).field("hash", &format_args!("{HIDDEN}")).finish()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderSpec {
    pub name: String,
    /// None to remove what the application says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// What the application says itself stays.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unless_there: bool,
}

/// HTML for one status. It never takes the place of what the application answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageSpec {
    pub status: u16,
    pub html: String,
}

fn is_false(value: &bool) -> bool {
    !value
}
