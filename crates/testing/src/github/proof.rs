//! Whether a request is from the app: a JSON Web Token that is signed with its key.

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use serde_json::{Value, json};

use super::GitHub;

/// GitHub takes no token for longer.
const LONGEST_SECONDS: i64 = 600;

pub fn is_of_app(token: &str) -> bool {
    checked(token).is_some()
}

fn checked(token: &str) -> Option<()> {
    let (signed, signature) = token.rsplit_once('.')?;
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
    UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public_key()).verify(signed.as_bytes(), &signature).ok()?;
    let (header, claims) = signed.split_once('.')?;
    let part =
        |text: &str| -> Option<Value> { serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(text).ok()?).ok() };
    let claims = part(claims)?;
    // The clocks of tests stand still, so only how long it is good for counts.
    let seconds = claims["exp"].as_i64()? - claims["iat"].as_i64()?;
    let is_right = part(header)?["alg"] == json!("RS256") && claims["iss"] == json!(GitHub::APP_ID.to_string());
    (is_right && (1..=LONGEST_SECONDS).contains(&seconds)).then_some(())
}

fn public_key() -> Vec<u8> {
    let text: String = GitHub::PRIVATE_KEY.lines().filter(|line| !line.starts_with("-----")).collect();
    let pair = RsaKeyPair::from_der(&BASE64_STANDARD.decode(text).expect("base64")).expect("a key");
    pair.public_key().as_ref().to_vec()
}
