//! Which code host a delivery is from, and whether it knows a secret.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use windlass_api::CodeHost;

/// What the headers of a delivery say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    pub host: CodeHost,
    /// What happened, in the host's own word.
    pub event: String,
    /// The host's own id of the delivery. Empty when it gives none.
    pub delivery_id: String,
    /// Whether the body is a form with the JSON in a field.
    pub(crate) is_form: bool,
    /// One of them is enough.
    proofs: Vec<Proof>,
}

/// What shows that the sender knows the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Proof {
    /// HMAC-SHA256 of the body.
    Signature(Vec<u8>),
    /// HMAC-SHA256 of id, time and body, as the Standard Webhooks scheme has it.
    StandardSignature { signed_before: String, signature: Vec<u8> },
    /// The secret itself.
    Token(String),
}

/// By which header a host is recognised, and which ones have the rest. The order matters: Forgejo also sends Gitea's headers, and
/// Gitea also sends GitHub's.
struct Headers {
    host: CodeHost,
    event: &'static str,
    delivery: &'static str,
    /// In the order in which they are looked for.
    signatures: &'static [&'static str],
}

const KNOWN: [Headers; 6] = [
    Headers {
        host: CodeHost::Forgejo,
        event: "x-forgejo-event",
        delivery: "x-forgejo-delivery",
        signatures: &["x-forgejo-signature", "x-gitea-signature", "x-hub-signature-256"],
    },
    Headers {
        host: CodeHost::Gitea,
        event: "x-gitea-event",
        delivery: "x-gitea-delivery",
        signatures: &["x-gitea-signature", "x-hub-signature-256"],
    },
    Headers {
        host: CodeHost::GitHub,
        event: "x-github-event",
        delivery: "x-github-delivery",
        signatures: &["x-hub-signature-256"],
    },
    Headers { host: CodeHost::GitLab, event: "x-gitlab-event", delivery: "x-gitlab-webhook-uuid", signatures: &[] },
    Headers {
        host: CodeHost::Bitbucket,
        event: "x-event-key",
        delivery: "x-request-uuid",
        signatures: &["x-hub-signature"],
    },
    Headers {
        host: CodeHost::BitbucketServer,
        event: "x-event-key",
        delivery: "x-request-id",
        signatures: &["x-hub-signature"],
    },
];

/// Longer ones are no ids of any host.
const LONGEST_ID: usize = 200;
const LONGEST_EVENT: usize = 100;

impl Sender {
    /// None when the headers are those of no code host. `header` gives the value of a header by its name in lower case.
    pub fn of<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let is_server = header("x-hook-uuid").is_none();
        let is_it = |known: &&Headers| match known.host {
            CodeHost::Bitbucket => !is_server,
            _ => true,
        };
        let known = KNOWN.iter().filter(is_it).find(|known| header(known.event).is_some())?;
        let event: String = header(known.event)?.chars().take(LONGEST_EVENT).collect();
        let delivery_id = match known.host {
            // It stays the same when GitLab sends the delivery again.
            CodeHost::GitLab => header("idempotency-key").or_else(|| header(known.delivery)),
            _ => header(known.delivery),
        };
        let delivery_id = delivery_id.filter(|id| id.len() <= LONGEST_ID).unwrap_or_default().to_owned();
        let content_type = header("content-type").unwrap_or_default().to_ascii_lowercase();
        let proofs = match known.host {
            CodeHost::GitLab => gitlab_proofs(&header),
            _ => {
                let found = known.signatures.iter().find_map(|name| header(name)).and_then(signature);
                found.map(Proof::Signature).into_iter().collect()
            }
        };
        let is_form = content_type.starts_with("application/x-www-form-urlencoded");
        Some(Self { host: known.host, event, delivery_id, is_form, proofs })
    }

    /// Whether the sender knows the secret. It takes as long for a wrong secret as for the right one.
    pub fn is_proven_by(&self, secret: &str, body: &[u8]) -> bool {
        if secret.is_empty() {
            return false;
        }
        let signed = self.signed(body);
        self.proofs.iter().any(|proof| match proof {
            Proof::Signature(signature) => verify(secret.as_bytes(), &[&signed], signature),
            Proof::StandardSignature { signed_before, signature } => {
                verify(&standard_key(secret), &[signed_before.as_bytes(), body], signature)
            }
            Proof::Token(token) => are_equal(secret.as_bytes(), token.as_bytes()),
        })
    }

    /// Of a form, GitHub signs all of it, Gitea and Forgejo only the JSON that is in it.
    fn signed<'a>(&self, body: &'a [u8]) -> Cow<'a, [u8]> {
        match self.host {
            CodeHost::Gitea | CodeHost::Forgejo if self.is_form => {
                payload_of_form(body).unwrap_or_default().into_bytes().into()
            }
            _ => body.into(),
        }
    }
}

/// The JSON in a form.
pub(crate) fn payload_of_form(body: &[u8]) -> Option<String> {
    let fields: Vec<(String, String)> = serde_urlencoded::from_bytes(body).ok()?;
    fields.into_iter().find(|(name, _)| name == "payload").map(|(_, payload)| payload)
}

/// The secret as a token, the newer signatures, or both.
fn gitlab_proofs<'a>(header: &impl Fn(&str) -> Option<&'a str>) -> Vec<Proof> {
    /// While a secret is being changed there are two.
    const MOST: usize = 4;
    let mut proofs: Vec<_> = header("x-gitlab-token").map(|token| Proof::Token(token.to_owned())).into_iter().collect();
    if let (Some(id), Some(time), Some(signatures)) =
        (header("webhook-id"), header("webhook-timestamp"), header("webhook-signature"))
    {
        let signatures = signatures.split(' ').filter_map(|one| one.strip_prefix("v1,")).take(MOST);
        proofs.extend(signatures.filter_map(|text| {
            let signature = BASE64_STANDARD.decode(text).ok()?;
            Some(Proof::StandardSignature { signed_before: format!("{id}.{time}."), signature })
        }));
    }
    proofs
}

