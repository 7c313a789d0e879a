//! What encrypted connections need: one certificate for all servers, and a client.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{ClientConfig, ClientConnection, Resumption};
use tokio_rustls::rustls::crypto::CryptoProvider;
use tokio_rustls::rustls::crypto::ring::cipher_suite::TLS13_AES_128_GCM_SHA256;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{DigitallySignedStruct, Error, SignatureScheme};
use windlass_testing::certificates::pem;

const HANDSHAKE_LIMIT: Duration = Duration::from_secs(5);

/// ECDSA with P-256, which is what authorities are asked for today.
pub struct Certificate {
    pub chain_pem: String,
    pub key_pem: String,
}

impl Certificate {
    /// Signed by itself.
    pub fn of(host: &str) -> Self {
        let key = key();
        let certificate = params(host).self_signed(&key).expect("a certificate");
        Self { chain_pem: pem("CERTIFICATE", certificate.der()), key_pem: key_pem(&key) }
    }
}

/// Signs certificates, as an authority does.
pub struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    pub fn new() -> Self {
        Self(CertifiedIssuer::self_signed(params("issuer.example.org"), key()).expect("an issuer"))
    }

    /// With the issuer's own certificate behind it if that is wanted, as authorities give it.
    pub fn issue(&self, host: &str, with_issuer: bool) -> Certificate {
        let key = key();
        let certificate = params(host).signed_by(&key, &self.0).expect("a certificate");
        let mut chain_pem = pem("CERTIFICATE", certificate.der());
        if with_issuer {
            chain_pem.push_str(&pem("CERTIFICATE", self.0.der()));
        }
        Certificate { chain_pem, key_pem: key_pem(&key) }
    }
}

fn params(host: &str) -> CertificateParams {
    CertificateParams::new([host.to_owned()]).expect("a name")
}

fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

fn key_pem(key: &KeyPair) -> String {
    pem("PRIVATE KEY", key.serialized_der())
}

/// The files from which the other servers read the certificate.
pub struct CertificateFiles {
    pub chain: PathBuf,
    pub key: PathBuf,
    pub both: PathBuf,
}

impl CertificateFiles {
    pub fn write(folder: &Path, certificate: &Certificate) -> Self {
        let Certificate { chain_pem, key_pem } = certificate;
        let write = |name: &str, text: &str| {
            let file = folder.join(name);
            std::fs::write(&file, text).expect("the certificate's file");
            file
        };
        Self {
            chain: write("certificate.pem", chain_pem),
            key: write("key.pem", key_pem),
            both: write("both.pem", &format!("{chain_pem}{key_pem}")),
        }
    }
}

/// The settings of OpenSSL for `wrk`. Left alone, each server would choose its own cipher.
pub fn write_openssl_settings(folder: &Path) -> PathBuf {
    let file = folder.join("openssl.cnf");
    let text = "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = client\n[client]\n\
                MinProtocol = TLSv1.3\nCiphersuites = TLS_AES_128_GCM_SHA256\nGroups = X25519\n";
    std::fs::write(&file, text).expect("the settings of OpenSSL");
    file
}

/// A client that comes for the first time each time, with the cipher of all measurements.
pub static CLIENT: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
    let provider = CryptoProvider { cipher_suites: vec![TLS13_AES_128_GCM_SHA256], ..default_provider() };
    let versions = ClientConfig::builder_with_provider(Arc::new(provider)).with_protocol_versions(&[&TLS13]);
    let verified = versions.expect("TLS 1.3").dangerous().with_custom_certificate_verifier(Arc::new(Credulous));
    let mut config = verified.with_no_client_auth();
    config.resumption = Resumption::disabled();
    Arc::new(config)
});

pub fn connection(host: &str) -> ClientConnection {
    ClientConnection::new(CLIENT.clone(), name(host)).expect("a client")
}

/// Whether a handshake for the host succeeds.
pub fn handshake(port: u16, host: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return false };
    let mut connection = connection(host);
    stream.set_read_timeout(Some(HANDSHAKE_LIMIT)).is_ok()
        && connection.complete_io(&mut stream).is_ok()
        && !connection.is_handshaking()
}

pub fn name(host: &str) -> ServerName<'static> {
    ServerName::try_from(host.to_owned()).expect("a name")
}

/// Takes any certificate and any signature: to verify one takes longer than to make it, and the load has to be faster
/// than the servers.
#[derive(Debug)]
struct Credulous;

impl ServerCertVerifier for Credulous {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
