//! Whom to trust, and what it means when a connection cannot be secured.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::Resumption;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, CertificateError, ClientConfig, RootCertStore};
use url::Host;

use crate::call::Destination;
use crate::{CallError, RootsError};

pub(crate) const UNKNOWN_ISSUER: &str = "its certificate is not from an issuer that this machine trusts";

/// The machine's root certificates and those of a file. Reads some hundred files.
pub(crate) fn load_roots(extra: Option<&Path>) -> Result<RootCertStore, RootsError> {
    let mut roots = RootCertStore::empty();
    // Machines come with a few that cannot be read; the others are as good as before.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = extra {
        add_file(&mut roots, path)?;
    }
    Ok(roots)
}

/// An operator chose this file, so all of it must be right.
fn add_file(roots: &mut RootCertStore, path: &Path) -> Result<(), RootsError> {
    let unusable = |reason: String| RootsError { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|error| unusable(error.to_string()))?;
    let before = roots.len();
    for certificate in CertificateDer::pem_slice_iter(&text) {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(error.to_string()))?;
    }
    if roots.len() == before {
        return Err(unusable("it has no certificate in PEM form".to_owned()));
    }
    Ok(())
}

/// None without roots: there is nothing that could be trusted.
pub(crate) fn connector(roots: RootCertStore) -> Option<TlsConnector> {
    if roots.is_empty() {
        return None;
    }
    let versions = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?;
    let mut config = versions.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    // Each call looks at the certificate anew, and tenants share nothing.
    config.resumption = Resumption::disabled();
    Some(TlsConnector::from(Arc::new(config)))
}

/// The same trust for a server that speaks something else, and may refuse a caller who wants HTTP.
pub(crate) fn without_protocol(connector: &TlsConnector) -> TlsConnector {
    let mut config = ClientConfig::clone(connector.config());
    config.alpn_protocols.clear();
    TlsConnector::from(Arc::new(config))
}

pub(crate) async fn secure(
    connector: &TlsConnector,
    to: &Destination,
    stream: TcpStream,
) -> Result<TlsStream<TcpStream>, CallError> {
    connector.connect(server_name(to)?, stream).await.map_err(|error| failure(&error, to))
}

fn server_name(to: &Destination) -> Result<ServerName<'static>, CallError> {
    let unusable = |_| CallError::BadUrl { reason: "names a host that no certificate can name" };
    match &to.host {
        Host::Ipv4(address) => Ok(ServerName::from(std::net::IpAddr::V4(*address))),
        Host::Ipv6(address) => Ok(ServerName::from(std::net::IpAddr::V6(*address))),
        Host::Domain(name) => ServerName::try_from(name.clone()).map_err(unusable),
    }
}

fn failure(error: &io::Error, to: &Destination) -> CallError {
    match tls_reason(error) {
        Some(reason) => CallError::TlsFailed { host: to.name(), reason },
        // Without a word of TLS about it, the connection just ended.
        None => CallError::ClosedEarly { host: to.name() },
    }
}

/// What TLS says about a failed read or write, if it is the one that failed.
pub(crate) fn tls_reason(error: &io::Error) -> Option<String> {
    let cause = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    Some(in_words(cause))
}

/// What a person can do about it differs, so the words do.
fn in_words(error: &rustls::Error) -> String {
    use CertificateError as Bad;
    match error {
        rustls::Error::InvalidCertificate(problem) => match problem {
            Bad::UnknownIssuer => UNKNOWN_ISSUER.to_owned(),
            // As `openssl req -x509` makes them: its own issuer, and an authority by that.
            Bad::Other(cause) if cause.to_string() == "CaUsedAsEndEntity" => UNKNOWN_ISSUER.to_owned(),
            Bad::Expired | Bad::ExpiredContext { .. } => "its certificate has expired".to_owned(),
            Bad::NotValidYet | Bad::NotValidYetContext { .. } => "its certificate is not valid yet".to_owned(),
            Bad::NotValidForName | Bad::NotValidForNameContext { .. } => {
                "its certificate is for another name".to_owned()
            }
            Bad::Revoked => "its certificate has been revoked".to_owned(),
            other => format!("its certificate is not valid ({other})"),
        },
        rustls::Error::InvalidMessage(_) => "it does not answer in TLS".to_owned(),
        rustls::Error::AlertReceived(alert) => format!("it refused the connection ({alert:?})"),
        rustls::Error::NoApplicationProtocol => "it does not offer HTTP/1.1".to_owned(),
        rustls::Error::PeerIncompatible(_) => "it offers no version or cipher of TLS that is safe".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn refusal(text: &str) -> String {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let error = add_file(&mut RootCertStore::empty(), file.path()).unwrap_err();
        assert_eq!(error.path, file.path());
        error.to_string()
    }

    #[test]
    fn a_file_without_usable_roots_is_refused() {
        assert!(refusal("nothing of the kind").contains("no certificate in PEM form"));
        refusal("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n");
        refusal("-----BEGIN CERTIFICATE-----\nAAAA\n");
        let missing = add_file(&mut RootCertStore::empty(), Path::new("/nonexistent/roots.pem")).unwrap_err();
        assert!(missing.to_string().contains("/nonexistent/roots.pem"), "{missing}");
    }

    #[test]
    fn without_roots_there_is_no_tls() {
        assert!(connector(RootCertStore::empty()).is_none());
    }
}
