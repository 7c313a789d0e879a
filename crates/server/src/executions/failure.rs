//! Why a step or an execution did not end as it should.

use std::fmt;

use crate::jobs::Ended;

/// Why a step failed, in words for people.
#[derive(Debug)]
pub struct StepFailure {
    pub words: String,
    /// Of the program that failed.
    pub exit_code: Option<i64>,
    /// Not the step's fault: it is tried again later, or by another worker.
    pub later: Option<Interruption>,
}

pub type StepResult<T> = Result<T, StepFailure>;

impl StepFailure {
    pub fn new(words: impl fmt::Display) -> Self {
        Self { words: words.to_string(), exit_code: None, later: None }
    }

    pub fn exit(what: &str, code: Option<i64>) -> Self {
        let words = match code {
            Some(code) => format!("{what} ended with exit code {code}"),
            None => format!("{what} was ended by a signal"),
        };
        Self { words, exit_code: code, later: None }
    }

    pub fn later(interruption: Interruption) -> Self {
        let words = match &interruption {
            Interruption::Lost => "the work was taken over".to_owned(),
            Interruption::Later(words)
            | Interruption::EngineLost(words)
            | Interruption::Again(words)
            | Interruption::Unreadable(words) => words.clone(),
        };
        Self { words, exit_code: None, later: Some(interruption) }
    }
}

impl From<std::io::Error> for StepFailure {
    fn from(error: std::io::Error) -> Self {
        Self::new(error)
    }
}

impl From<windlass_store::Error> for StepFailure {
    fn from(error: windlass_store::Error) -> Self {
        Self::later(Interruption::from(error))
    }
}

impl From<windlass_runtime::Error> for StepFailure {
    fn from(error: windlass_runtime::Error) -> Self {
        match &error {
            windlass_runtime::Error::Unreachable { .. } => Self::later(Interruption::EngineLost(error.to_string())),
            _ => Self::new(error),
        }
    }
}

impl From<crate::deploy::Interruption> for StepFailure {
    fn from(problem: crate::deploy::Interruption) -> Self {
        use crate::deploy::Interruption as Problem;
        match problem {
            Problem::Failed(_, words) => Self::new(words),
            Problem::Cancelled | Problem::Lost => Self::later(Interruption::Lost),
            Problem::EngineLost(words) => Self::later(Interruption::EngineLost(words)),
            Problem::Later(words) => Self::later(Interruption::Later(words)),
        }
    }
}

impl From<crate::error::Error> for StepFailure {
    fn from(error: crate::error::Error) -> Self {
        match error.code {
            windlass_api::ErrorCode::Unavailable | windlass_api::ErrorCode::DiskFull => {
                Self::later(Interruption::Later(error.cause.unwrap_or(error.message)))
            }
            _ => Self::new(error.cause.unwrap_or(error.message)),
        }
    }
}

/// What ends the work on an execution before its time.
#[derive(Clone, Debug)]
pub enum Interruption {
    /// The job is another worker's by now, or the server is stopping.
    Lost,
    /// Something that Windlass itself needs is not there just now. The job is tried again.
    Later(String),
    /// The container engine does not answer. The job is tried again some times.
    EngineLost(String),
    /// Something was tried and failed. The job is tried again some times.
    Again(String),
    /// Its rows cannot be read.
    Unreadable(String),
}

pub type Result<T, E = Interruption> = std::result::Result<T, E>;

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
        Self::Later(error.cause.unwrap_or(error.message))
    }
}

/// How a step's work ended before it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    TimedOut,
    Cancelled,
    Lost,
}

impl From<Ended> for Break {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::Cancelled => Self::Cancelled,
            Ended::Lost => Self::Lost,
        }
    }
}
