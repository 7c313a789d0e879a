//! What was fetched of a repository before, so that its server only sends what is new. One folder for each application,
//! which no other application reads: git objects, the last commit, and the address that they came from. Credentials are
//! never in it.
//!
//! Git only ever adds whole packs of objects, and everything else that it writes is in the attempt's own folder. So a
//! crash leaves a part of a pack at most, which is removed when the cache is opened again.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use uuid::Uuid;
use windlass_api::RepositoryAddress;
use windlass_durable::lock::{self, LockError};

use super::source::is_whole_hash;
use crate::folders::{remove, size_of};

/// Each fetch adds a pack, and none goes: with so many the cache is emptied.
const MOST_PACKS: usize = 50;
/// The last commit that was fetched. The file's time is when the cache was used last.
const LAST: &str = "last";
const ADDRESS: &str = "address";

/// The cache of one application, for as long as the value lives: no other attempt uses it meanwhile.
pub struct Cache {
    folder: PathBuf,
    _lock: File,
}

impl Cache {
    /// None when it is in use.
    pub async fn open(root: &Path, application_id: Uuid, url: &RepositoryAddress) -> io::Result<Option<Self>> {
        let (root, address) = (root.to_owned(), url.to_string());
        tokio::task::spawn_blocking(move || Self::open_now(&root, application_id, &address)).await?
    }

    fn open_now(root: &Path, application_id: Uuid, address: &str) -> io::Result<Option<Self>> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let folder = root.join(application_id.to_string());
        let Some(lock) = take_lock(&folder)? else { return Ok(None) };
        let cache = Self { folder, _lock: lock };
        if !cache.is_good_for(address) {
            remove(&cache.folder)?;
        }
        cache.remove_parts()?;
        cache.make(address)?;
        Ok(Some(cache))
    }

    fn make(&self, address: &str) -> io::Result<()> {
        fs::create_dir_all(self.objects())?;
        fs::write(self.folder.join(ADDRESS), address)
    }

    /// Another repository's objects would be of no use, and users who may read this one may not be allowed to read the
    /// other.
    fn is_good_for(&self, address: &str) -> bool {
        let is_the_same = fs::read_to_string(self.folder.join(ADDRESS)).is_ok_and(|found| found == address);
        // Without a last commit there are only left-overs of fetches that failed, which would count against the next
        // one's limit.
        is_the_same
            && self.last_commit().is_some()
            && names_in(&self.packs()).iter().filter(|name| name.ends_with(".pack")).count() < MOST_PACKS
    }

    /// What git was writing when it was ended.
    fn remove_parts(&self) -> io::Result<()> {
        for name in names_in(&self.packs()).iter().filter(|name| name.starts_with("tmp_") || name.ends_with(".lock")) {
            remove(&self.packs().join(name))?;
        }
        Ok(())
    }

    pub fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    fn packs(&self) -> PathBuf {
        self.objects().join("pack")
    }

    /// The last commit that was fetched, all of whose files are here.
    pub fn last_commit(&self) -> Option<String> {
        fs::read_to_string(self.folder.join(LAST)).ok().filter(|hash| is_whole_hash(hash))
    }

    pub async fn remember(&self, hash: &str) -> io::Result<()> {
        let (path, hash) = (self.folder.join(LAST), hash.to_owned());
        tokio::task::spawn_blocking(move || windlass_durable::file::replace(&path, hash.as_bytes())).await?
    }

    /// Empties the cache.
    pub async fn empty(&self) -> io::Result<()> {
        let (objects, last) = (self.objects(), self.folder.join(LAST));
        tokio::task::spawn_blocking(move || {
            remove(&last)?;
            remove(&objects)?;
            fs::create_dir_all(objects)
        })
        .await?
    }
}

/// Beside the folder, so that it stays held while the folder is removed.
fn take_lock(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.with_extension("lock");
    match lock::take(&path) {
        // One that was removed while it was waited for protects nothing.
        Ok(lock) => Ok(fs::metadata(&path)
            .is_ok_and(|now| lock.metadata().is_ok_and(|held| held.ino() == now.ino()))
            .then_some(lock)),
        Err(LockError::Held(_)) => Ok(None),
        Err(LockError::Io(error)) => Err(error),
    }
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

fn caches_in(root: &Path) -> Vec<(Uuid, PathBuf)> {
    names_in(root).iter().filter_map(|name| Some((name.parse().ok()?, root.join(name)))).collect()
}

/// Removes the caches that were unused for longest until the others fit into so many bytes. One that is in use stays.
pub async fn trim(root: &Path, budget: u64) -> io::Result<()> {
    let root = root.to_owned();
    tokio::task::spawn_blocking(move || {
        let used_at = |folder: &Path| fs::metadata(folder.join(LAST)).and_then(|file| file.modified());
        let mut caches: Vec<_> = caches_in(&root)
            .into_iter()
            .map(|(_, folder)| (used_at(&folder).unwrap_or(SystemTime::UNIX_EPOCH), folder))
            .collect();
        caches.sort_unstable_by(|a, b| b.cmp(a));
        let mut bytes: u64 = 0;
        for (_, folder) in caches {
            bytes = bytes.saturating_add(size_of(&folder));
            if bytes > budget {
                remove_unused(&folder)?;
            }
        }
        Ok(())
    })
    .await?
}

/// The caches that there are, by their applications.
pub async fn applications(root: &Path) -> HashSet<Uuid> {
    let root = root.to_owned();
    let found = tokio::task::spawn_blocking(move || caches_in(&root)).await.unwrap_or_default();
    found.into_iter().map(|(id, _)| id).collect()
}

/// Removes an application's cache.
pub async fn forget(root: &Path, application_id: Uuid) -> io::Result<()> {
    let folder = root.join(application_id.to_string());
    tokio::task::spawn_blocking(move || remove_unused(&folder)).await?
}

fn remove_unused(folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    let Some(_lock) = take_lock(folder)? else { return Ok(()) };
    remove(folder)?;
    remove(&folder.with_extension("lock"))
}
