//! Signatures as the specification of Standard Webhooks has them: HMAC with SHA-256 over id, timestamp and body.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;

const PREFIX: &str = "whsec_";
/// What the specification allows, in bytes.
const LENGTHS: std::ops::RangeInclusive<usize> = 24..=64;

/// A secret that an organization shares with its receivers.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningSecret(Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("A signing secret is whsec_ and the base64 of 24 to 64 bytes.")]
pub struct BadSecret;

impl SigningSecret {
    /// Random bytes that the caller has made.
    pub fn new(bytes: &[u8]) -> Result<Self, BadSecret> {
        if LENGTHS.contains(&bytes.len()) { Ok(Self(bytes.to_owned())) } else { Err(BadSecret) }
    }

    pub fn parse(text: &str) -> Result<Self, BadSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(BadSecret)?;
        Self::new(&STANDARD.decode(encoded).map_err(|_| BadSecret)?)
    }

    /// As receivers configure it.
    pub fn to_text(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret")
    }
}

/// The signature of one secret, with its version. The id has no dot in it: the dots say where the parts end.
pub fn sign(secret: &SigningSecret, id: &str, timestamp: i64, body: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, &secret.0);
    let mut signed = hmac::Context::with_key(&key);
    signed.update(format!("{id}.{timestamp}.").as_bytes());
    signed.update(body);
    format!("v1,{}", STANDARD.encode(signed.sign()))
}

/// The value of `webhook-signature`. A receiver that knows any of the secrets takes the request, so a secret can be
/// replaced while requests come.
pub fn signatures(secrets: &[SigningSecret], id: &str, timestamp: i64, body: &[u8]) -> String {
    let each: Vec<String> = secrets.iter().map(|secret| sign(secret, id, timestamp, body)).collect();
    each.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the reference libraries of Standard Webhooks test with.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    #[test]
    fn the_signature_is_the_one_of_the_specification() {
        let secret = SigningSecret::parse(SECRET).unwrap();
        let signature = sign(&secret, ID, 1_614_265_330, BODY);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn each_secret_of_a_rotation_signs() {
        let old = SigningSecret::parse(SECRET).unwrap();
        let new = SigningSecret::new(&[7; 32]).unwrap();
        let both = signatures(&[new.clone(), old.clone()], ID, 1, BODY);
        assert_eq!(both, format!("{} {}", sign(&new, ID, 1, BODY), sign(&old, ID, 1, BODY)));
    }

    #[test]
    fn a_secret_is_not_printed() {
        let secret = SigningSecret::parse(SECRET).unwrap();
        assert_eq!(format!("{secret:?}"), "SigningSecret");
        assert_eq!(secret.to_text(), SECRET);
    }

    #[test]
    fn other_texts_are_no_secrets() {
        for text in [
            "",
            "whsec_",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_short",
            "whsec_****",
            "whsk_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            assert_eq!(SigningSecret::parse(text), Err(BadSecret), "{text}");
        }
    }
}
