//! Certificates, by which visitors come encrypted.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

use crate::Timestamp;
use crate::closed_set::closed_set;
use crate::sent::{self, Sent};
use crate::text::{self, check_length};

closed_set! {
    /// Whether a certificate can be served at this moment.
    pub enum CertificateState {
        Valid = "valid",
        Expired = "expired",
        /// Its time has not come yet.
        NotYetValid = "not_yet_valid",
    }
}

/// A certificate of an organization. Its private key is never shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    pub id: Uuid,
    pub organization_id: Uuid,
    /// Who uploaded it; null for one that Windlass has ordered, and renews.
    pub user_id: Option<Uuid>,
    /// The hosts that it is for, in lower case; `*.example.org` is for every name one level below.
    pub names: Vec<String>,
    pub issuer: String,
    /// In hexadecimal, with colons.
    pub serial_number: String,
    /// SHA-256 over the certificate, in hexadecimal.
    pub fingerprint: String,
    /// Such as `ECDSA 256` or `RSA 2048`.
    pub key_type: String,
    pub state: CertificateState,
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// The domains of the organization's applications and installations that are served with it. Of all
    /// that are for a domain, one with its own name goes before a wildcard, and then the one that ends last.
    pub domains: Vec<String>,
    pub created_at: Timestamp,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Certificates {
    pub certificates: Vec<Certificate>,
}

/// Both are in PEM.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UploadCertificate {
    /// The host's own certificate, then the one that signed it, and so on. The root can be left out.
    pub certificate_chain: CertificateChain,
    /// Of the first certificate, without a password.
    #[serde(serialize_with = "sent::whole")]
    pub private_key: CertificateKey,
}

/// A text that holds certificates in PEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CertificateChain(String);

impl CertificateChain {
    const MAX: usize = 100_000;

    pub fn pem(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for CertificateChain {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        Ok(Self(pem(text, "CERTIFICATE-----", Self::MAX)?))
    }
}

/// A private key in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateKey(String);

impl CertificateKey {
    const MAX: usize = 16_000;

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for CertificateKey {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        Ok(Self(pem(text, "PRIVATE KEY-----", Self::MAX)?))
    }
}

impl Sent for CertificateKey {
    fn sent(&self) -> impl Serialize {
        self.reveal()
    }
}

impl fmt::Debug for CertificateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CertificateKey(..)")
    }
}

/// Text around the PEM blocks is no problem: `openssl` writes a description there. What is in them is read later.
fn pem(text: &str, end: &str, most: usize) -> Result<String, String> {
    let text = text.trim().replace("\r\n", "\n");
    check_length(&text, 1, most)?;
    let is_pem = text.split_once("-----BEGIN ").is_some_and(|(_, rest)| rest.contains(end));
    if !is_pem || text.bytes().any(|byte| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t')) {
        return Err(format!("must be PEM: a text with \"-----BEGIN\" and \"{end}\" in it"));
    }
    Ok(text + "\n")
}

fn pattern(end: &str) -> String {
    let text = r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*";
    format!("^{text}-----BEGIN {text}{end}{text}$")
}

impl<'de> Deserialize<'de> for CertificateChain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer)
    }
}

impl<'de> Deserialize<'de> for CertificateKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::read(deserializer)
    }
}

impl JsonSchema for CertificateChain {
    fn schema_name() -> Cow<'static, str> {
        "CertificateChain".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": Self::MAX, "pattern": pattern("CERTIFICATE-----") })
    }
}

impl JsonSchema for CertificateKey {
    fn schema_name() -> Cow<'static, str> {
        "CertificateKey".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "format": "password", "minLength": 1, "maxLength": Self::MAX,
            "pattern": pattern("PRIVATE KEY-----"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_recognised_and_not_shown() {
        let text = "-----BEGIN PRIVATE KEY-----\r\nabc\r\n-----END PRIVATE KEY-----";
        let key = CertificateKey::try_from(text).unwrap();
        assert_eq!(key.reveal(), "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n");
        assert_eq!(format!("{key:?}"), "CertificateKey(..)");
        assert!(CertificateKey::try_from("nonsense").is_err());
        assert!(CertificateChain::try_from(text).is_err());
    }
}
