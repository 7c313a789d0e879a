//! Passwords of visitors: how one is kept, and how it is found to be the same.

use std::io;
use std::num::NonZeroU32;

use ring::pbkdf2;
use ring::rand::{SecureRandom, SystemRandom};

pub(crate) const HASH_LENGTH: usize = ring::digest::SHA256_OUTPUT_LEN;
pub(crate) const SALT_LENGTH: usize = 16;
static ALGORITHM: pbkdf2::Algorithm = pbkdf2::PBKDF2_HMAC_SHA256;

/// What is kept of a password, in hexadecimal digits.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash {
    pub salt: String,
    pub hash: String,
}

/// Takes about a second of a processor for each four million iterations.
pub fn hash_password(password: &str, iterations: u32) -> io::Result<PasswordHash> {
    let iterations = NonZeroU32::new(iterations)
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a password takes at least one iteration"))?;
    let mut salt = [0; SALT_LENGTH];
    SystemRandom::new().fill(&mut salt).map_err(|_| io::Error::other("the system has no random numbers"))?;
    let mut hash = [0; HASH_LENGTH];
    pbkdf2::derive(ALGORITHM, iterations, &salt, password.as_bytes(), &mut hash);
    Ok(PasswordHash { salt: to_hex(&salt), hash: to_hex(&hash) })
}

/// Whether it is the password that the hash was made of. Takes the same time either way.
pub(crate) fn is_password(password: &[u8], iterations: NonZeroU32, salt: &[u8], hash: &[u8]) -> bool {
    pbkdf2::verify(ALGORITHM, iterations, salt, password, hash).is_ok()
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let pairs = text.as_bytes().chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    pairs.map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_found_to_be_the_same() {
        let (kept, again) = (hash_password("pässword", 10).unwrap(), hash_password("pässword", 10).unwrap());
        assert!(kept.salt != again.salt && kept.hash != again.hash);
        let (salt, hash) = (from_hex(&kept.salt).unwrap(), from_hex(&kept.hash).unwrap());
        assert_eq!((salt.len(), hash.len()), (SALT_LENGTH, HASH_LENGTH));
        let same = |password: &str, iterations| {
            is_password(password.as_bytes(), NonZeroU32::new(iterations).unwrap(), &salt, &hash)
        };
        assert!(same("pässword", 10));
        assert!(!same("password", 10) && !same("pässword", 11) && !same("", 10));
        assert!(hash_password("pässword", 0).is_err());
    }

    /// As other programs compute it (RFC 7914, section 11).
    #[test]
    fn hashes_are_those_of_the_standard() {
        let hash = from_hex("55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc").unwrap();
        assert!(is_password(b"passwd", NonZeroU32::MIN, b"salt", &hash));
    }

    #[test]
    fn digits_are_read_as_they_were_written() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&bytes)), Some(bytes));
        assert_eq!(from_hex("Ff"), Some(vec![255]));
        for text in ["f", "fg", "+f", "é", "fff"] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}
