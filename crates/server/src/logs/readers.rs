//! Who reads log lines at present: bounded, so that nobody takes the whole machine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;
use windlass_api::{Can, ErrorCode};
use windlass_store::logs::Bounds;

use crate::app::App;
use crate::auth::Ctx;
use crate::error::{Error, Result};

/// Searches at once: each can keep a core busy.
const SEARCHES: usize = 2;
const HEARTBEAT: Duration = Duration::from_secs(15);
/// When somebody for whom there is no place may try again.
const RETRY_SECONDS: u64 = 10;

pub struct Readers {
    /// How many places each organization has taken.
    places: Mutex<HashMap<Uuid, usize>>,
    searches: Arc<Semaphore>,
    /// Of the organizations that search, or wait for it: one search each, so that nobody keeps all others waiting.
    own_searches: Mutex<HashMap<Uuid, Arc<Semaphore>>>,
    /// How often a follower hears something, and how soon the one who may not follow any more is cut off.
    pub heartbeat: Duration,
}

impl Default for Readers {
    fn default() -> Self {
        Self {
            places: Mutex::default(),
            searches: Arc::new(Semaphore::new(SEARCHES)),
            own_searches: Mutex::default(),
            heartbeat: HEARTBEAT,
        }
    }
}

/// The right to search. Whoever does the work holds it, whether or not anybody waits for them.
pub struct Turn {
    _any: Option<OwnedSemaphorePermit>,
    _own: Option<OwnedSemaphorePermit>,
}

impl Readers {
    /// Waits while others search, first of all in the same organization.
    pub async fn turn(&self, organization_id: Uuid) -> Arc<Turn> {
        let own = self.searches_of(organization_id);
        // They are never closed, so neither fails.
        let own = own.acquire_owned().await.ok();
        let any = self.searches.clone().acquire_owned().await.ok();
        Arc::new(Turn { _any: any, _own: own })
    }

    /// For a look into the store. Whoever may look at many more lines than they are given waits for their turn.
    pub async fn bounds(&self, organization_id: Uuid, is_search: bool, lines: usize, limit: Duration) -> Bounds {
        match is_search {
            true => {
                let turn = self.turn(organization_id).await;
                Bounds { lines, until: Instant::now() + limit, turn: Some(turn) }
            }
            false => Bounds { lines, until: Instant::now() + limit, turn: None },
        }
    }

    fn searches_of(&self, organization_id: Uuid) -> Arc<Semaphore> {
        let mut all = self.own_searches.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, own| Arc::strong_count(own) > 1);
        all.entry(organization_id).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }

    fn places(&self) -> MutexGuard<'_, HashMap<Uuid, usize>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Logins end, members leave, applications are deleted. While nobody can tell, whoever could read before still can.
pub async fn may_still_read(ctx: &Ctx, application_id: Uuid) -> bool {
    let look = async { ctx.again().await?.application(application_id, Can::DeployRead).await };
    match look.await {
        Ok(_) => true,
        Err(error) => error.code == ErrorCode::Unavailable,
    }
}

/// The place of one answer that goes on: a follower's, or a download's. It is free again when this goes.
pub struct Place {
    app: Arc<App>,
    pub organization_id: Uuid,
}

impl Place {
    pub fn take(app: &Arc<App>, organization_id: Uuid) -> Result<Self> {
        let most = app.config.log_followers;
        let mut places = app.readers.places();
        let taken = places.entry(organization_id).or_default();
        if *taken >= most {
            let message = format!(
                "The logs of this organization are followed or downloaded {most} times at once, which is the limit."
            );
            return Err(Error::rate_limited(message, RETRY_SECONDS));
        }
        *taken += 1;
        app.metrics.log_followers.inc();
        Ok(Self { app: app.clone(), organization_id })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.app.metrics.log_followers.dec();
        let mut places = self.app.readers.places();
        if let Some(taken) = places.get_mut(&self.organization_id) {
            *taken -= 1;
            if *taken == 0 {
                places.remove(&self.organization_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_organization_has_one_search_at_a_time() {
        let readers = Readers::default();
        let (ours, theirs, others) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let first = readers.turn(ours).await;
        assert!(readers.turn(ours).now_or_never().is_none());
        let second = readers.turn(theirs).now_or_never().expect("a turn");
        let mut third = Box::pin(readers.turn(others));
        assert!(third.as_mut().now_or_never().is_none());
        // Somebody works on, whoever has left.
        let worker = first.clone();
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        drop(worker);
        let third = third.now_or_never().expect("a turn");
        drop((second, third));
        readers.turn(ours).now_or_never().expect("a turn");
        assert_eq!(readers.own_searches.lock().unwrap().len(), 1);
    }
}
