//! Why files in Git LFS were not fetched.

use windlass_outgoing::CallError;

use super::Lfs;
use crate::deploy::git::error::FetchError;

/// Each says what happened and what to do.
#[derive(Debug, thiserror::Error)]
pub enum LfsProblem {
    #[error("{why}. Change .lfsconfig, or store the files in git itself.")]
    Refused { why: String },
    #[error(
        "the server does not give them: {text}. Check that it has Git LFS, and that the repository_token or key may read it."
    )]
    Unreachable { text: String },
    #[error("{text}. Push them: git lfs push --all origin")]
    Missing { text: String },
}

impl Lfs<'_> {
    pub fn problem(&self, problem: LfsProblem) -> FetchError {
        FetchError::Lfs { path: self.example.clone(), problem }
    }

    pub fn refused(&self, why: impl Into<String>) -> FetchError {
        self.problem(LfsProblem::Refused { why: why.into() })
    }

    /// With what a server said, which may be anything.
    pub fn unreachable(&self, text: &str) -> FetchError {
        self.problem(LfsProblem::Unreachable { text: self.run.for_people(text.as_bytes()) })
    }

    pub fn missing(&self, text: &str) -> FetchError {
        self.problem(LfsProblem::Missing { text: self.run.for_people(text.as_bytes()) })
    }

    pub fn call_failed(&self, error: &CallError) -> FetchError {
        match error {
            CallError::TimedOut { .. } => FetchError::TimedOut { limit: self.run.limits().time },
            CallError::PrivateAddress { host } => self.refused(format!(
                "its host {host} has an address in a private network, and is not the repository's own"
            )),
            error => self.unreachable(error.to_string().trim_end_matches('.')),
        }
    }
}
