//! Heavy work that requests begin: some at once, and one at a time for each organization and each user.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

use crate::error::{Error, Result};

/// When a caller for whom there is no turn may try again.
const RETRY_SECONDS: u64 = 5;

pub struct Turns {
    /// What it is, for the message.
    what: &'static str,
    limit: usize,
    /// Of organizations and users: the ids of those who have a turn.
    taken: Mutex<Vec<[Uuid; 2]>>,
    ended: Notify,
}

/// Held until the work is done.
pub struct Turn {
    turns: Arc<Turns>,
    ids: [Uuid; 2],
}

impl Turns {
    pub fn new(what: &'static str, limit: usize) -> Arc<Self> {
        Arc::new(Self { what, limit, taken: Mutex::default(), ended: Notify::new() })
    }

    pub fn take(self: &Arc<Self>, organization_id: Uuid, user_id: Uuid) -> Result<Turn> {
        let busy =
            |whose| Error::rate_limited(format!("{} is under way {whose}. Try again.", self.what), RETRY_SECONDS);
        let ids = [organization_id, user_id];
        let mut taken = self.taken.lock();
        if taken.len() >= self.limit {
            return Err(busy("too often on this server"));
        }
        if taken.iter().flatten().any(|id| ids.contains(id)) {
            return Err(busy("in this organization, or by you"));
        }
        taken.push(ids);
        drop(taken);
        Ok(Turn { turns: self.clone(), ids })
    }

    /// Waits for one, but not for ever.
    pub async fn wait(self: &Arc<Self>, organization_id: Uuid, user_id: Uuid, limit: Duration) -> Result<Turn> {
        let deadline = Instant::now() + limit;
        loop {
            // Made before the look, so that it hears of a turn that ends right after it.
            let ended = self.ended.notified();
            let busy = match self.take(organization_id, user_id) {
                Ok(turn) => return Ok(turn),
                Err(busy) => busy,
            };
            if tokio::time::timeout_at(deadline, ended).await.is_err() {
                return Err(Error::unavailable(busy.message, "no turn became free"));
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.taken.lock().retain(|ids| *ids != self.ids);
        self.turns.ended.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use windlass_api::ErrorCode;

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
    #[tokio::test]
    async fn who_waits_has_a_turn_when_one_ends_and_waits_no_longer_than_allowed() {
        let turns = Turns::new("Something", 1);
        let [one, two, ada, eve] = [1, 2, 3, 4].map(Uuid::from_u128);
        let first = turns.take(one, ada).unwrap();
        let refused = turns.wait(two, eve, Duration::from_millis(10)).await.err().unwrap();
        assert_eq!((refused.code, refused.retry_after), (ErrorCode::Unavailable, Some(5)));
        let waiting = turns.clone();
        let second = tokio::spawn(async move { waiting.wait(two, eve, Duration::from_secs(20)).await.is_ok() });
        tokio::time::sleep(Duration::from_millis(10)).await;
        drop(first);
        assert!(second.await.unwrap());
    }
}
