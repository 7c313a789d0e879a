//! What encrypted connections need: certificates with their private keys, and the answers by which a certificate
//! authority finds out that a host is served here.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::HIDDEN;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    pub id: String,
    /// Names in lower case; `*.example.org` for every name one level below.
    pub hosts: Vec<String>,
    /// The certificate and those that lead to its root, in this order.
    pub chain_pem: String,
    pub key_pem: PrivateKey,
}

/// A private key in PEM. It goes where the whole table goes, which is to the control socket and to the route file, and
/// is shown nowhere else.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PrivateKey(String);

impl PrivateKey {
    pub fn new(pem: impl Into<String>) -> Self {
        Self(pem.into())
    }

    pub fn pem(&self) -> &str {
        &self.0
    }

    pub(super) fn hidden() -> Self {
        Self::new(HIDDEN)
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(HIDDEN)
    }
}

/// The answer to an ACME HTTP-01 challenge (RFC 8555, section 8.3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Challenge {
    pub host: String,
    /// The last segment of the path that is asked for.
    pub token: String,
    /// The body of the answer.
    pub key_authorization: String,
}
