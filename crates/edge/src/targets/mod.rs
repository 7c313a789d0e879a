//! One instance that answers requests: how many are in it, whether more may enter, and how it is emptied.

pub mod connect;
pub mod counters;
mod health;
pub mod hold;
mod pool;
pub mod service;
pub mod stats;
mod tasks;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use self::counters::Counters;
use self::health::TargetHealth;
use self::pool::Pool;
pub use self::pool::Sender;
use self::stats::TargetStats;
use self::tasks::Tasks;

/// No request may enter any more.
const DRAINING: usize = 1 << (usize::BITS - 1);
/// The requests that are still in are being cut.
const CUT: usize = 1 << (usize::BITS - 2);
const COUNT: usize = CUT - 1;

pub struct Target {
    pub address: SocketAddr,
    /// How many requests are in, and whether more may enter: one word, so that there is no moment in between.
    word: AtomicUsize,
    /// How many were in when the drain began.
    drained_from: AtomicUsize,
    /// How many were cut.
    cut: AtomicUsize,
    empty: Notify,
    pub counters: Counters,
    pub health: TargetHealth,
    /// Kept connections, for each worker its own.
    pools: Box<[Pool]>,
    tasks: Arc<Tasks>,
    /// Whether only a program of the edge's own user is spoken to.
    of_this_user: bool,
}

/// What became of the requests that were in flight when a drain began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drained {
    pub in_flight: u64,
    pub finished: u64,
    pub cut: u64,
}

impl Drained {
    pub fn add(&mut self, other: Self) {
        self.in_flight += other.in_flight;
        self.finished += other.finished;
        self.cut += other.cut;
    }
}

impl Target {
    pub fn new(address: SocketAddr, workers: usize) -> Self {
        Self {
            address,
            word: AtomicUsize::new(0),
            drained_from: AtomicUsize::new(0),
            cut: AtomicUsize::new(0),
            empty: Notify::new(),
            counters: Counters::default(),
            health: TargetHealth::default(),
            pools: (0..workers).map(|_| Pool::default()).collect(),
            tasks: Arc::default(),
            of_this_user: false,
        }
    }

    /// The same, but only if a program of the edge's own user listens there.
    pub fn of_this_user(address: SocketAddr, workers: usize) -> Self {
        Self { of_this_user: true, ..Self::new(address, workers) }
    }

    /// Lets a request into this target, unless it is draining.
    pub fn enter(self: &Arc<Self>) -> Option<TargetEntry> {
        let mut word = self.word.load(Ordering::Acquire);
        while word & DRAINING == 0 {
            match self.word.compare_exchange_weak(word, word + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(TargetEntry(self.clone())),
                Err(now) => word = now,
            }
        }
        None
    }

    pub fn stats(&self) -> TargetStats {
        TargetStats {
            address: self.address,
            is_well: self.health.is_well(),
            is_draining: self.is_draining(),
            figures: self.counters.figures(),
        }
    }

    pub fn in_flight(&self) -> usize {
        self.word.load(Ordering::Acquire) & COUNT
    }

    pub fn is_draining(&self) -> bool {
        self.word.load(Ordering::Acquire) & DRAINING != 0
    }

    pub fn is_cut(&self) -> bool {
        self.word.load(Ordering::Acquire) & CUT != 0
    }

    /// From now on no request enters.
    pub fn close(&self) {
        let before = self.word.fetch_or(DRAINING, Ordering::AcqRel);
        if before & DRAINING == 0 {
            self.drained_from.store(before & COUNT, Ordering::Release);
            self.pools.iter().for_each(Pool::clear);
        }
    }

    /// Waits until no request is in any more; those that are still in at the deadline are cut.
    pub async fn drain(&self, deadline: Instant) -> Drained {
        self.close();
        let _ = tokio::time::timeout_at(deadline.into(), self.emptied()).await;
        self.cut();
        self.draining()
    }

    /// Ends the requests that are still in. The first time counts: a second drain is told the same.
    pub fn cut(&self) {
        let before = self.word.fetch_or(CUT, Ordering::AcqRel);
        if before & CUT == 0 {
            self.cut.store(before & COUNT, Ordering::Release);
        }
        self.tasks.cut();
    }

    /// What has become so far of those that were in when the drain began.
    pub fn draining(&self) -> Drained {
        let (in_flight, is_cut) = (self.drained_from.load(Ordering::Acquire), self.is_cut());
        let cut = if is_cut { self.cut.load(Ordering::Acquire) } else { 0 };
        let left = if is_cut { cut } else { self.in_flight() };
        Drained { in_flight: in_flight as u64, finished: in_flight.saturating_sub(left) as u64, cut: cut as u64 }
    }

    async fn emptied(&self) {
        loop {
            let emptied = self.empty.notified();
            if self.in_flight() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// A worker's kept connection that is ready for a request.
    pub fn kept_connection(&self, worker: usize) -> Option<Sender> {
        self.pool(worker).take()
    }

    /// Keeps a connection for the worker's next request.
    pub fn keep_connection(&self, worker: usize, sender: Sender) {
        // Asked under the pool's lock: `close` empties the pools after it has set the word.
        self.pool(worker).keep(sender, || !self.is_draining());
    }

    /// To be called once a second by each worker: closes the connections that it has not used for too long.
    pub fn sweep_connections(&self, worker: usize) {
        self.pool(worker).tick();
    }

    fn pool(&self, worker: usize) -> &Pool {
        // There is a pool for every worker; a target outlives no change of their number.
        &self.pools[worker % self.pools.len()]
    }

    /// Runs something that must end when this target's requests are cut.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(task);
    }
}

/// A request that is in a target, until its last byte.
pub struct TargetEntry(Arc<Target>);

impl TargetEntry {
    pub fn target(&self) -> &Arc<Target> {
        &self.0
    }
}

impl Drop for TargetEntry {
    fn drop(&mut self) {
        let before = self.0.word.fetch_sub(1, Ordering::AcqRel);
        if before & DRAINING != 0 && before & COUNT == 1 {
            self.0.empty.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A request that found the target in the table of before comes too late, however short a while that is.
    #[tokio::test]
    async fn nothing_enters_a_target_that_is_draining() {
        let target = Arc::new(Target::new("127.0.0.1:9".parse().unwrap(), 1));
        let entry = target.enter().expect("it is open");
        target.close();
        assert!(target.enter().is_none());
        assert_eq!((target.in_flight(), target.is_draining()), (1, true));
        drop(entry);
        assert!(target.enter().is_none());
        let drained = target.drain(Instant::now() + Duration::from_secs(10)).await;
        assert_eq!(drained, Drained { in_flight: 1, finished: 1, cut: 0 });
    }
}
