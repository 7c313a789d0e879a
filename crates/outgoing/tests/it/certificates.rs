//! An issuer of certificates, for one test.

use std::io::Write;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tempfile::NamedTempFile;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

pub struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    /// Issuers of the same name would count as one whose signatures are wrong.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// As operators have it: a PEM file.
    pub fn file(&self) -> NamedTempFile {
        let mut file = NamedTempFile::new().unwrap();
        let text = STANDARD.encode(self.0.der());
        writeln!(file, "-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----").unwrap();
        file
    }

    /// A server's side of TLS, with a certificate for a name or an address.
    pub fn server_for(&self, name: &str) -> TlsAcceptor {
        self.server(&CertificateParams::new([name.to_owned()]).unwrap(), false)
    }

    pub fn expired_server_for(&self, name: &str) -> TlsAcceptor {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(2020, 1, 1);
        self.server(&params, false)
    }

    /// One that wants a certificate of the caller too.
    pub fn strict_server_for(&self, name: &str) -> TlsAcceptor {
        self.server(&CertificateParams::new([name.to_owned()]).unwrap(), true)
    }

    fn server(&self, params: &CertificateParams, is_strict: bool) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let provider = Arc::new(ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
        let config = if is_strict {
            let mut roots = RootCertStore::empty();
            roots.add(self.0.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
            config.with_client_cert_verifier(verifier)
        } else {
            config.with_no_client_auth()
        };
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let mut config = config.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}
