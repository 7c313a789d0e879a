//! Heavy work that requests begin: some at once, and one at a time for each organization and each user.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

use crate::error::{Error, Result};

/// When a caller for whom there is no turn may try again.
const RETRY_SECONDS: u64 = 5;

pub struct Turns {
    /// What it is, for the message.
    what: &'static str,
    all: Arc<Semaphore>,
    /// Ids of organizations and users.
    taken: Mutex<HashSet<Uuid>>,
}

/// Held until the work is done.
pub struct Turn {
    turns: Arc<Turns>,
    ids: [Uuid; 2],
    _permit: OwnedSemaphorePermit,
}

impl Turns {
    pub fn new(what: &'static str, limit: usize) -> Arc<Self> {
        Arc::new(Self { what, all: Arc::new(Semaphore::new(limit)), taken: Mutex::default() })
    }

    pub fn take(self: &Arc<Self>, organization_id: Uuid, user_id: Uuid) -> Result<Turn> {
        let busy =
            |whose| Error::rate_limited(format!("{} is under way {whose}. Try again.", self.what), RETRY_SECONDS);
        let permit = self.all.clone().try_acquire_owned().map_err(|_| busy("too often on this server"))?;
        let ids = [organization_id, user_id];
        let mut taken = self.taken.lock();
        if ids.iter().any(|id| taken.contains(id)) {
            return Err(busy("in this organization, or by you"));
        }
        taken.extend(ids);
        drop(taken);
        Ok(Turn { turns: self.clone(), ids, _permit: permit })
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = self.turns.taken.lock();
        for id in self.ids {
            taken.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_some_at_once_and_one_for_each_organization_and_user() {
        let turns = Turns::new("Something", 2);
        let [one, two, three, ada, eve, ida] = [1, 2, 3, 4, 5, 6].map(Uuid::from_u128);
        let first = turns.take(one, ada).unwrap();
        for (organization, user) in [(one, eve), (two, ada)] {
            assert!(turns.take(organization, user).err().unwrap().message.contains("in this organization, or by you"));
        }
        let second = turns.take(two, eve).unwrap();
        assert!(turns.take(three, ida).err().unwrap().message.contains("on this server"));
        drop(first);
        let third = turns.take(three, ada).unwrap();
        drop((second, third));
        assert!(turns.take(one, eve).is_ok());
    }
}
