//! The system's random numbers.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Without them nothing here can be safe, so there is nothing to fall back to.
pub fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[expect(clippy::expect_used, reason = "a kernel without random numbers cannot run a server")]
    getrandom::fill(&mut bytes).expect("the system gives random numbers");
    bytes
}

/// A text that cannot be guessed.
pub fn base64_url() -> String {
    URL_SAFE_NO_PAD.encode(bytes::<24>())
}
