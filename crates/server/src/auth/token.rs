//! Opaque secrets that the server hands out: sessions, invitations, the set-up token.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// 256 random bits. Shown once; only the hash is kept.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    pub fn random() -> Self {
        let mut bytes = [0_u8; 32];
        // Without the system's random numbers nothing here can be safe, so there is nothing to fall back to.
        #[expect(clippy::expect_used, reason = "a kernel without random numbers cannot run a server")]
        getrandom::fill(&mut bytes).expect("the system gives random numbers");
        Self(URL_SAFE_NO_PAD.encode(bytes))
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

/// Plain SHA-256 is enough for a random token: there is nothing to guess.
pub fn hash(presented: &str) -> [u8; 32] {
    Sha256::digest(presented.as_bytes()).into()
}
