//! Small files in memory, shared by all services of the process; and no more than one look at the disk for all the
//! requests that wait for the same file.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};

use super::load::{FoundFile, Scope};
use super::lru::Lru;
use super::served_file::ServedFile;

/// How long an entry is used without a look at the disk, in milliseconds.
const FRESH: u64 = 1000;
/// Each part of the cache has its own lock. A part is large enough for any file that is kept in memory.
const PART: usize = 8 * 1024 * 1024;
const MOST_PARTS: usize = 16;
/// Looks at the disk at the same time, those for visitors who have left included.
const MOST_LOOKS: usize = 64;

/// Bounded in bytes.
pub struct FileCache {
    parts: Box<[Mutex<Lru>]>,
    hasher: RandomState,
    begun: Instant,
    looks: Arc<Semaphore>,
    under_way: Mutex<HashMap<CacheKey, watch::Receiver<Option<FoundFile>>>>,
}

type CacheKey = (Arc<Scope>, Box<[u8]>);

impl FileCache {
    /// The size of a process's cache.
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

    /// Services with the same folder share its files, and so does a service with the one that it replaces.
    pub(super) fn scope(&self, folder: OsString, clean_urls: bool) -> Arc<Scope> {
        let id = self.hasher.hash_one((&folder, clean_urls));
        Arc::new(Scope { id, folder, clean_urls })
    }

    /// The file if it is here and was compared with the disk a moment ago.
    pub(super) fn fresh(&self, scope: &Arc<Scope>, path: &[u8]) -> Option<Arc<ServedFile>> {
        self.get(scope, path).filter(|file| self.is_fresh(file))
    }

    /// The file from memory, or what `load` finds on disk. `load` is given the file as it was before.
    pub(super) async fn find<L>(self: &Arc<Self>, scope: &Arc<Scope>, path: &[u8], load: L) -> FoundFile
    where
        L: FnOnce(Option<Arc<ServedFile>>) -> FoundFile + Send + 'static,
    {
        loop {
            if let Some(file) = self.fresh(scope, path) {
                return FoundFile::File(file);
            }
            let look = match self.join(scope, path) {
                LookTurn::Look(look) => look,
                LookTurn::Wait(mut answer) => match answer.wait_for(Option::is_some).await.map(|found| found.clone()) {
                    Ok(Some(found)) => return found,
                    // The request that was to look was given up before it began.
                    Ok(None) | Err(_) => continue,
                },
            };
            // The look of another request may have ended between the two questions above.
            if let Some(file) = self.fresh(scope, path) {
                return FoundFile::File(file);
            }
            return self.look(move || look.with(load)).await.unwrap_or(FoundFile::Failure);
        }
    }

    /// Looks at the disk when it is its turn. None if that ended badly.
    pub(super) async fn look<T: Send + 'static>(&self, look: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let permit = self.looks.clone().acquire_owned().await.ok()?;
        let looking = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            look()
        });
        looking.await.ok()
    }

    fn join(self: &Arc<Self>, scope: &Arc<Scope>, path: &[u8]) -> LookTurn {
        match self.under_way.lock().entry((scope.clone(), path.into())) {
            Entry::Occupied(answer) => LookTurn::Wait(answer.get().clone()),
            Entry::Vacant(place) => {
                let (sender, receiver) = watch::channel(None);
                place.insert(receiver);
                LookTurn::Look(DiskLook {
                    cache: self.clone(),
                    scope: scope.clone(),
                    path: path.into(),
                    answer: sender,
                })
            }
        }
    }

    fn get(&self, scope: &Arc<Scope>, path: &[u8]) -> Option<Arc<ServedFile>> {
        let hash = self.hash(scope, path);
        self.part(hash).lock().get(hash, scope, path)
    }

    fn keep(&self, scope: &Arc<Scope>, path: &[u8], found: &FoundFile) {
        let hash = self.hash(scope, path);
        let part = self.part(hash);
        match found {
            FoundFile::File(file) => {
                // Freed after the lock is given back.
                let gone = part.lock().insert(hash, scope, path, file.clone());
                drop(gone);
            }
            FoundFile::Elsewhere(_) | FoundFile::Nothing => {
                let gone = part.lock().remove(hash);
                drop(gone);
            }
            FoundFile::Failure => {}
        }
    }

    fn hash(&self, scope: &Scope, path: &[u8]) -> u64 {
        self.hasher.hash_one((scope.id, path))
    }

    /// By bits that the map inside the part does not look at.
    fn part(&self, hash: u64) -> &Mutex<Lru> {
        &self.parts[(hash >> 40) as usize % self.parts.len()]
    }

    fn is_fresh(&self, file: &ServedFile) -> bool {
        self.now().saturating_sub(file.checked.load(Ordering::Relaxed)) < FRESH
    }

    fn now(&self) -> u64 {
        self.begun.elapsed().as_millis() as u64
    }

    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.parts.iter().map(|part| part.lock().held()).sum()
    }
}

enum LookTurn {
    Look(DiskLook),
    Wait(watch::Receiver<Option<FoundFile>>),
}

/// The one look at the disk for a path. Once it has begun it goes to its end, even if no request waits for it any more.
struct DiskLook {
    cache: Arc<FileCache>,
    scope: Arc<Scope>,
    path: Box<[u8]>,
    answer: watch::Sender<Option<FoundFile>>,
}

impl DiskLook {
    fn with(self, load: impl FnOnce(Option<Arc<ServedFile>>) -> FoundFile) -> FoundFile {
        // From before it looks: what changes meanwhile is seen a second after that.
        let begun = self.cache.now();
        let old = self.cache.get(&self.scope, &self.path);
        let found = load(old);
        if let FoundFile::File(file) = &found {
            file.checked.store(begun, Ordering::Relaxed);
        }
        self.cache.keep(&self.scope, &self.path, &found);
        self.answer.send_replace(Some(found.clone()));
        found
    }
}

impl Drop for DiskLook {
    fn drop(&mut self) {
        let path = std::mem::take(&mut self.path);
        self.cache.under_way.lock().remove(&(self.scope.clone(), path));
    }
}
