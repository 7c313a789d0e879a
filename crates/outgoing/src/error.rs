//! What can go wrong with a call, sorted by what a person must hear. Nothing of the request but its host is ever in it:
//! paths, queries and headers can hold secrets.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use crate::tls::UNKNOWN_ISSUER;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error("The address cannot be called: it {reason}.")]
    BadUrl { reason: &'static str },
    #[error("The name {host} does not exist.")]
    NameNotFound { host: String },
    /// Not the same as not to exist: the name's servers gave no answer, or not in time.
    #[error("The name {host} cannot be looked up at the moment.")]
    LookupFailed { host: String },
    /// The turns are shared by all.
    #[error("Too many names are being looked up at the moment, so {host} was not. Try again in a moment.")]
    LookupsBusy { host: String },
    /// Does not say which address: that would tell a tenant what the machine's own network looks like.
    #[error("The host {host} leads to a private address.")]
    PrivateAddress { host: String },
    #[error("Nothing accepts connections at {address}.")]
    Refused { address: SocketAddr },
    #[error("The host {host} cannot be reached: {reason}.")]
    Unreachable { host: String, reason: String },
    #[error("The connection to {host} cannot be secured: {reason}.")]
    TlsFailed { host: String, reason: String },
    #[error("This machine has no trusted root certificates, so no https address can be called.")]
    NoRoots,
    /// The server may have carried the request out.
    #[error("The host {host} took more than {} to answer.", seconds(.limit))]
    TimedOut { host: String, limit: Duration },
    /// The server may have carried the request out.
    #[error("The host {host} closed the connection before its answer was complete.")]
    ClosedEarly { host: String },
    #[error("The answer of {host} is longer than {limit} bytes.")]
    TooLarge { host: String, limit: usize },
    #[error("The answer of {host} is not HTTP.")]
    BadAnswer { host: String },
}

impl CallError {
    /// Whether others may trust the server that this machine does not.
    pub fn is_unknown_issuer(&self) -> bool {
        matches!(self, Self::TlsFailed { reason, .. } if reason == UNKNOWN_ISSUER)
    }

    /// Whether the same call may succeed in a while, without a change by a person.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::LookupFailed { .. }
            | Self::LookupsBusy { .. }
            | Self::Refused { .. }
            | Self::Unreachable { .. }
            | Self::TimedOut { .. }
            | Self::ClosedEarly { .. } => true,
            Self::BadUrl { .. }
            | Self::NameNotFound { .. }
            | Self::PrivateAddress { .. }
            | Self::TlsFailed { .. }
            | Self::NoRoots
            | Self::TooLarge { .. }
            | Self::BadAnswer { .. } => false,
        }
    }
}

/// A file of root certificates that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("The root certificates in {} cannot be used: {reason}.", .path.display())]
pub struct RootsError {
    pub path: PathBuf,
    pub reason: String,
}

fn seconds(limit: &Duration) -> String {
    format!("{} s", limit.as_secs_f64())
}
