//! The place that a job has among those that are worked on at once.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Given back when it is dropped.
pub struct Place {
    held: OwnedSemaphorePermit,
    /// Places of those who only wait for their container to be well.
    starting: Arc<Semaphore>,
}

impl Place {
    pub fn new(held: OwnedSemaphorePermit, starting: Arc<Semaphore>) -> Self {
        Self { held, starting }
    }

    /// Leaves the place to another job, because this one only waits from now on. When too many wait already it is kept, so that no
    /// more are begun. True when the place is free.
    pub fn leave_to_wait(&mut self) -> bool {
        match self.starting.clone().try_acquire_owned() {
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
    fn who_waits_makes_room_as_long_as_there_is_some() {
        let (building, starting) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
        let place = || building.clone().try_acquire_owned().map(|held| Place::new(held, starting.clone()));
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
