//! The newest lines of applications that clients follow, so that a hundred followers do not read them a hundred times.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OnceCell, watch};
use uuid::Uuid;
use windlass_store::logs::Stored;

/// Lines that were stored together. They follow one another.
pub struct Published {
    pub lines: Vec<Stored>,
    /// As events, made by the first follower that needs them while the others wait, without keeping a thread.
    pub plain_events: OnceCell<Bytes>,
    /// The same with colours.
    pub colored_events: OnceCell<Bytes>,
}

impl Published {
    pub fn first_seq(&self) -> i64 {
        self.lines.first().map_or(i64::MAX, |line| line.seq)
    }

    pub fn last_seq(&self) -> i64 {
        self.lines.last().map_or(0, |line| line.seq)
    }
}

type Tail = watch::Sender<Option<Arc<Published>>>;

/// One for each application with followers.
#[derive(Default)]
pub struct Tails(Mutex<HashMap<Uuid, Tail>>);

impl Tails {
    pub fn watch(&self, application_id: Uuid) -> watch::Receiver<Option<Arc<Published>>> {
        let mut tails = self.followed();
        tails.entry(application_id).or_insert_with(|| watch::channel(None).0).subscribe()
    }

    /// Only the newest is kept: a follower that has missed one reads the store.
    pub fn publish(&self, application_id: Uuid, lines: Vec<Stored>) {
        if let Some(tail) = self.followed().get(&application_id) {
            tail.send_replace(Some(Arc::new(Published {
                lines,
                plain_events: OnceCell::new(),
                colored_events: OnceCell::new(),
            })));
        }
    }

    pub fn has_followers(&self, application_id: Uuid) -> bool {
        self.followed().contains_key(&application_id)
    }

    /// Without those whose last follower has gone.
    fn followed(&self) -> MutexGuard<'_, HashMap<Uuid, Tail>> {
        let mut tails = self.0.lock();
        tails.retain(|_, tail| tail.receiver_count() > 0);
        tails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_followed_is_forgotten() {
        let (tails, id) = (Tails::default(), Uuid::from_u128(1));
        assert!(!tails.has_followers(id));
        let (first, second) = (tails.watch(id), tails.watch(id));
        drop(first);
        assert!(tails.has_followers(id));
        drop(second);
        assert!(!tails.has_followers(id));
        assert!(tails.0.lock().is_empty());
    }
}
