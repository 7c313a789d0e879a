//! The slot of a job among those that are worked on at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Given back when it is dropped.
pub struct Slot {
    held: OwnedSemaphorePermit,
    /// Slots of jobs that only wait.
    waiting: Arc<Semaphore>,
    is_left: bool,
}

impl Slot {
    pub fn new(held: OwnedSemaphorePermit, waiting: Arc<Semaphore>) -> Self {
        Self { held, waiting, is_left: false }
    }

    /// Leaves the slot to another job, because this one mostly waits from now on. When too many wait already it is kept,
    /// so that no more are begun; the job tries again later on. True when the slot has become free.
    pub fn leave_to_wait(&mut self) -> bool {
        if self.is_left {
            return false;
        }
        match self.waiting.clone().try_acquire_owned() {
            Ok(slot) => {
                self.held = slot;
                self.is_left = true;
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
        let slot = || working.clone().try_acquire_owned().map(|held| Slot::new(held, waiting.clone()));
        let mut first = slot().unwrap();
        assert!(slot().is_err());
        assert!(first.leave_to_wait());
        assert!(!first.leave_to_wait(), "it is left already");
        let mut second = slot().unwrap();
        assert!(!second.leave_to_wait());
        assert!(slot().is_err());
        drop(first);
        assert!(second.leave_to_wait());
        assert!(slot().is_ok());
    }
}
