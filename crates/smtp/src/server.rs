//! The server that takes the mail, and what sending to it gives.

use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::{Answer, Rejected};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// A name or an address.
    pub host: String,
    pub port: u16,
    pub security: Security,
    pub credentials: Option<Credentials>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Security {
    /// Everything in the clear, credentials too. Chosen by name for relays on the operator's own machine or network, which often
    /// have no certificate; nothing falls back to it.
    None,
    /// In the clear until the server has agreed to TLS. A server that does not offer it gets neither credentials nor mail.
    Starttls,
    /// TLS from the first byte.
    Tls,
}

#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub user: String,
    pub password: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For each answer, each write, the connection and the handshake.
    pub step: Duration,
    /// For all of them.
    pub whole: Duration,
}

/// The mail is the server's now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Recipients that the server refused; the others have it.
    pub rejected: Vec<Rejected>,
    /// The last word of the server, which often names the mail in its queue.
    pub answer: Answer,
}

/// What is shorter is found in answers by chance.
const SHORTEST_SECRET: usize = 4;

impl Credentials {
    /// As `AUTH PLAIN` sends them.
    pub(crate) fn plain(&self) -> String {
        STANDARD.encode(format!("\0{}\0{}", self.user, self.password))
    }

    /// Every form in which they are sent, and a server may quote them; the longest first.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let mut secrets = vec![self.plain(), STANDARD.encode(&self.password), self.password.clone()];
        secrets.retain(|secret| secret.len() >= SHORTEST_SECRET);
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self { step: Duration::from_secs(20), whole: Duration::from_secs(60) }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}
