//! What proves that a host is ours to serve: a certificate in a TLS handshake (TLS-ALPN-01, RFC 8737), or a record in DNS
//! (DNS-01, RFC 8555, section 8.4).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
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

/// A TXT record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DnsRecord {
    pub name: String,
    pub value: String,
}

/// The proof of a host or of a wildcard. Both `example.org` and `*.example.org` are proven at one name, with a value each.
pub fn dns_record(host: &str, key_authorization: &str) -> DnsRecord {
    let host = host.strip_prefix("*.").unwrap_or(host);
    let value = URL_SAFE_NO_PAD.encode(Sha256::digest(key_authorization));
    DnsRecord { name: format!("_acme-challenge.{host}"), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wildcard_is_proven_at_the_name_below_it() {
        let (plain, wildcard) = (dns_record("example.org", "token.key"), dns_record("*.example.org", "other.key"));
        assert_eq!((plain.name.as_str(), &wildcard.name), ("_acme-challenge.example.org", &plain.name));
        assert_ne!(plain.value, wildcard.value);
        assert_eq!(dns_record("*.*.example.org", "").name, "_acme-challenge.*.example.org");
        // As RFC 4648 writes the hash of nothing.
        assert_eq!(dns_record("example.org", "").value, "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU");
    }
}
