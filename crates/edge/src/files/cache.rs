//! Small files in memory, shared by all services of the process; and no more than one look at the disk for all the
//! requests that wait for the same file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Semaphore, watch};

use super::load::{Found, Scope};
use super::lru::Lru;
use super::page::Page;

/// How long an entry is used without a look at the disk, in milliseconds.
const FRESH: u64 = 1000;
/// Each part of the cache has its own lock. A part is large enough for any page.
const PART: usize = 8 * 1024 * 1024;
const MOST_PARTS: usize = 16;
/// Looks at the disk at the same time, those for visitors who have left included.
const MOST_LOOKS: usize = 64;

/// Bounded in bytes.
pub struct Cache {
    parts: Box<[Mutex<Lru>]>,
    hasher: RandomState,
    begun: Instant,
    looks: Arc<Semaphore>,
    under_way: Mutex<HashMap<Key, watch::Receiver<Option<Found>>>>,
}

type Key = (Arc<Scope>, Box<[u8]>);

impl Cache {
    /// What a process gives to its files, unless it knows better.
    pub const DEFAULT_BYTES: usize = 64 * 1024 * 1024;

    pub fn new(limit_bytes: usize) -> Self {
        let parts = (limit_bytes / PART).clamp(1, MOST_PARTS);
        Self {
            parts: (0..parts).map(|_| Mutex::new(Lru::new(limit_bytes / parts))).collect(),
            hasher: RandomState::new(),
            begun: Instant::now(),
            looks: Arc::new(Semaphore::new(MOST_LOOKS)),
            under_way: Mutex::default(),
        }
    }

    /// Services with the same folder share its pages, and so does a service with the one that it replaces.
    pub(super) fn scope(&self, folder: OsString, clean_urls: bool) -> Arc<Scope> {
        let id = self.hasher.hash_one((&folder, clean_urls));
        Arc::new(Scope { id, folder, clean_urls })
    }

    /// The page if it is here and was compared with the disk a moment ago.
    pub(super) fn fresh(&self, scope: &Arc<Scope>, path: &[u8]) -> Option<Arc<Page>> {
        self.get(scope, path).filter(|page| self.is_fresh(page))
    }

    /// The page from memory, or what `load` finds on disk. `load` is given the page as it was before.
    pub(super) async fn find<L>(self: &Arc<Self>, scope: &Arc<Scope>, path: &[u8], load: L) -> Found
    where
        L: FnOnce(Option<Arc<Page>>) -> Found + Send + 'static,
    {
        loop {
            if let Some(page) = self.fresh(scope, path) {
                return Found::Page(page);
            }
            let look = match self.join(scope, path) {
                Turn::Look(look) => look,
                Turn::Wait(mut answer) => match answer.wait_for(Option::is_some).await.map(|found| found.clone()) {
                    Ok(Some(found)) => return found,
                    // Whoever was to look has left before it began.
                    Ok(None) | Err(_) => continue,
                },
            };
            // Somebody else's look may have ended between the two questions above.
            if let Some(page) = self.fresh(scope, path) {
                return Found::Page(page);
            }
            let Ok(permit) = self.looks.clone().acquire_owned().await else { return Found::Failure };
            let looking = tokio::task::spawn_blocking(move || {
                let _permit = permit;
                look.with(load)
            });
            return looking.await.unwrap_or(Found::Failure);
        }
    }

    fn join(self: &Arc<Self>, scope: &Arc<Scope>, path: &[u8]) -> Turn {
        match lock(&self.under_way).entry((scope.clone(), path.into())) {
            Entry::Occupied(answer) => Turn::Wait(answer.get().clone()),
            Entry::Vacant(place) => {
                let (sender, receiver) = watch::channel(None);
                place.insert(receiver);
                Turn::Look(Look { cache: self.clone(), scope: scope.clone(), path: path.into(), answer: sender })
            }
        }
    }

    fn get(&self, scope: &Arc<Scope>, path: &[u8]) -> Option<Arc<Page>> {
        let hash = self.hash(scope, path);
        lock(self.part(hash)).get(hash, scope, path)
    }

    fn keep(&self, scope: &Arc<Scope>, path: &[u8], found: &Found) {
        let hash = self.hash(scope, path);
        let part = self.part(hash);
        // What goes is freed after the lock is given back.
        match found {
            Found::Page(page) => drop(lock(part).insert(hash, scope, path, page.clone())),
            Found::Elsewhere(_) | Found::Nothing => drop(lock(part).remove(hash)),
            Found::Failure => {}
        }
    }

    fn hash(&self, scope: &Scope, path: &[u8]) -> u64 {
        self.hasher.hash_one((scope.id, path))
    }

    /// By bits that the map inside the part does not look at.
    fn part(&self, hash: u64) -> &Mutex<Lru> {
        &self.parts[(hash >> 40) as usize % self.parts.len()]
    }

    fn is_fresh(&self, page: &Page) -> bool {
        self.now().saturating_sub(page.checked.load(Ordering::Relaxed)) < FRESH
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.parts.iter().map(|part| lock(part).held()).sum()
    }
}

enum Turn {
    Look(Look),
    Wait(watch::Receiver<Option<Found>>),
}

/// The one look at the disk for a path. Once it has begun it goes to its end, whoever still waits for it.
struct Look {
    cache: Arc<Cache>,
    scope: Arc<Scope>,
    path: Box<[u8]>,
    answer: watch::Sender<Option<Found>>,
}

impl Look {
    fn with(self, load: impl FnOnce(Option<Arc<Page>>) -> Found) -> Found {
        // From before it looks: what changes meanwhile is seen a second after that.
        let begun = self.cache.now();
        let old = self.cache.get(&self.scope, &self.path);
        let found = load(old);
        if let Found::Page(page) = &found {
            page.checked.store(begun, Ordering::Relaxed);
        }
        self.cache.keep(&self.scope, &self.path, &found);
        self.answer.send_replace(Some(found.clone()));
        found
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        lock(&self.cache.under_way).remove(&(self.scope.clone(), path));
    }
}

/// Nothing that holds these locks can panic halfway.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
