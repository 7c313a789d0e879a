//! A root of an installation's own, for names that no certificate authority issues for. It is trusted where a person has said so.

use rcgen::{
    BasicConstraints, CertificateParams, CidrSubnet, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, Issuer, KeyPair, KeyUsagePurpose, NameConstraints,
};
use time::{Duration, OffsetDateTime};

/// Ten years: it is trusted by hand, machine by machine.
const ROOT_DAYS: i64 = 3_650;
/// Clocks differ.
const LEEWAY: Duration = Duration::hours(1);
/// All that it may ever issue for. A root whose key is stolen is then good for this machine's own names alone.
const ONLY_BELOW: &str = "localhost";

/// Why nothing was made. It does not depend on what was given, but for the names.
#[derive(Debug, thiserror::Error)]
#[error("a certificate could not be made: {0}")]
pub struct MakeError(String);

impl From<rcgen::Error> for MakeError {
    fn from(error: rcgen::Error) -> Self {
        Self(error.to_string())
    }
}

/// A certificate with its private key, both in PEM.
pub struct CertificateWithKey {
    pub chain_pem: String,
    pub key_pem: String,
}

/// A new root, which says whose it is. The time is in seconds since 1970.
pub fn new(name: &str, now: i64) -> Result<CertificateWithKey, MakeError> {
    let mut root = CertificateParams::new(Vec::<String>::new())?;
    root.distinguished_name = DistinguishedName::new();
    root.distinguished_name.push(DnType::CommonName, name);
    root.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    root.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    // Without a word about addresses every address would be permitted.
    let no_address = [CidrSubnet::from_v4_prefix([0; 4], 0), CidrSubnet::from_v6_prefix([0; 16], 0)];
    root.name_constraints = Some(NameConstraints {
        permitted_subtrees: vec![GeneralSubtree::DnsName(ONLY_BELOW.into())],
        excluded_subtrees: no_address.into_iter().map(GeneralSubtree::IpAddress).collect(),
    });
    (root.not_before, root.not_after) = lifetime(now, ROOT_DAYS)?;
    let key = KeyPair::generate()?;
    Ok(CertificateWithKey { chain_pem: root.self_signed(&key)?.pem(), key_pem: key.serialize_pem() })
}

/// A certificate for a host, good for so many days.
pub fn issue(root: &CertificateWithKey, host: &str, now: i64, days: i64) -> Result<CertificateWithKey, MakeError> {
    let issuer = Issuer::from_ca_cert_pem(&root.chain_pem, KeyPair::from_pem(&root.key_pem)?)?;
    let mut wanted = CertificateParams::new([host.to_owned()])?;
    wanted.distinguished_name = DistinguishedName::new();
    wanted.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    wanted.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    wanted.use_authority_key_identifier_extension = true;
    (wanted.not_before, wanted.not_after) = lifetime(now, days)?;
    let key = KeyPair::generate()?;
    Ok(CertificateWithKey { chain_pem: wanted.signed_by(&key, &issuer)?.pem(), key_pem: key.serialize_pem() })
}

fn lifetime(now: i64, days: i64) -> Result<(OffsetDateTime, OffsetDateTime), MakeError> {
    let now = OffsetDateTime::from_unix_timestamp(now).map_err(|error| MakeError(error.to_string()))?;
    Ok((now - LEEWAY, now + Duration::days(days)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio_rustls::rustls::client::WebPkiServerVerifier;
    use tokio_rustls::rustls::client::danger::ServerCertVerifier;
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use tokio_rustls::rustls::{RootCertStore, crypto::ring};

    use super::*;

    const NOW: i64 = 1_800_000_000;

    /// As a client that trusts the root sees it.
    fn is_trusted(root: &CertificateWithKey, made: &CertificateWithKey, host: &str, at: i64) -> bool {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(root.chain_pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        let own = CertificateDer::from_pem_slice(made.chain_pem.as_bytes()).unwrap();
        let at = UnixTime::since_unix_epoch(std::time::Duration::from_secs(at.unsigned_abs()));
        verifier.verify_server_cert(&own, &[], &ServerName::try_from(host.to_owned()).unwrap(), &[], at).is_ok()
    }

    #[test]
    fn a_certificate_of_an_own_root_is_trusted_with_it() {
        let root = new("Windlass", NOW).unwrap();
        let shop = issue(&root, "shop.localhost", NOW, 90).unwrap();
        assert!(is_trusted(&root, &shop, "shop.localhost", NOW));
        assert!(!is_trusted(&root, &shop, "other.localhost", NOW), "it is for another host");
        assert!(!is_trusted(&root, &shop, "shop.localhost", NOW + 91 * 86_400), "it has expired");
        assert!(!is_trusted(&new("Windlass", NOW).unwrap(), &shop, "shop.localhost", NOW), "another root");
        assert!(is_trusted(&root, &issue(&root, "localhost", NOW, 90).unwrap(), "localhost", NOW));
        let again = issue(&root, "shop.localhost", NOW, 90).unwrap();
        assert_ne!(shop.key_pem, again.key_pem);
    }

    #[test]
    fn a_root_is_good_for_names_of_the_machine_alone() {
        let root = new("Windlass", NOW).unwrap();
        for host in ["example.org", "notlocalhost", "127.0.0.1"] {
            let stolen = issue(&root, host, NOW, 90).unwrap();
            assert!(!is_trusted(&root, &stolen, host, NOW), "{host}");
        }
    }
}
