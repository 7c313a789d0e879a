//! The private key of a certificate. No message shows anything of it.

use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{CertificateError, Error};

use crate::{Problem, Result, pem};

pub fn read(pem: &str) -> Result<PrivateKeyDer<'static>> {
    let has_password = pem.contains("BEGIN ENCRYPTED PRIVATE KEY") || pem.contains("Proc-Type: 4,ENCRYPTED");
    if has_password {
        return Err(Problem::key("is protected by a password. Remove it: openssl pkey -in key.pem -out plain.pem"));
    }
    PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|_| Problem::key("is not a private key in PEM (PKCS #8, PKCS #1 or SEC 1)"))
}

pub fn write(key: &PrivateKeyDer<'static>) -> String {
    let label = match key {
        PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
        PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
        _ => "PRIVATE KEY",
    };
    pem::write(label, key.secret_der())
}

pub fn check_match(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> Result<()> {
    let key = default_provider().key_provider.load_private_key(key).map_err(|_| {
        Problem::key("cannot be used: it must be RSA of 2048 to 4096 bits, ECDSA on P-256 or P-384, or Ed25519")
    })?;
    match CertifiedKey::new(chain, key).keys_match() {
        Ok(()) => Ok(()),
        Err(Error::InconsistentKeys(_)) => Err(Problem::key("is not the key of the first certificate in the chain")),
        Err(Error::InvalidCertificate(CertificateError::Other(_))) => {
            Err(Problem::chain("the first certificate has an extension that visitors must refuse"))
        }
        Err(error) => Err(Problem::chain(format!("the first certificate cannot be used: {error}"))),
    }
}
