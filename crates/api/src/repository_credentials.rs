//! What a private repository asks for.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::sent::Sent;
use crate::text::check_length;

/// As it is sealed, as JSON; what is empty is not there.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryCredentials {
    pub token: String,
    pub ssh_key: String,
}

impl RepositoryCredentials {
    pub fn is_empty(&self) -> bool {
        self.token.is_empty() && self.ssh_key.is_empty()
    }

    /// The names of the fields, as requests have them, in which the two differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let all =
            [("repository_token", self.token != other.token), ("repository_ssh_key", self.ssh_key != other.ssh_key)];
        all.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned()).collect()
    }
}

impl fmt::Debug for RepositoryCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RepositoryCredentials(..)")
    }
}

/// A private key as `ssh-keygen` writes it.
#[derive(Clone, PartialEq, Eq)]
pub struct SshKey(String);

impl SshKey {
    const MAX: usize = 16_000;

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Sent for SshKey {
    fn sent(&self) -> impl Serialize {
        self.reveal()
    }
}

impl fmt::Debug for SshKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SshKey(..)")
    }
}

impl TryFrom<&str> for SshKey {
    type Error = String;

    fn try_from(text: &str) -> Result<Self, String> {
        let text = text.trim().replace("\r\n", "\n");
        check_length(&text, 1, Self::MAX)?;
        let is_key = text.starts_with("-----BEGIN ") && text.ends_with("PRIVATE KEY-----");
        if !is_key || text.bytes().any(|byte| !byte.is_ascii_graphic() && !matches!(byte, b' ' | b'\n')) {
            return Err("must be a private key as ssh-keygen writes it, beginning with \"-----BEGIN\"".into());
        }
        // Without the last line's end, ssh does not take it for a key.
        Ok(Self(text + "\n"))
    }
}

impl JsonSchema for SshKey {
    fn schema_name() -> Cow<'static, str> {
        "SshKey".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let pattern = r"^\s*-----BEGIN [ -~\r\n]*PRIVATE KEY-----\s*$";
        json_schema!({
            "type": "string", "format": "password", "minLength": 1, "maxLength": Self::MAX, "pattern": pattern,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_recognised_and_not_shown() {
        let text = "-----BEGIN OPENSSH PRIVATE KEY-----\r\nabc\r\n-----END OPENSSH PRIVATE KEY-----";
        let key = SshKey::try_from(text).unwrap();
        assert!(key.reveal().ends_with("\nabc\n-----END OPENSSH PRIVATE KEY-----\n"));
        assert_eq!(format!("{key:?}"), "SshKey(..)");
        assert!(SshKey::try_from("ssh-ed25519 AAAA ada@example.org").is_err());
    }
}
