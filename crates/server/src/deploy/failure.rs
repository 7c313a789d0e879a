//! Why a deployment did not end as it should: what class of failure, in which words, or no failure at all.

use std::fmt;

use windlass_api::{ErrorCode, Failure};
use windlass_runtime as runtime;

use super::git::{FetchError, LfsProblem};
use crate::code_host::Failed;
use crate::host::HostError;
use crate::jobs::{Ended, Outcome};
use crate::subject::SubjectError;

/// What ends an attempt before its time.
#[derive(Debug)]
pub enum Interruption {
    /// It will never work like this.
    Failed(Failure, String),
    /// It was asked for.
    Cancelled,
    /// The job is another worker's by now, which goes on with it.
    Lost,
    /// The connection to the container engine broke, or there was none. The job is tried again when the engine answers, some times.
    EngineLost(String),
    /// Something that Windlass itself needs is not there just now. The job is tried again.
    Later(String),
}

pub type Result<T> = std::result::Result<T, Interruption>;

pub fn failed<T>(class: Failure, words: impl fmt::Display) -> Result<T> {
    Err(Interruption::Failed(class, words.to_string()))
}

impl From<windlass_store::Error> for Interruption {
    fn from(error: windlass_store::Error) -> Self {
        match error {
            windlass_store::Error::Lost => Self::Lost,
            error => Self::Later(error.to_string()),
        }
    }
}

impl From<crate::error::Error> for Interruption {
    fn from(error: crate::error::Error) -> Self {
        match error.code {
            ErrorCode::Unavailable | ErrorCode::DiskFull => Self::Later(error.cause.unwrap_or(error.message)),
            _ => Self::Failed(Failure::Internal, error.cause.unwrap_or(error.message)),
        }
    }
}

/// What a code host was asked for before git could fetch.
impl From<Failed> for Interruption {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Here(error) if error.code != ErrorCode::CodeHostFailed => error.into(),
            failed => Self::Failed(Failure::RepositoryUnreachable, failed.words()),
        }
    }
}

impl From<SubjectError> for Interruption {
    fn from(error: SubjectError) -> Self {
        match error {
            // Its row goes with the application's, and so does the job.
            SubjectError::Gone => Self::Lost,
            SubjectError::Later(words) => Self::Later(words),
            SubjectError::Unreadable(words) => Self::Failed(Failure::Internal, words),
        }
    }
}

impl From<HostError> for Interruption {
    fn from(error: HostError) -> Self {
        match error {
            HostError::Engine(error) => error.into(),
            HostError::Unread(unread) => Self::Later(unread.to_string()),
        }
    }
}

impl From<Ended> for Interruption {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Cancelled => Self::Cancelled,
            Ended::Lost => Self::Lost,
        }
    }
}

/// What the worker makes of it. What could not be carried out is tried again: containers that are to go do not stay.
pub fn outcome(ended: Result<()>) -> Outcome {
    match ended {
        Ok(()) => Outcome::Done,
        Err(Interruption::Lost) => Outcome::Lost,
        Err(Interruption::EngineLost(words)) => Outcome::again(words),
        Err(Interruption::Later(words) | Interruption::Failed(_, words)) => Outcome::later(words),
        Err(Interruption::Cancelled) => Outcome::later("it was cancelled"),
    }
}

impl From<crate::route_publisher::RoutesError> for Interruption {
    fn from(error: crate::route_publisher::RoutesError) -> Self {
        Self::Later(error.to_string())
    }
}

impl From<runtime::Error> for Interruption {
    fn from(error: runtime::Error) -> Self {
        use runtime::Error::*;
        if let Some(message) = error.being_removed() {
            return Self::Later(message.to_owned());
        }
        if let Unreachable { .. } = &error {
            return Self::EngineLost(error.to_string());
        }
        let class = match &error {
            TimedOut { .. } => Failure::TimedOut,
            DiskFull { .. } => Failure::DiskFull,
            BuildFailed { .. } => Failure::BuildFailed,
            OutOfMemory { .. } => Failure::OutOfMemory,
            _ => Failure::EngineRefused,
        };
        Self::Failed(class, error.to_string())
    }
}

impl From<FetchError> for Interruption {
    fn from(error: FetchError) -> Self {
        let mut cause = &error;
        while let FetchError::Submodule { error, .. } | FetchError::History { error } = cause {
            cause = error;
        }
        let class = match cause {
            FetchError::ReferenceNotFound { .. } => Failure::ReferenceNotFound,
            FetchError::Damaged { .. } | FetchError::Lfs { problem: LfsProblem::Missing { .. }, .. } => {
                Failure::RepositoryDamaged
            }
            FetchError::SubmoduleRefused { .. }
            | FetchError::TooManySubmodules { .. }
            | FetchError::SubmodulesTooDeep { .. }
            | FetchError::Lfs { problem: LfsProblem::Refused { .. }, .. }
            | FetchError::TooLarge { .. }
            | FetchError::TooManyFiles { .. }
            | FetchError::TooMuchMemory { .. } => Failure::RepositoryUnsupported,
            FetchError::TimedOut { .. } => Failure::TimedOut,
            FetchError::DiskFull { .. } => Failure::DiskFull,
            FetchError::GitMissing
            | FetchError::PrlimitMissing
            | FetchError::Submodule { .. }
            | FetchError::History { .. }
            | FetchError::SshMissing
            | FetchError::ReadOnly { .. } => Failure::Internal,
            FetchError::Unreachable { .. }
            | FetchError::Refused { .. }
            | FetchError::HostKeyChanged { .. }
            | FetchError::Redirected { .. }
            | FetchError::Lfs { problem: LfsProblem::Unreachable { .. }, .. }
            | FetchError::Failed { .. } => Failure::RepositoryUnreachable,
        };
        Self::Failed(class, error.to_string())
    }
}
