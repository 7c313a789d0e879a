//! Certificates that people bring: read, checked, and described in words. It knows neither the database nor the network.

mod chain;
mod key;

use sha2::{Digest, Sha256};

/// The fields of a request that a problem can be about.
pub const CHAIN_FIELD: &str = "certificate_chain";
pub const KEY_FIELD: &str = "private_key";

/// Why a certificate cannot be used, and the field that is to blame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub field: &'static str,
    pub words: String,
}

impl Problem {
    fn chain(words: impl Into<String>) -> Self {
        Self { field: CHAIN_FIELD, words: words.into() }
    }

    fn key(words: impl Into<String>) -> Self {
        Self { field: KEY_FIELD, words: words.into() }
    }
}

type Result<T> = std::result::Result<T, Problem>;

/// What a certificate says of itself. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Hosts in lower case; `*.example.org` for every name one level below.
    pub names: Vec<String>,
    pub issuer: String,
    /// In hexadecimal, as `openssl` writes it.
    pub serial_number: String,
    /// SHA-256 over the certificate, in hexadecimal.
    pub fingerprint: String,
    /// Such as `ECDSA 256` or `RSA 2048`.
    pub key_type: String,
    pub not_before: i64,
    pub not_after: i64,
}

/// A chain of certificates in PEM, the host's own first, and its private key, both as they can be served at `now`.
pub fn check(chain_pem: &str, key_pem: &str, now: i64) -> Result<Description> {
    let chain = chain::read(chain_pem)?;
    let parsed = chain::parse(&chain)?;
    let description = chain::describe(&parsed[0], fingerprint(&chain[0]))?;
    let key = key::read(key_pem)?;
    key::check_match(chain.clone(), key)?;
    chain::check_links(&parsed)?;
    chain::check_times(&parsed, now)?;
    Ok(description)
}

fn fingerprint(der: &[u8]) -> String {
    Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a name of a certificate is that of the host: its own, or that of all hosts beside it.
pub fn covers(name: &str, host: &str) -> bool {
    match name.strip_prefix("*.") {
        Some(above) => host.split_once('.').is_some_and(|(_, rest)| rest == above),
        None => name == host,
    }
}

#[cfg(test)]
mod tests;
