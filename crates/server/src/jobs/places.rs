//! The place of a job among those that are worked on at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Given back when it is dropped.
pub struct Place {
    held: OwnedSemaphorePermit,
    /// Places of jobs that only wait.
    waiting: Arc<Semaphore>,
}

impl Place {
    pub fn new(held: OwnedSemaphorePermit, waiting: Arc<Semaphore>) -> Self {
        Self { held, waiting }
    }

    /// Leaves the place to another job, because this one only waits from now on. When too many wait already it is kept, so that no
    /// more are begun. True when the place is free.
    pub fn leave_to_wait(&mut self) -> bool {
        match self.waiting.clone().try_acquire_owned() {
            Ok(place) => {
                self.held = place;
                true
            }
            Err(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_waits_makes_room_as_long_as_there_is_some() {
        let (working, waiting) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
        let place = || working.clone().try_acquire_owned().map(|held| Place::new(held, waiting.clone()));
        let mut first = place().unwrap();
        assert!(place().is_err());
        assert!(first.leave_to_wait());
        let mut second = place().unwrap();
        assert!(!second.leave_to_wait());
        assert!(place().is_err());
        drop(first);
        assert!(second.leave_to_wait());
        assert!(place().is_ok());
    }
}
