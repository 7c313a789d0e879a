//! The time that a deployment has while visitors wait for it.

use std::time::Duration;

use tokio::time::Instant;
use windlass_api::{Failure, Timestamp};

use super::failure::{Result, failed};

/// Visitors are waiting.
pub struct Hold {
    /// Later than this the new containers are of no use: the old ones need the rest of the time.
    gives_up_at: Instant,
    /// How long visitors wait at most.
    pub limit: Duration,
    pub began: Timestamp,
    /// Requests of the application that had waited at the edge before.
    pub waited_before: u64,
}

impl Hold {
    pub fn new(limit: Duration, began: Timestamp, passed: Duration, waited_before: u64) -> Self {
        let gives_up_at = Instant::now() + for_new_release(limit).saturating_sub(passed);
        Self { gives_up_at, limit, began, waited_before }
    }

    pub fn time_left(&self) -> Duration {
        self.gives_up_at.saturating_duration_since(Instant::now())
    }

    /// Runs a step that visitors wait for, and ends it in time.
    pub async fn during<T>(&self, what: &str, step: impl Future<Output = Result<T>>) -> Result<T> {
        match tokio::time::timeout_at(self.gives_up_at, step).await {
            Ok(done) => done,
            Err(_) => failed(Failure::TimedOut, format!("{what} took too long: {}", self.words())),
        }
    }

    fn words(&self) -> String {
        let seconds = for_new_release(self.limit).as_secs();
        format!(
            "visitors wait for at most {} s (hold-seconds of the server), of which {seconds} are for the new release",
            self.limit.as_secs()
        )
    }
}

/// The rest is for the containers before, to start again and become well.
fn for_new_release(limit: Duration) -> Duration {
    limit * 2 / 3
}
