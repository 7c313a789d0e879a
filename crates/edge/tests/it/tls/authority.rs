//! A certificate authority of the tests' own, and visitors who trust it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType, IsCa, KeyPair};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::ClientConfig;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::version::{TLS12, TLS13};
use tokio_rustls::rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme, SupportedProtocolVersion};
use windlass_edge::routes::{Certificate, PrivateKey};
use windlass_edge::tls::certificates::provider;

pub struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub fn new() -> Self {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let mut params = CertificateParams::default();
        // Of its own: who trusts one of the same name takes what another has issued for a forgery.
        let name = format!("Authority {}", MADE.fetch_add(1, Ordering::Relaxed));
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// What those who trust it are given.
    #[allow(dead_code, reason = "the binary's tests use it")]
    pub fn root_pem(&self) -> String {
        pem("CERTIFICATE", self.0.der())
    }

    /// A certificate for these hosts.
    pub fn issue(&self, id: &str, hosts: &[&str]) -> Arc<Certificate> {
        self.issue_with(id, hosts, Vec::new())
    }

    /// Its own issuer, as `openssl req -x509` makes them.
    #[allow(dead_code, reason = "the binary's tests use it")]
    pub fn self_signed(id: &str, hosts: &[&str]) -> Arc<Certificate> {
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Arc::new(of(id, names, certificate.der(), &key))
    }

    /// What shows an authority that a host is served here.
    pub fn proof(&self, host: &str, digest: &[u8]) -> Arc<Certificate> {
        self.issue_with(host, &[host], vec![CustomExtension::new_acme_identifier(digest)])
    }

    fn issue_with(&self, id: &str, hosts: &[&str], extensions: Vec<CustomExtension>) -> Arc<Certificate> {
        let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names.clone()).unwrap();
        params.custom_extensions = extensions;
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        Arc::new(of(id, names, certificate.der(), &key))
    }

    /// What a client that trusts this authority alone is set to.
    pub fn client(&self, protocols: &[&str], version: &'static SupportedProtocolVersion) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.0.der().to_vec())).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(provider()));
        let mut config =
            builder.with_protocol_versions(&[version]).unwrap().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        config
    }

    /// A visitor who speaks HTTP/1.1 over TLS 1.3.
    pub async fn visit(&self, edge: SocketAddr, name: &str) -> std::io::Result<SecuredVisitor> {
        SecuredVisitor::connect(edge, name, self.client(&["http/1.1"], &TLS13)).await
    }

    pub async fn visit_http2(&self, edge: SocketAddr, name: &str) -> std::io::Result<SecuredVisitor> {
        SecuredVisitor::connect(edge, name, self.client(&["h2", "http/1.1"], &TLS12)).await
    }
}

fn of(id: &str, hosts: Vec<String>, der: &[u8], key: &KeyPair) -> Certificate {
    let key_pem = PrivateKey::new(pem("PRIVATE KEY", key.serialized_der()));
    Certificate { id: id.into(), hosts, chain_pem: pem("CERTIFICATE", der), key_pem }
}

pub fn pem(kind: &str, der: &[u8]) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", STANDARD.encode(der))
}

pub async fn handshake(edge: SocketAddr, name: &str, config: ClientConfig) -> std::io::Result<TlsStream<TcpStream>> {
    let stream = TcpStream::connect(edge).await?;
    TlsConnector::from(Arc::new(config)).connect(ServerName::try_from(name.to_owned()).unwrap(), stream).await
}

/// Takes any certificate, as an authority does that wants a proof: it has an extension that visitors must refuse.
#[derive(Debug)]
pub struct Credulous;

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
        provider().signature_verification_algorithms.supported_schemes()
    }
}

/// One kept connection.
pub enum SecuredVisitor {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: String,
}

impl SecuredVisitor {
    pub async fn connect(edge: SocketAddr, name: &str, config: ClientConfig) -> std::io::Result<Self> {
        let stream = handshake(edge, name, config).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        Ok(match is_http2 {
            true => {
                let made = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
                let (sender, connection) = made.map_err(std::io::Error::other)?;
                tokio::spawn(connection);
                Self::Http2(sender)
            }
            false => {
                let (sender, connection) =
                    http1::handshake(TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
                tokio::spawn(connection.with_upgrades());
                Self::Http1(sender)
            }
        })
    }

    pub async fn get(&mut self, host: &str, path: &str) -> hyper::Result<Answer> {
        let request = match self {
            Self::Http1(_) => Request::get(path).header("host", host),
            Self::Http2(_) => Request::get(format!("https://{host}{path}")),
        };
        self.send(request.body(Full::default()).unwrap()).await
    }

    pub async fn post(&mut self, host: &str, path: &str, body: Bytes) -> hyper::Result<Answer> {
        let request = match self {
            Self::Http1(_) => Request::post(path).header("host", host),
            Self::Http2(_) => Request::post(format!("https://{host}{path}")),
        };
        self.send(request.body(Full::new(body)).unwrap()).await
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Answer> {
        let answer = match self {
            Self::Http1(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Self::Http2(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        let (head, body) = answer.into_parts();
        let body = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }
}
