//! Searches of log lines: bounded, so that one organization does not take the whole machine.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;
use windlass_api::ErrorCode;
use windlass_store::logs::Bounds;

use super::follow::Followed;
use crate::auth::Ctx;

/// Searches at once: each can keep a core busy.
const SEARCHES: usize = 2;
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Who may search now, and the heartbeat of those who follow.
pub struct Searches {
    all: Arc<Semaphore>,
    /// Of the organizations that search, or wait for it: one search each, so that none keeps all others waiting.
    own_searches: Mutex<HashMap<Uuid, Arc<Semaphore>>>,
    /// How often a follower hears something, and how soon one that may not follow any more is cut off.
    pub heartbeat: Duration,
}

impl Default for Searches {
    fn default() -> Self {
        Self { all: Arc::new(Semaphore::new(SEARCHES)), own_searches: Mutex::default(), heartbeat: HEARTBEAT }
    }
}

/// The right to search. The thread that does the work holds it, also when the caller has left.
pub struct Turn {
    _any: Option<OwnedSemaphorePermit>,
    _own: Option<OwnedSemaphorePermit>,
}

impl Searches {
    /// Waits while others search, first of all in the same organization.
    pub async fn turn(&self, organization_id: Uuid) -> Arc<Turn> {
        let own = self.searches_of(organization_id);
        // They are never closed, so neither fails.
        let own = own.acquire_owned().await.ok();
        let any = self.all.clone().acquire_owned().await.ok();
        Arc::new(Turn { _any: any, _own: own })
    }

    /// For a look into the store. A caller who may look at many more lines than are answered waits for a turn.
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
        let mut all = self.own_searches.lock();
        all.retain(|_, own| Arc::strong_count(own) > 1);
        all.entry(organization_id).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
    }
}

/// Logins end, members leave, applications are deleted. While the database does not answer, a caller who could read
/// before still can.
pub async fn may_still_read(ctx: &Ctx, followed: Followed) -> bool {
    let look = async {
        let again = ctx.again().await?;
        match followed {
            Followed::Application(id) => again.application(id).await.map(drop),
            Followed::Execution(id) => again.execution(id).await.map(drop),
            Followed::Run(id) => again.run(id).await.map(drop),
        }
    };
    match look.await {
        Ok(()) => true,
        Err(error) => error.code == ErrorCode::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_organization_has_one_search_at_a_time() {
        let searches = Searches::default();
        let (ours, theirs, others) = (Uuid::from_u128(1), Uuid::from_u128(2), Uuid::from_u128(3));
        let first = searches.turn(ours).await;
        assert!(searches.turn(ours).now_or_never().is_none());
        let second = searches.turn(theirs).now_or_never().expect("a turn");
        let mut third = Box::pin(searches.turn(others));
        assert!(third.as_mut().now_or_never().is_none());
        // The work goes on, though the caller has left.
        let worker = first.clone();
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        drop(worker);
        let third = third.now_or_never().expect("a turn");
        drop((second, third));
        searches.turn(ours).now_or_never().expect("a turn");
        assert_eq!(searches.own_searches.lock().len(), 1);
    }
}
