//! Why an attempt came to nothing.

use windlass_acme::AcmeError;
use windlass_dns::DnsError;
use windlass_zone::ZoneError;

use crate::error::Error;

pub type Result<T> = std::result::Result<T, Stopped>;

pub enum Stopped {
    /// The row is to say why, and it is tried again later.
    Failed(Problem),
    /// Something of our own does not work: nothing is known about the domain.
    Here(Error),
    /// The order is gone, or another worker's.
    Lost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub words: String,
    pub kind: ProblemKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The authority was not asked yet.
    Preflight,
    /// It was asked, and counts that.
    Refused,
    /// Something of our own does not work.
    Here,
    /// It does not answer. What is under way there may still be gone on with.
    Unreachable,
    /// It wants to be asked less.
    RateLimited,
    /// The account is of no more use; another is made for the next attempt.
    BadAccount,
}

impl Problem {
    pub fn preflight(words: impl Into<String>) -> Self {
        Self { words: words.into(), kind: ProblemKind::Preflight }
    }

    pub fn refused(words: impl Into<String>) -> Self {
        Self { words: words.into(), kind: ProblemKind::Refused }
    }

    pub fn rate_limited(words: impl Into<String>) -> Self {
        Self { words: words.into(), kind: ProblemKind::RateLimited }
    }
}

impl From<Problem> for Stopped {
    fn from(problem: Problem) -> Self {
        Self::Failed(problem)
    }
}

impl From<AcmeError> for Stopped {
    fn from(error: AcmeError) -> Self {
        let kind = match error {
            AcmeError::Unreachable(_) => ProblemKind::Unreachable,
            AcmeError::RateLimited(_) => ProblemKind::RateLimited,
            AcmeError::BadAccount(_) => ProblemKind::BadAccount,
            AcmeError::OrderGone(_) | AcmeError::Unsupported | AcmeError::Refused(_) => ProblemKind::Refused,
        };
        Self::Failed(Problem { words: error.to_string(), kind })
    }
}

impl From<DnsError> for Stopped {
    fn from(error: DnsError) -> Self {
        Problem::preflight(format!("DNS could not be asked: {error}. It is tried again.")).into()
    }
}

impl From<ZoneError> for Stopped {
    /// The authority was not asked to look yet, and counts nothing.
    fn from(error: ZoneError) -> Self {
        let kind = if error.is_temporary() { ProblemKind::Unreachable } else { ProblemKind::Preflight };
        Self::Failed(Problem { words: format!("The record that proves the domain could not be set. {error}"), kind })
    }
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Here(error)
    }
}

impl From<windlass_store::Error> for Stopped {
    fn from(error: windlass_store::Error) -> Self {
        match error {
            windlass_store::Error::Lost => Self::Lost,
            other => Self::Here(other.into()),
        }
    }
}
