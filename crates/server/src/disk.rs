//! Whether the database finds room on its disk.

use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use windlass_api::Timestamp;
use windlass_store::Kind;

/// Less is as good as nothing: SQLite writes every change twice.
const LEAST_BYTES: u64 = 1024 * 1024;
/// How long a refused change counts when no other change follows. PostgreSQL's disk cannot be looked at, and a server
/// that stayed unready would never be sent the change that shows that there is room again.
const REFUSAL_SECONDS: i64 = 30;

/// What the last changes showed.
#[derive(Default)]
pub struct DatabaseDisk(Mutex<Option<Timestamp>>);

impl DatabaseDisk {
    /// A change found no room.
    pub fn found_no_room(&self, now: Timestamp) {
        *self.last_refusal() = Some(now);
    }

    /// A change found room.
    pub fn found_room(&self) {
        *self.last_refusal() = None;
    }

    /// Whether the next change would fail for lack of room, as far as that can be known without making one.
    pub async fn is_full(&self, kind: Kind, data_dir: &Path, now: Timestamp) -> bool {
        match kind {
            _ if self.refused_lately(now) => true,
            Kind::Sqlite => space(data_dir.to_owned()).await.is_some_and(|space| space.free < LEAST_BYTES),
            Kind::Postgres => false,
        }
    }

    fn refused_lately(&self, now: Timestamp) -> bool {
        self.last_refusal().is_some_and(|last| last.plus_seconds(REFUSAL_SECONDS) > now)
    }

    fn last_refusal(&self) -> MutexGuard<'_, Option<Timestamp>> {
        self.0.lock()
    }
}

/// In bytes.
#[derive(Clone, Copy)]
pub struct Space {
    pub free: u64,
    pub whole: u64,
    /// The same for folders of one disk.
    pub disk_id: u64,
}

/// The disk that a folder is on. One that does not tell is not a full one.
pub async fn space(folder: PathBuf) -> Option<Space> {
    let looked = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&folder)).await;
    let disk = looked.ok()?.ok()?;
    let (free, whole) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
    Some(Space { free, whole, disk_id: disk.f_fsid })
}
