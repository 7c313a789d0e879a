//! The certificates as they are used: found by the name that a visitor asks for, read when one is first needed. Reading
//! ten thousand of them at the start would take seconds.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use tokio_rustls::rustls::crypto::{CryptoProvider, ring};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, Error};

use crate::routes::{Certificate, RouteSet};

/// All certificates, by name.
#[derive(Default)]
pub struct Certificates {
    usual: Names,
    /// Those by which an authority finds out that a name is served here (RFC 8737).
    proofs: Names,
}

#[derive(Default)]
struct Names {
    exact: HashMap<String, Arc<ServedCertificate>>,
    /// By the name that stands after `*.`.
    below: HashMap<String, Arc<ServedCertificate>>,
}

/// One certificate with its key, which is read when a visitor first needs it.
pub struct ServedCertificate {
    given: Arc<Certificate>,
    key: OnceLock<Option<Arc<CertifiedKey>>>,
}

impl Certificates {
    /// For a checked set of routes. What is the same as before is kept as it is, with the key that was read.
    pub fn new(routes: &RouteSet, before: &Self) -> Self {
        Self {
            usual: Names::new(&routes.certificates, &before.usual),
            proofs: Names::new(&routes.proofs, &before.proofs),
        }
    }

    /// The certificate for a name in lower case: its own before that of all names beside it.
    pub fn find(&self, name: &str) -> Option<&Arc<ServedCertificate>> {
        self.usual.find(name)
    }
}

impl Names {
    fn new(given: &[Arc<Certificate>], before: &Self) -> Self {
        let mut names = Self::default();
        for certificate in given {
            let served = before.same(certificate).unwrap_or_else(|| Arc::new(ServedCertificate::new(certificate)));
            for host in &certificate.hosts {
                let (names, name) = match host.strip_prefix("*.") {
                    Some(name) => (&mut names.below, name),
                    None => (&mut names.exact, host.as_str()),
                };
                names.entry(name.to_owned()).or_insert_with(|| served.clone());
            }
        }
        names
    }

    fn same(&self, certificate: &Arc<Certificate>) -> Option<Arc<ServedCertificate>> {
        let host = certificate.hosts.first()?;
        let known = match host.strip_prefix("*.") {
            Some(name) => self.below.get(name),
            None => self.exact.get(host),
        };
        let is_same = |known: &Certificate| std::ptr::eq(known, &**certificate) || *known == **certificate;
        known.filter(|known| is_same(&known.given)).cloned()
    }

    fn find(&self, name: &str) -> Option<&Arc<ServedCertificate>> {
        let above = || name.split_once('.').and_then(|(_, above)| self.below.get(above));
        self.exact.get(name).or_else(above)
    }
}

impl ServedCertificate {
    fn new(given: &Arc<Certificate>) -> Self {
        Self { given: given.clone(), key: OnceLock::new() }
    }

    /// Whether a visitor who was shown it may ask for this host, too.
    pub fn is_for(&self, host: &str) -> bool {
        let above = host.split_once('.').map(|(_, above)| above);
        self.given.hosts.iter().any(|name| match name.strip_prefix("*.") {
            Some(name) => above == Some(name),
            None => name == host,
        })
    }

    /// None if it cannot be used. That is checked when a table is applied, and not again when it is loaded from disk.
    fn key(&self) -> Option<Arc<CertifiedKey>> {
        let key = self.key.get_or_init(|| match read(&self.given) {
            Ok(key) => Some(Arc::new(key)),
            Err(problem) => {
                tracing::error!(certificate = self.given.id, "a certificate cannot be used: {problem}");
                None
            }
        });
        key.clone()
    }
}

/// Reads a certificate and its key. The problem begins with the field, and says nothing of the key.
pub fn read(certificate: &Certificate) -> Result<CertifiedKey, String> {
    let chain = CertificateDer::pem_slice_iter(certificate.chain_pem.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("chain_pem: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.pem().as_bytes())
        .map_err(|_| "key_pem: is not a private key in PEM without a password".to_owned())?;
    let key = provider().key_provider.load_private_key(key).map_err(|error| format!("key_pem: {error}"))?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        // What cannot be read by this library is not judged: a proof has an extension that visitors must refuse.
        Ok(()) | Err(Error::InvalidCertificate(CertificateError::Other(_))) => Ok(certified),
        Err(Error::InconsistentKeys(_)) => Err("key_pem: is not the key of the first certificate in chain_pem".into()),
        Err(error) => Err(format!("chain_pem: {error}")),
    }
}

/// The one implementation of all that TLS computes.
pub fn provider() -> CryptoProvider {
    ring::default_provider()
}

/// The certificates of now, which all handshakes look into; swapped as a whole.
#[derive(Default)]
pub struct CurrentCertificates(ArcSwap<Certificates>);

impl CurrentCertificates {
    pub fn load(&self) -> Arc<Certificates> {
        self.0.load_full()
    }

    pub fn apply(&self, routes: &RouteSet) {
        let next = Certificates::new(routes, &self.0.load());
        self.0.store(Arc::new(next));
    }
}

/// What visitors are shown.
pub struct Usual(pub Arc<CurrentCertificates>);

/// What authorities are shown that want a proof.
pub struct Proofs(pub Arc<CurrentCertificates>);

impl ResolvesServerCert for Usual {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.0.load().usual.find(&asked_name(&hello)?)?.key()
    }
}

impl ResolvesServerCert for Proofs {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.0.load().proofs.find(&asked_name(&hello)?)?.key()
    }
}

/// The name that a visitor asks for, in lower case.
fn asked_name(hello: &ClientHello<'_>) -> Option<String> {
    hello.server_name().map(name_in_lower_case)
}

/// As certificates and routes have it, without the dot that may end it.
pub fn name_in_lower_case(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

impl fmt::Debug for Usual {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Usual")
    }
}

impl fmt::Debug for Proofs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Proofs")
    }
}
