//! Certificates that people bring: read, checked, described in words, and written anew; and those of a root of an installation's own. It knows neither the
//! database nor the network.

mod chain;
mod key;
mod pem;
pub mod root;

use sha2::{Digest, Sha256};

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Chain,
    Key,
}

/// Why a certificate cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub part: Part,
    pub words: String,
}

impl Problem {
    fn chain(words: impl Into<String>) -> Self {
        Self { part: Part::Chain, words: words.into() }
    }

    fn key(words: impl Into<String>) -> Self {
        Self { part: Part::Key, words: words.into() }
    }
}

type Result<T> = std::result::Result<T, Problem>;

/// What can be served: the chain and the key alone, without anything that stood around them.
pub struct Checked {
    pub chain_pem: String,
    pub key_pem: String,
    pub description: Description,
}

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

/// A chain of certificates in PEM, the host's own first, and its private key, if they can be served at `now`.
pub fn check(chain_pem: &str, key_pem: &str, now: i64) -> Result<Checked> {
    let chain = chain::read(chain_pem)?;
    let parsed = chain::parse(&chain)?;
    let description = chain::describe(&parsed[0], fingerprint(&chain[0]))?;
    let key = key::read(key_pem)?;
    let key_pem = key::write(&key);
    key::check_match(chain.clone(), key)?;
    chain::check_links(&parsed)?;
    chain::check_times(&parsed, now)?;
    Ok(Checked { chain_pem: chain::write(&chain), key_pem, description })
}

fn fingerprint(der: &[u8]) -> String {
    Sha256::digest(der).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests;
