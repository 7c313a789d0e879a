//! Registries, which the engine asks: what it shows them, which image a tag leads to, and what their refusals mean.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;
use serde::Deserialize;

use crate::call::encoded_reference;
use crate::{Docker, Error, Result};

/// What the engine shows to one registry.
#[derive(Clone, PartialEq, Eq)]
pub struct RegistryLogin {
    pub host: String,
    pub username: String,
    pub password: String,
}

impl std::fmt::Debug for RegistryLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RegistryLogin(..)")
    }
}

impl RegistryLogin {
    /// As the engine wants it in a header.
    pub(crate) fn encoded(&self) -> String {
        let login = serde_json::json!({
            "username": self.username, "password": self.password, "serveraddress": self.host,
        });
        URL_SAFE.encode(login.to_string())
    }
}

/// What keeps an image from being brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistryProblem {
    Unreachable,
    /// No credentials, wrong ones, or none for this image. Some registries say the same of an image that they do not have.
    Refused,
    NotFound,
    /// There is none for this machine's processor.
    Architecture,
}

/// Parts of the words of engines and registries, in lower case. The first that fits counts: an address that cannot be called is "not found"
/// to some.
const WORDS: [(RegistryProblem, &[&str]); 4] = [
    (
        RegistryProblem::Unreachable,
        &[
            "dial tcp",
            "no such host",
            "connection refused",
            "connection reset",
            "i/o timeout",
            "deadline exceeded",
            "tls handshake",
            "x509:",
            "server gave http response",
            "network is unreachable",
            "no route to host",
            "unexpected eof",
            ": eof",
            "bad gateway",
            "service unavailable",
            "gateway timeout",
            "too many requests",
            "toomanyrequests",
            "internal server error",
        ],
    ),
    (
        RegistryProblem::Architecture,
        &["no matching manifest for", "no match for platform", "does not match the specified platform"],
    ),
    (
        RegistryProblem::Refused,
        &[
            "unauthorized",
            "authentication required",
            "no basic auth credentials",
            "incorrect username or password",
            "denied",
            "forbidden",
            "authorization failed",
            "insufficient_scope",
        ],
    ),
    (
        RegistryProblem::NotFound,
        &[
            "manifest unknown",
            "no such manifest",
            "name unknown",
            "repository name not known",
            "not found",
            "no such image",
        ],
    ),
];

impl Error {
    /// What an answer about a pull means. None if it is about something else.
    pub fn registry_problem(&self) -> Option<RegistryProblem> {
        let (Self::Refused { message, .. } | Self::NotFound { message } | Self::Conflict { message }) = self else {
            return None;
        };
        let said = message.to_lowercase();
        let found = WORDS.iter().find(|(_, parts)| parts.iter().any(|part| said.contains(part)));
        found.map(|(problem, _)| *problem)
    }
}

impl Docker {
    /// The digest of the image that a tag leads to in its registry. Nothing is brought.
    pub async fn digest(&self, reference: &str, login: Option<&RegistryLogin>, limit: Duration) -> Result<String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Answer {
            descriptor: Descriptor,
        }
        #[derive(Deserialize)]
        struct Descriptor {
            digest: String,
        }
        let path = format!("/distribution/{}/json", encoded_reference(reference));
        let call = self.get("ask a registry for an image", path).registry_login(login).limit(limit);
        let answer: Answer = call.read().await?;
        Ok(answer.descriptor.digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_registries() {
        use RegistryProblem::{Architecture, NotFound, Refused, Unreachable};
        for (message, expected) in [
            (
                "Get \"http://127.0.0.1:5000/v2/\": dial tcp 127.0.0.1:5000: connect: connection refused",
                Some(Unreachable),
            ),
            ("Get \"https://r.example.org/v2/\": dial tcp: lookup r.example.org: no such host", Some(Unreachable)),
            ("http: server gave HTTP response to HTTPS client", Some(Unreachable)),
            ("Head \"http://127.0.0.1:5000/v2/shop/manifests/1\": no basic auth credentials", Some(Refused)),
            ("unauthorized: authentication required", Some(Refused)),
            ("pull access denied for shop, repository does not exist or may require 'docker login'", Some(Refused)),
            ("manifest for 127.0.0.1:5000/shop:9 not found: manifest unknown: manifest unknown", Some(NotFound)),
            ("no matching manifest for linux/amd64 in the manifest list entries", Some(Architecture)),
            ("something else", None),
        ] {
            let error = Error::Refused { status: 500, message: message.to_owned() };
            assert_eq!(error.registry_problem(), expected, "{message}");
        }
        let full = Error::DiskFull { message: "not found".into() };
        assert_eq!(full.registry_problem(), None);
    }

    #[test]
    fn a_login_is_never_shown() {
        let login = RegistryLogin { host: "r.example.org".into(), username: "ada".into(), password: "hidden".into() };
        assert_eq!(format!("{login:?}"), "RegistryLogin(..)");
        let text = URL_SAFE.decode(login.encoded()).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            value,
            serde_json::json!({ "username": "ada", "password": "hidden", "serveraddress": "r.example.org" })
        );
    }
}
