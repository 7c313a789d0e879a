//! A mail server: takes mails over real sockets and keeps them, and misbehaves where a test tells it to.

mod mail;
mod session;

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use crate::certificates::pem;
pub use mail::Mail;

const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Security {
    /// It offers no TLS.
    #[default]
    None,
    /// It takes no mail before the client has switched to TLS.
    Starttls,
    Tls,
}

/// What the server is like.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    pub security: Security,
    /// Name and password, without which it takes no mail.
    pub login: Option<(&'static str, &'static str)>,
    /// How a client can log in: `PLAIN`, `LOGIN` or both.
    pub mechanisms: &'static str,
    /// Whom its certificate is for.
    pub certificate_for: &'static str,
    pub is_certificate_expired: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            security: Security::None,
            login: None,
            mechanisms: "PLAIN LOGIN",
            certificate_for: "127.0.0.1",
            is_certificate_expired: false,
        }
    }
}

/// What it does at a command in place of the usual.
#[derive(Clone, Debug)]
enum Deed {
    Say(String),
    Hang,
    Close,
}

/// Serves for as long as it lives, on a thread of its own, so that a test may block.
pub struct SmtpServer {
    shared: Arc<Shared>,
    address: SocketAddr,
    certificate: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    manner: Manner,
    acceptor: TlsAcceptor,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    mails: Vec<Mail>,
    connections: usize,
    /// The beginnings of commands, and what is done at them. The last one goes before those before it.
    deeds: Vec<(String, Deed)>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic while it was held")
    }

    fn deed_at(&self, command: &str) -> Option<Deed> {
        let command = command.to_ascii_uppercase();
        let state = self.state();
        let found = state.deeds.iter().rev().find(|(beginning, _)| command.starts_with(beginning.as_str()));
        found.map(|(_, deed)| deed.clone())
    }
}

impl SmtpServer {
    /// On a free port of 127.0.0.1, without TLS; it takes all mails of all clients.
    pub fn start() -> Self {
        Self::with(Manner::default())
    }

    pub fn with(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (acceptor, certificate) = tls_of(manner);
        let shared = Arc::new(Shared { manner, acceptor, state: Mutex::default() });
        let (stop, stopped) = oneshot::channel();
        let served = shared.clone();
        let thread = std::thread::spawn(move || session::run(listener, stopped, &served));
        Self { shared, address, certificate, stop: Some(stop), thread: Some(thread) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The root of its certificate, in PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Answers commands that begin so with this line from now on, such as `550 5.1.1 No such user` for `RCPT TO:<eve@`. `CONNECT` is what
    /// it greets with, `END` what it says to the end of a mail, which it does not keep then.
    pub fn say(&self, command: &str, line: &str) {
        self.do_at(command, Deed::Say(line.to_owned()));
    }

    /// Says nothing to them.
    pub fn hang_at(&self, command: &str) {
        self.do_at(command, Deed::Hang);
    }

    /// Closes the connection at them.
    pub fn close_at(&self, command: &str) {
        self.do_at(command, Deed::Close);
    }

    fn do_at(&self, command: &str, deed: Deed) {
        self.shared.state().deeds.push((command.to_ascii_uppercase(), deed));
    }

    /// Behaves again.
    pub fn go_on(&self) {
        self.shared.state().deeds.clear();
    }

    /// Those that were taken, in that order.
    pub fn mails(&self) -> Vec<Mail> {
        self.shared.state().mails.clone()
    }

    /// All mails, as soon as there are so many.
    pub async fn wait_for(&self, count: usize) -> Vec<Mail> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let mails = self.mails();
            if mails.len() >= count {
                return mails;
            }
            assert!(Instant::now() < deadline, "{} mails instead of {count}: {mails:?}", mails.len());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// How many clients have connected so far.
    pub fn connections(&self) -> usize {
        self.shared.state().connections
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The server's side of TLS, and the root of its certificate in PEM.
fn tls_of(manner: Manner) -> (TlsAcceptor, String) {
    let mut root = CertificateParams::new([]).expect("no names");
    root.distinguished_name.push(DnType::CommonName, "Windlass Tests: mail");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = CertifiedIssuer::self_signed(root, KeyPair::generate().expect("a key")).expect("a certificate");
    let mut params = CertificateParams::new([manner.certificate_for.to_owned()]).expect("a name");
    if manner.is_certificate_expired {
        params.not_after = date_time_ymd(2020, 1, 1);
    }
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, &root).expect("a certificate");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], PrivateKeyDer::Pkcs8(key.serialize_der().into()))
        .expect("a certificate with its key");
    (TlsAcceptor::from(Arc::new(config)), pem("CERTIFICATE", root.der()))
}
