//! Mails to servers on this machine, and peers that say what a test tells them to.

use std::io::Write;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use windlass_outgoing::{Outgoing, Settings};
use windlass_smtp::{Credentials, Limits, Mail, Security, Sender, Sent, Server, SmtpError, send};
use windlass_testing::smtp::SmtpServer;

/// Longer than anything here takes on a busy machine.
pub const LIMITS: Limits = Limits { step: Duration::from_secs(30), whole: Duration::from_secs(60) };

pub fn mail() -> Mail {
    Mail {
        from: Sender { name: "Windlass".to_owned(), address: "windlass@example.org".to_owned() },
        to: vec!["ada@example.org".to_owned()],
        subject: "shop failed to deploy".to_owned(),
        text: "The build ended with code 1.\n".to_owned(),
        html: Some("<p>The build ended with code 1.</p>\n".to_owned()),
        message_id: "0198a3@windlass.example.org".to_owned(),
        date: SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_074_870),
    }
}

pub fn server(port: u16, security: Security) -> Server {
    Server { host: "127.0.0.1".to_owned(), port, security, credentials: None }
}

pub fn with_login(port: u16, security: Security) -> Server {
    let credentials = Credentials { user: "ada".to_owned(), password: "käse\" \\".to_owned() };
    Server { credentials: Some(credentials), ..server(port, security) }
}

/// Trusts what this server's certificate is from.
pub async fn trusting(server: &SmtpServer) -> Outgoing {
    let mut roots = NamedTempFile::new().unwrap();
    roots.write_all(server.certificate().as_bytes()).unwrap();
    let settings = Settings { allow_private: true, extra_roots: Some(roots.path().to_owned()) };
    Outgoing::new(settings).await.unwrap()
}

pub async fn local() -> Outgoing {
    Outgoing::new(Settings { allow_private: true, extra_roots: None }).await.unwrap()
}

pub async fn sent_to(address: SocketAddr) -> Result<Sent, SmtpError> {
    send(&server(address.port(), Security::None), &mail(), LIMITS, &local().await).await
}

/// A peer that greets with the first of these texts and gives the next one for each line it reads; then it closes. What it has read
/// comes out of the channel.
pub async fn scripted(says: &[&str]) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let says: Vec<String> = says.iter().map(|text| (*text).to_owned()).collect();
    let (heard, hears) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        talk(stream, says, &heard).await;
    });
    (address, hears)
}

async fn talk(stream: TcpStream, says: Vec<String>, heard: &mpsc::UnboundedSender<String>) {
    let mut stream = BufReader::new(stream);
    for (place, text) in says.iter().enumerate() {
        let mut line = String::new();
        if place > 0 && stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        let _ = heard.send(line);
        // The client may have heard enough.
        let _ = stream.write_all(text.as_bytes()).await;
    }
}

/// A peer that takes the connection and says nothing more than this.
pub async fn silent_after(text: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        // Until the client has gone.
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    });
    address
}
