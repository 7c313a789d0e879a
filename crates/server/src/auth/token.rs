//! Opaque secrets that the server hands out: sessions, invitations, API keys, the set-up token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use crate::random;

/// What an API key begins with, so that people and scanners of leaked secrets recognise one.
const API_KEY: &str = "wlk_";

/// 256 random bits. Shown once; only the hash is kept.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn random() -> Self {
        Self(URL_SAFE_NO_PAD.encode(random::bytes::<32>()))
    }

    pub fn api_key() -> Self {
        Self(format!("{API_KEY}{}", Self::random().0))
    }

    /// 80 random bits in letters and digits that are not easily confused, for people to write down.
    pub fn recovery_code() -> Self {
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let bytes = random::bytes::<16>();
        Self(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect())
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub fn hash(&self) -> [u8; 32] {
        hash(&self.0)
    }

    /// Compares hashes, so that the time it takes says nothing about the token.
    pub fn matches(&self, presented: &str) -> bool {
        self.hash() == hash(presented)
    }
}

pub fn is_api_key(presented: &str) -> bool {
    presented.starts_with(API_KEY)
}

/// Plain SHA-256 is enough for a random token: there is nothing to guess.
pub fn hash(presented: &str) -> [u8; 32] {
    Sha256::digest(presented.as_bytes()).into()
}
