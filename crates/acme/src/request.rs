//! What an authority signs.

use rcgen::{CertificateParams, DistinguishedName, KeyPair};

use crate::error::AcmeError;

/// A new key, and the request for a certificate with it.
pub struct Request {
    pub key_pem: String,
    pub request_der: Vec<u8>,
}

impl Request {
    /// With a key of its own.
    pub fn new(host: &str) -> Result<Self, AcmeError> {
        Self::signed_by(host, &KeyPair::generate()?)
    }

    /// With a key that was made before.
    pub fn with_key(host: &str, key_pem: &str) -> Result<Self, AcmeError> {
        Self::signed_by(host, &KeyPair::from_pem(key_pem)?)
    }

    fn signed_by(host: &str, key: &KeyPair) -> Result<Self, AcmeError> {
        let mut wanted = CertificateParams::new([host.to_owned()])?;
        // The host is among the names; authorities refuse anything that they did not verify.
        wanted.distinguished_name = DistinguishedName::new();
        let request = wanted.serialize_request(key)?;
        Ok(Self { key_pem: key.serialize_pem(), request_der: request.der().to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_can_be_used_again() {
        let first = Request::new("shop.example.org").unwrap();
        let again = Request::with_key("shop.example.org", &first.key_pem).unwrap();
        assert_eq!(first.key_pem, again.key_pem);
        assert_ne!(first.key_pem, Request::new("shop.example.org").unwrap().key_pem);
        assert!(Request::with_key("shop.example.org", "nonsense").is_err());
        assert!(Request::new("shöp.example.org").is_err());
    }
}
