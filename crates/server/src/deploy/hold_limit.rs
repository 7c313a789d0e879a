//! The time that a deployment has while visitors wait for it.

use std::time::Duration;

use tokio::time::Instant;
use windlass_api::Failure;

use super::failure::{Result, failed};

/// Visitors are waiting.
pub struct Hold {
    began: Instant,
    /// How long visitors wait at most.
    pub limit: Duration,
}

impl Hold {
    /// Some of the time may have passed already.
    pub fn new(limit: Duration, passed: Duration) -> Self {
        let now = Instant::now();
        Self { began: now.checked_sub(passed).unwrap_or(now), limit }
    }

    pub fn passed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Later than this the new containers are of no use: the old ones need the rest of the time.
    fn gives_up_at(&self) -> Instant {
        self.began + for_new_release(self.limit)
    }

    pub fn time_left(&self) -> Duration {
        self.gives_up_at().saturating_duration_since(Instant::now())
    }

    /// Runs a step that visitors wait for, and ends it in time.
    pub async fn during<T>(&self, what: &str, step: impl Future<Output = Result<T>>) -> Result<T> {
        match tokio::time::timeout_at(self.gives_up_at(), step).await {
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
