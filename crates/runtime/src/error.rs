//! What can go wrong with an engine, sorted by what a caller can do about it.

use std::time::Duration;

pub type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the container engine cannot be reached: {message}")]
    Unreachable { message: String },
    #[error("the container engine took more than {} s to {what}", .limit.as_secs())]
    TimedOut { what: &'static str, limit: Duration },
    #[error("{message}")]
    NotFound { message: String },
    #[error("{message}")]
    Conflict { message: String },
    #[error("the subnet overlaps with another network: {message}")]
    SubnetTaken { message: String },
    #[error("the address is in use: {message}")]
    AddressTaken { message: String },
    #[error("the disk is full: {message}")]
    DiskFull { message: String },
    #[error("the container could not be started: {message}")]
    StartFailed { message: String },
    #[error("{step} failed: {message}")]
    BuildFailed { step: String, exit_code: Option<i64>, message: String },
    /// A step of a build was ended by SIGKILL, which in a build is the out-of-memory killer.
    #[error("{step} was killed, most likely because the machine ran out of memory")]
    OutOfMemory { step: String },
    #[error("the build context cannot be read: {message}")]
    Context { message: String },
    #[error("the container engine answered {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("the container engine's answer cannot be understood: {message}")]
    Unreadable { message: String },
}

impl Error {
    pub(crate) fn unreachable(cause: &(dyn std::error::Error + 'static)) -> Self {
        Self::Unreachable { message: with_causes(cause) }
    }

    pub(crate) fn unreadable(cause: impl std::fmt::Display) -> Self {
        Self::Unreadable { message: cause.to_string() }
    }

    /// The engine's words about a container that it is removing, if that is what failed.
    pub fn being_removed(&self) -> Option<&str> {
        match self {
            Self::Conflict { message } | Self::Refused { message, .. } if message.contains("marked for removal") => {
                Some(message)
            }
            _ => None,
        }
    }

    /// Whether a file or folder of a container is not there; the container is.
    pub fn is_missing_file(&self) -> bool {
        matches!(self, Self::NotFound { message } if message.starts_with("Could not find the file"))
    }

    /// Whether the engine's words mean that a program is for another processor.
    pub fn tells_wrong_architecture(message: &str) -> bool {
        message.to_lowercase().contains("exec format error")
    }

    /// What an answer with a status of failure means. The engine has few statuses and reuses them, so its words count.
    pub(crate) fn answered(status: u16, message: String) -> Self {
        let words = message.to_lowercase();
        if words.contains("no space left on device") {
            Self::DiskFull { message }
        } else if words.contains("pool overlaps") || words.contains("non-overlapping ipv4 address pool") {
            Self::SubnetTaken { message }
        } else if words.contains("address already in use") {
            Self::AddressTaken { message }
        } else {
            match status {
                404 => Self::NotFound { message },
                // The engine would rather have another path than one with dots in it; nothing has such a name.
                301 => Self::NotFound { message: "nothing can have that name".to_owned() },
                409 => Self::Conflict { message },
                _ => Self::Refused { status, message },
            }
        }
    }
}

/// hyper says "connection error" and keeps the reason in its source.
fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
