//! One instance that answers requests: who is in it, who may enter, and how it is emptied.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use crate::counters::Counters;
use crate::stats::TargetStats;
use crate::upstream::Pool;

/// Nobody may enter any more.
const DRAINING: usize = 1 << (usize::BITS - 1);
/// Whoever is still in is being cut.
const CUT: usize = 1 << (usize::BITS - 2);
const COUNT: usize = CUT - 1;

/// After a connection fails, the target is passed over for this long, and twice as long after each further failure.
const FIRST_REST: Duration = Duration::from_millis(500);
const LONGEST_REST: Duration = Duration::from_secs(30);

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
    pub health: Health,
    /// Kept connections, for each worker its own.
    pools: Box<[Pool]>,
    /// Everything that must end when what is in is cut.
    open: Mutex<HashMap<u64, AbortHandle>>,
    next_open: AtomicU64,
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
            health: Health::default(),
            pools: (0..workers).map(|_| Pool::default()).collect(),
            open: Mutex::default(),
            next_open: AtomicU64::new(0),
        }
    }

    /// A place in this target, unless it is draining.
    pub fn enter(self: &Arc<Self>) -> Option<Entry> {
        let mut word = self.word.load(Ordering::Acquire);
        while word & DRAINING == 0 {
            match self.word.compare_exchange_weak(word, word + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(Entry(self.clone())),
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

    /// From now on nobody enters.
    pub fn close(&self) {
        let before = self.word.fetch_or(DRAINING, Ordering::AcqRel);
        if before & DRAINING == 0 {
            self.drained_from.store(before & COUNT, Ordering::Release);
            self.pools.iter().for_each(Pool::clear);
        }
    }

    /// Waits until nobody is in any more; at the deadline whoever still is gets cut.
    pub async fn drain(&self, deadline: Instant) -> Drained {
        self.close();
        let _ = tokio::time::timeout_at(deadline.into(), self.emptied()).await;
        self.cut();
        self.draining()
    }

    /// Ends whatever is still in. The first time counts: whoever drains it again hears the same.
    pub fn cut(&self) {
        let before = self.word.fetch_or(CUT, Ordering::AcqRel);
        if before & CUT == 0 {
            self.cut.store(before & COUNT, Ordering::Release);
        }
        let open: Vec<AbortHandle> = self.open().drain().map(|(_, handle)| handle).collect();
        open.iter().for_each(AbortHandle::abort);
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

    pub fn pool(&self, worker: usize) -> &Pool {
        // There is a pool for every worker; a target outlives no change of their number.
        &self.pools[worker % self.pools.len()]
    }

    /// Runs something that must end when this target's requests are cut. What comes back is for [`Self::end`].
    pub fn spawn(self: &Arc<Self>, task: impl Future<Output = ()> + Send + 'static) -> u64 {
        let key = self.next_open.fetch_add(1, Ordering::Relaxed);
        let target = self.clone();
        let running = tokio::spawn(async move {
            task.await;
            target.open().remove(&key);
        });
        self.open().insert(key, running.abort_handle());
        // Cut before it was in the list: nobody else will end it.
        if self.is_cut() {
            running.abort();
            self.open().remove(&key);
        }
        key
    }

    /// Ends something that runs here, if it still does.
    pub fn end(&self, key: u64) {
        if let Some(running) = self.open().remove(&key) {
            running.abort();
        }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, AbortHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in a target, held until the last byte.
pub struct Entry(Arc<Target>);

impl Entry {
    pub fn target(&self) -> &Arc<Target> {
        &self.0
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let before = self.0.word.fetch_sub(1, Ordering::AcqRel);
        if before & DRAINING != 0 && before & COUNT == 1 {
            self.0.empty.notify_waiters();
        }
    }
}

/// What is known of a target's health.
pub struct Health {
    /// The verdict of the checks, if there are any.
    is_well: AtomicBool,
    /// Connections that failed in a row.
    failures: AtomicU32,
    /// When it is to be tried again, in milliseconds after `since`.
    rests_until: AtomicU64,
    since: Instant,
}

impl Default for Health {
    fn default() -> Self {
        Self {
            is_well: AtomicBool::new(true),
            failures: AtomicU32::new(0),
            rests_until: AtomicU64::new(0),
            since: Instant::now(),
        }
    }
}

impl Health {
    /// Whether requests should come here while there is somebody else to send them to.
    pub fn is_preferred(&self) -> bool {
        self.is_well() && (self.failures.load(Ordering::Relaxed) == 0 || !self.rests())
    }

    pub fn is_well(&self) -> bool {
        self.is_well.load(Ordering::Relaxed)
    }

    pub fn check_says(&self, well: bool) {
        self.is_well.store(well, Ordering::Relaxed);
    }

    pub fn connected(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    pub fn not_connected(&self) {
        let failures = self.failures.fetch_add(1, Ordering::Relaxed).min(10);
        let rest = (FIRST_REST * 2u32.pow(failures)).min(LONGEST_REST);
        self.rests_until.store(self.millis() + rest.as_millis() as u64, Ordering::Relaxed);
    }

    fn rests(&self) -> bool {
        self.millis() < self.rests_until.load(Ordering::Relaxed)
    }

    fn millis(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
