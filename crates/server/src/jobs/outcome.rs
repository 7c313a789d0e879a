//! How an attempt at a job ended.

use std::time::Duration;

/// What has been interrupted is tried again after this time, unless its handler says otherwise.
const REST: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub enum Outcome {
    /// Its last transaction has deleted the job ([`super::Held::done`]).
    Done,
    /// It is to be tried again.
    Later(Later),
    /// It will never work. The worker deletes it.
    Failed(String),
    /// It is another worker's by now, which goes on with it.
    Lost,
}

#[derive(Debug)]
pub struct Later {
    pub after: Duration,
    pub why: String,
    /// Whether something was tried and failed: handlers give up after some attempts.
    pub is_attempt: bool,
}

impl Outcome {
    /// Something that the job needs is not there just now.
    pub fn later(why: impl Into<String>) -> Self {
        Self::Later(Later { after: REST, why: why.into(), is_attempt: false })
    }

    /// It was tried, and failed.
    pub fn again(why: impl Into<String>) -> Self {
        Self::Later(Later { after: REST, why: why.into(), is_attempt: true })
    }
}
