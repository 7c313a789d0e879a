//! The server that takes the mail, and what sending to it gives.

use std::fmt;
use std::time::Duration;

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
