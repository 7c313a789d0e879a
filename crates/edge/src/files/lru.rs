//! Files in memory, bounded in bytes: the one that was not used for the longest time goes first.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use super::load::Scope;
use super::served_file::ServedFile;

/// What a slot takes beside its file and its path.
const OVERHEAD: usize = 256;
/// No neighbour.
const NONE: usize = usize::MAX;

pub struct Lru {
    /// By the hash of the key, which is made with a secret: a visitor cannot choose two keys with the same hash,
    /// and if there ever are two, each replaces the other.
    places: HashMap<u64, usize, BuildHasherDefault<AlreadyHashed>>,
    slots: Vec<Slot>,
    newest: usize,
    oldest: usize,
    held: usize,
    limit: usize,
}

pub struct Slot {
    hash: u64,
    scope: Arc<Scope>,
    path: Box<[u8]>,
    file: Arc<ServedFile>,
    weight: usize,
    newer: usize,
    older: usize,
}

impl Lru {
    pub fn new(limit: usize) -> Self {
        Self { places: HashMap::default(), slots: Vec::new(), newest: NONE, oldest: NONE, held: 0, limit }
    }

    pub fn get(&mut self, hash: u64, scope: &Arc<Scope>, path: &[u8]) -> Option<Arc<ServedFile>> {
        let at = *self.places.get(&hash)?;
        let slot = &self.slots[at];
        if *slot.path != *path || slot.scope != *scope {
            return None;
        }
        let file = slot.file.clone();
        if self.newest != at {
            self.unlink(at);
            self.link(at);
        }
        Some(file)
    }

    /// Returns what had to go, so that it can be freed without the lock.
    pub fn insert(&mut self, hash: u64, scope: &Arc<Scope>, path: &[u8], file: Arc<ServedFile>) -> Vec<Slot> {
        let mut gone: Vec<_> = self.remove(hash).into_iter().collect();
        let Some(weight) = file.weight().map(|weight| weight + path.len() + OVERHEAD) else { return gone };
        if weight > self.limit {
            return gone;
        }
        while self.held + weight > self.limit && self.oldest != NONE {
            gone.push(self.take(self.oldest));
        }
        let at = self.slots.len();
        self.slots.push(Slot { hash, scope: scope.clone(), path: path.into(), file, weight, newer: NONE, older: NONE });
        self.places.insert(hash, at);
        self.held += weight;
        self.link(at);
        gone
    }

    pub fn remove(&mut self, hash: u64) -> Option<Slot> {
        let at = *self.places.get(&hash)?;
        Some(self.take(at))
    }

    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.held
    }

    fn take(&mut self, at: usize) -> Slot {
        self.unlink(at);
        let slot = self.slots.swap_remove(at);
        self.places.remove(&slot.hash);
        self.held -= slot.weight;
        // The last slot has moved into the gap.
        if let Some(moved) = self.slots.get(at) {
            let (hash, newer, older) = (moved.hash, moved.newer, moved.older);
            self.places.insert(hash, at);
            *self.older_of(newer) = at;
            *self.newer_of(older) = at;
        }
        slot
    }

    fn link(&mut self, at: usize) {
        let before = self.newest;
        self.slots[at].newer = NONE;
        self.slots[at].older = before;
        *self.newer_of(before) = at;
        self.newest = at;
    }

    fn unlink(&mut self, at: usize) {
        let (newer, older) = (self.slots[at].newer, self.slots[at].older);
        *self.older_of(newer) = older;
        *self.newer_of(older) = newer;
    }

    /// What comes after a slot in the direction of the oldest; after none comes the newest.
    fn older_of(&mut self, at: usize) -> &mut usize {
        match self.slots.get_mut(at) {
            Some(slot) => &mut slot.older,
            None => &mut self.newest,
        }
    }

    fn newer_of(&mut self, at: usize) -> &mut usize {
        match self.slots.get_mut(at) {
            Some(slot) => &mut slot.newer,
            None => &mut self.oldest,
        }
    }
}

/// The keys of the map are hashes: there is nothing left to do.
#[derive(Default)]
struct AlreadyHashed(u64);

impl Hasher for AlreadyHashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}
