//! Who does which kind of job, how many at once, and what for.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use windlass_store::jobs::Job;

use super::lease::Lease;
use super::slots::Slot;
use super::{Held, Outcome};

type Doing = Pin<Box<dyn Future<Output = Outcome> + Send>>;
type Noting = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a handler gets. It is held as a whole: lease and slot end with it, not before.
pub struct Task {
    pub(super) held: Held,
    pub(super) lease: Lease,
    pub(super) slot: Slot,
}

impl Task {
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// The job, its lease, and its slot among those that are worked on at once.
    pub fn parts(&mut self) -> (&Held, &mut Lease, &mut Slot) {
        (&self.held, &mut self.lease, &mut self.slot)
    }
}

/// What a kind of job cannot be done without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    ContainerEngine,
}

/// Jobs that share slots.
#[derive(Clone, Copy, Debug)]
pub struct Pool {
    /// How many are worked on at once.
    pub slots: usize,
    /// Whether a job may leave its slot to another while it only waits (see [`Slot::leave_to_wait`]).
    pub may_wait: bool,
    /// How many of them one organization has at most, if that is less than its share.
    pub most_of_one: Option<usize>,
}

/// One kind of job.
pub struct Entry {
    pub kind: &'static str,
    /// How long a claim lasts unless it is renewed, which it is as long as the process lives and the database answers.
    pub lease: Duration,
    pub needs: Needs,
    pub handler: Box<dyn Fn(Task) -> Doing + Send + Sync>,
    /// Told once of a job that waits for what it needs, and of the reason.
    pub kept_waiting: Box<dyn Fn(Job, String) -> Noting + Send + Sync>,
}

/// All kinds, by pool.
pub struct Registry {
    pub(super) pools: Vec<(Pool, Vec<Arc<Entry>>)>,
    /// Slots of jobs that only wait.
    pub(super) waiting_slots: usize,
    /// How much of the slots one organization may use, in percent.
    pub(super) share_percent: usize,
}

impl Registry {
    pub fn new(waiting_slots: usize, share_percent: usize) -> Self {
        Self { pools: Vec::new(), waiting_slots, share_percent }
    }

    /// Adds kinds that share the slots of a pool.
    pub fn add(mut self, pool: Pool, entries: Vec<Entry>) -> Self {
        self.pools.push((pool, entries.into_iter().map(Arc::new).collect()));
        self
    }

    /// How many jobs of a pool one organization may have under way, so that others find a slot. Those that may wait count together,
    /// against the slots for waiting: there are more of them, and a job that waits in one never keeps another from being begun.
    pub(super) fn share(&self, pool: &Pool) -> usize {
        let slots = if pool.may_wait { self.waiting_slots } else { pool.slots };
        let share = (slots * self.share_percent / 100).max(1);
        pool.most_of_one.map_or(share, |most| most.min(share))
    }

    /// The kinds whose jobs count for an organization's share of a pool.
    pub(super) fn sharing(&self, index: usize) -> Vec<&'static str> {
        let own = |number: usize, pool: &Pool| number == index || (pool.may_wait && self.pools[index].0.may_wait);
        let counted = self.pools.iter().enumerate().filter(|(number, (pool, _))| own(*number, pool));
        counted.flat_map(|(_, (_, entries))| entries.iter().map(|entry| entry.kind)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_organization_has_a_part_of_the_slots() {
        let registry = Registry::new(32, 50);
        let share = |slots, may_wait| registry.share(&Pool { slots, may_wait, most_of_one: None });
        assert_eq!([share(16, false), share(1, false), share(2, true)], [8, 1, 16]);
        let of_few = |slots| registry.share(&Pool { slots, may_wait: false, most_of_one: Some(2) });
        assert_eq!([of_few(16), of_few(2)], [2, 1]);
    }
}
