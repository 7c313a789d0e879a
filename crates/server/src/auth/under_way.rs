//! How many requests each user has under way: one user's slow requests leave the server's connections to the others.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::error::{Error, Result};

/// When a user who has too many may try again.
const RETRY_SECONDS: u64 = 1;

/// By user.
#[derive(Clone, Debug, Default)]
pub struct UnderWay(Arc<Mutex<HashMap<Uuid, usize>>>);

/// One of them. It counts until it is dropped.
#[derive(Debug)]
pub struct Counted {
    user_id: Uuid,
    counts: UnderWay,
}

impl UnderWay {
    /// A limit of 0 is none.
    pub fn begin(&self, user_id: Uuid, limit: usize) -> Result<Counted> {
        let mut counts = self.0.lock();
        let count = counts.entry(user_id).or_default();
        if limit > 0 && *count >= limit {
            let message =
                format!("You have {limit} requests under way, which is the limit. Wait until one of them ends.");
            return Err(Error::rate_limited(message, RETRY_SECONDS));
        }
        *count += 1;
        Ok(Counted { user_id, counts: self.clone() })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut counts = self.counts.0.lock();
        match counts.get_mut(&self.user_id) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                counts.remove(&self.user_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_until_dropped_and_keeps_nothing() {
        let under_way = UnderWay::default();
        let (ada, eve) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let first = under_way.begin(eve, 2);
        let second = under_way.begin(eve, 2);
        assert!(first.is_ok() && second.is_ok() && under_way.begin(ada, 2).is_ok());
        assert!(under_way.begin(eve, 2).unwrap_err().message.contains("2 requests"));
        assert!(under_way.begin(eve, 0).is_ok(), "no limit");
        drop(first);
        assert!(under_way.begin(eve, 2).is_ok());
        drop(second);
        assert!(under_way.0.lock().is_empty());
    }
}