/// As the Standard Webhooks scheme writes secrets, or any other text as it is.
fn standard_key(secret: &str) -> Vec<u8> {
    let key = secret.strip_prefix("whsec_").and_then(|key| BASE64_STANDARD.decode(key).ok());
    key.unwrap_or_else(|| secret.as_bytes().to_vec())
}

/// Hexadecimal, with or without `sha256=`. Other algorithms are not taken.
fn signature(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let digits = text.strip_prefix("sha256=").unwrap_or(text);
    if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..64).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok()).collect()
}

fn verify(secret: &[u8], parts: &[&[u8]], signature: &[u8]) -> bool {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
    for part in parts {
        mac.update(part);
    }
    mac.verify_slice(signature).is_ok()
}

/// Without telling by the time it takes how much of them is equal, or how long the secret is.
fn are_equal(secret: &[u8], presented: &[u8]) -> bool {
    let tag = |text: &[u8]| {
        let mac = Hmac::<Sha256>::new_from_slice(b"windlass token").ok()?;
        Some(mac.chain_update(text).finalize().into_bytes())
    };
    tag(secret).is_some_and(|expected| verify(b"windlass token", &[presented], &expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(headers: &[(&str, &str)]) -> Option<Sender> {
        Sender::of(|name| headers.iter().find(|(known, _)| *known == name).map(|(_, value)| *value))
    }

    #[test]
    fn hosts_are_told_apart_though_some_send_the_headers_of_others() {
        let gitea = [("x-gitea-event", "push"), ("x-github-event", "push"), ("x-gitea-delivery", "7")];
        let found = sender(&gitea).unwrap();
        assert_eq!((found.host, found.delivery_id.as_str()), (CodeHost::Gitea, "7"));
        let forgejo = [("x-forgejo-event", "push"), ("x-gitea-event", "push"), ("x-github-event", "push")];
        assert_eq!(sender(&forgejo).unwrap().host, CodeHost::Forgejo);
        assert_eq!(sender(&[("x-github-event", "ping")]).unwrap().host, CodeHost::GitHub);
        assert_eq!(sender(&[("x-gitlab-event", "Push Hook")]).unwrap().host, CodeHost::GitLab);
        let cloud = [("x-event-key", "repo:push"), ("x-hook-uuid", "1")];
        assert_eq!(sender(&cloud).unwrap().host, CodeHost::Bitbucket);
        assert_eq!(sender(&cloud[..1]).unwrap().host, CodeHost::BitbucketServer);
        assert_eq!(sender(&[("content-type", "application/json")]), None);
    }

    #[test]
    fn signatures() {
        // From RFC 4231, test case 2.
        let right = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        let (secret, body) = ("Jefe", b"what do ya want for nothing?");
        let proven = |text: &str| {
            sender(&[("x-github-event", "push"), ("x-hub-signature-256", text)]).unwrap().is_proven_by(secret, body)
        };
        assert!(proven(&format!("sha256={right}")));
        assert!(proven(right) && proven(&right.to_uppercase()));
        let others = [format!("sha1={right}"), right[2..].to_owned(), format!("{right}00"), right.replace('5', "6")];
        for wrong in
            ["", "sha256=", "sha1=5bdcc146", &"é".repeat(32)].into_iter().chain(others.iter().map(String::as_str))
        {
            assert!(!proven(wrong), "{wrong}");
        }
        assert!(!sender(&[("x-github-event", "push")]).unwrap().is_proven_by(secret, body), "unsigned");
        let other = [("x-github-event", "push"), ("x-hub-signature", right)];
        assert!(!sender(&other).unwrap().is_proven_by(secret, body), "in the header for SHA-1");
    }

    #[test]
    fn an_empty_secret_proves_nothing() {
        let token = sender(&[("x-gitlab-event", "Push Hook"), ("x-gitlab-token", "")]).unwrap();
        assert!(!token.is_proven_by("", b"{}"));
        let signature = "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
        let signed = sender(&[("x-github-event", "push"), ("x-hub-signature-256", signature)]).unwrap();
        assert!(!signed.is_proven_by("", b""), "the right one for an empty key and an empty body");
    }

    #[test]
    fn tokens_and_standard_webhooks() {
        let token = sender(&[("x-gitlab-event", "Push Hook"), ("x-gitlab-token", "s3cret")]).unwrap();
        assert!(token.is_proven_by("s3cret", b"{}") && !token.is_proven_by("s3cre", b"{}"));
        assert!(!token.is_proven_by("S3cret", b"{}"));
        let mac = Hmac::<Sha256>::new_from_slice(b"key").unwrap().chain_update(b"id7.1700000000.{}").finalize();
        let signatures = format!("v1,AAAA v1,{}", BASE64_STANDARD.encode(mac.into_bytes()));
        let signed = sender(&[
            ("x-gitlab-event", "Push Hook"),
            ("webhook-id", "id7"),
            ("webhook-timestamp", "1700000000"),
            ("webhook-signature", &signatures),
        ]);
        let signed = signed.unwrap();
        assert!(signed.is_proven_by("key", b"{}") && signed.is_proven_by("whsec_a2V5", b"{}"));
        assert!(!signed.is_proven_by("key", b"{ }") && !signed.is_proven_by("other", b"{}"));
    }
}
