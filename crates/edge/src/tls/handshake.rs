//! The beginning of an encrypted connection.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio_rustls::rustls::server::{Acceptor, ClientHello, ResolvesServerCert, ServerConfig};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, rustls};

use super::certificates::{CurrentCertificates, Proofs, ServedCertificate, Usual, name_in_lower_case, provider};
use super::pace::Pace;
use super::tickets::{TicketKeys, TicketSecrets};
use crate::settings::Settings;

/// What an authority asks for that wants a proof, and no browser does (RFC 8737).
const PROOF_PROTOCOL: &[u8] = b"acme-tls/1";

/// What all handshakes share.
pub struct Handshakes {
    pub certificates: Arc<CurrentCertificates>,
    tickets: Arc<TicketKeys>,
    usual: Arc<ServerConfig>,
    proofs: Arc<ServerConfig>,
    pace: Pace,
}

/// An encrypted connection.
pub struct Secured {
    /// In a box: it is ten times as large as the stream itself.
    pub stream: Box<TlsStream<TcpStream>>,
    /// What the visitor was shown.
    pub certificate: Arc<ServedCertificate>,
}

impl Handshakes {
    pub fn new(tickets: Arc<TicketKeys>, settings: &Settings) -> Result<Self, rustls::Error> {
        let certificates = Arc::<CurrentCertificates>::default();
        let mut usual = config(Arc::new(Usual(certificates.clone())))?;
        usual.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        usual.ticketer = tickets.clone();
        let mut proofs = config(Arc::new(Proofs(certificates.clone())))?;
        proofs.alpn_protocols = vec![PROOF_PROTOCOL.to_vec()];
        proofs.send_tls13_tickets = 0;
        Ok(Self { certificates, tickets, usual: Arc::new(usual), proofs: Arc::new(proofs), pace: Pace::new(settings) })
    }

    pub fn ticket_secrets(&self) -> TicketSecrets {
        self.tickets.secrets()
    }

    /// None for an authority that has got its proof.
    pub async fn accept(&self, stream: TcpStream, address: IpAddr, limit: Duration) -> io::Result<Option<Secured>> {
        tokio::time::timeout(limit, self.accept_in_time(stream, address)).await?
    }

    async fn accept_in_time(&self, stream: TcpStream, address: IpAddr) -> io::Result<Option<Secured>> {
        let begun = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        let wait = self.pace.wait(address, Instant::now()).ok_or(io::ErrorKind::QuotaExceeded)?;
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        if wants_proof(&begun.client_hello()) {
            // The certificate is all that it came for.
            begun.into_stream(self.proofs.clone()).await?.shutdown().await?;
            return Ok(None);
        }
        let stream = Box::new(begun.into_stream(self.usual.clone()).await?);
        let name = name_in_lower_case(stream.get_ref().1.server_name().unwrap_or_default());
        // None if it was taken away meanwhile.
        let certificate = self.certificates.load().find(&name).cloned().ok_or(io::ErrorKind::ConnectionAborted)?;
        Ok(Some(Secured { stream, certificate }))
    }
}

fn wants_proof(hello: &ClientHello<'_>) -> bool {
    hello.alpn().is_some_and(|mut protocols| protocols.any(|protocol| protocol == PROOF_PROTOCOL))
}

fn config(certificates: Arc<dyn ResolvesServerCert>) -> Result<ServerConfig, rustls::Error> {
    let versions =
        ServerConfig::builder_with_provider(Arc::new(provider())).with_protocol_versions(&[&TLS13, &TLS12])?;
    Ok(versions.with_no_client_auth().with_cert_resolver(certificates))
}
