//! Deliveries as code hosts send them, and a signer for each of their schemes.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// What a host sends when something happened, without its signature.
#[derive(Clone, Debug)]
pub struct Sample {
    pub host: &'static str,
    pub name: String,
    /// With names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

const FILES: [(&str, &str); 6] = [
    ("github", include_str!("../fixtures/deliveries/github.jsonl")),
    ("gitlab", include_str!("../fixtures/deliveries/gitlab.jsonl")),
    ("gitea", include_str!("../fixtures/deliveries/gitea.jsonl")),
    ("forgejo", include_str!("../fixtures/deliveries/forgejo.jsonl")),
    ("bitbucket", include_str!("../fixtures/deliveries/bitbucket.jsonl")),
    ("bitbucket-server", include_str!("../fixtures/deliveries/bitbucket-server.jsonl")),
];

/// All there are, of all hosts.
pub fn all() -> Vec<Sample> {
    FILES.into_iter().flat_map(|(host, lines)| lines.lines().map(move |line| parse(host, line))).collect()
}

/// The one of a host that has this name.
pub fn sample(host: &str, name: &str) -> Sample {
    let found = all().into_iter().find(|sample| sample.host == host && sample.name == name);
    found.unwrap_or_else(|| panic!("no sample {name} of {host}"))
}

fn parse(host: &'static str, line: &str) -> Sample {
    let value: Value = serde_json::from_str(line).expect("a line of JSON");
    let headers = value["headers"].as_object().expect("headers");
    let text = |value: &Value| value.as_str().expect("a header's value").to_owned();
    Sample {
        host,
        name: text(&value["name"]),
        headers: headers.iter().map(|(name, value)| (name.to_lowercase(), text(value))).collect(),
        body: value["body"].clone(),
    }
}

impl Sample {
    /// The host's own id of the delivery is in this header.
    pub fn id_header(&self) -> &'static str {
        match self.host {
            "github" => "x-github-delivery",
            "gitea" => "x-gitea-delivery",
            "forgejo" => "x-forgejo-delivery",
            "gitlab" => "idempotency-key",
            "bitbucket" => "x-request-uuid",
            _ => "x-request-id",
        }
    }

    pub fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    /// As another delivery.
    #[must_use]
    pub fn with_id(mut self, id: &str) -> Self {
        self.set_header(self.id_header(), id);
        self
    }

    /// The bytes to send.
    pub fn bytes(&self) -> Vec<u8> {
        self.body.to_string().into_bytes()
    }

    /// The headers to send with these bytes, by a host that knows the secret.
    pub fn signed(&self, secret: &str, bytes: &[u8]) -> Vec<(String, String)> {
        let signature = hex(&hmac_sha256(secret.as_bytes(), bytes));
        let proofs: &[(&str, String)] = &match self.host {
            "github" => vec![("x-hub-signature-256", format!("sha256={signature}"))],
            "gitea" => {
                vec![("x-gitea-signature", signature.clone()), ("x-hub-signature-256", format!("sha256={signature}"))]
            }
            "forgejo" => vec![("x-forgejo-signature", signature.clone()), ("x-gitea-signature", signature)],
            "gitlab" => vec![("x-gitlab-token", secret.to_owned())],
            _ => vec![("x-hub-signature", format!("sha256={signature}"))],
        };
        let own = self.headers.iter().cloned();
        own.chain(proofs.iter().map(|(name, value)| ((*name).to_owned(), value.clone()))).collect()
    }
}

/// RFC 2104 by hand, so that the signer has nothing in common with what it tests.
pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; 64];
    match key.len() > block.len() {
        true => block[..32].copy_from_slice(&Sha256::digest(key)),
        false => block[..key.len()].copy_from_slice(key),
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize().into()
}

/// The value of `webhook-signature`, as the Standard Webhooks scheme has it.
pub fn standard_signature(key: &[u8], id: &str, seconds: i64, bytes: &[u8]) -> String {
    let message = [format!("{id}.{seconds}.").as_bytes(), bytes].concat();
    format!("v1,{}", BASE64_STANDARD.encode(hmac_sha256(key, &message)))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
