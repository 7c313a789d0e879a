//! The certificate by which a TLS handshake proves that a host is served here (TLS-ALPN-01, RFC 8737).

use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use sha2::{Digest, Sha256};

use crate::error::AcmeError;

pub struct Proof {
    pub chain_pem: String,
    pub key_pem: String,
}

/// The proof of a host. Each call makes another key, which is worth nothing beyond the handshake.
pub fn tls_alpn(host: &str, key_authorization: &str) -> Result<Proof, AcmeError> {
    let mut wanted = CertificateParams::new([host.to_owned()])?;
    wanted.distinguished_name = DistinguishedName::new();
    wanted.custom_extensions = vec![CustomExtension::new_acme_identifier(&Sha256::digest(key_authorization))];
    let key = KeyPair::generate()?;
    let certificate = wanted.self_signed(&key)?;
    Ok(Proof { chain_pem: certificate.pem(), key_pem: key.serialize_pem() })
}
