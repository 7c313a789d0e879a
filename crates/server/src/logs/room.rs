//! The room on the disk that is not for log lines: what one application prints must not keep everybody else from working.

use std::path::PathBuf;

/// So much is left for the database and for builds, or a twentieth of a smaller disk.
const RESERVE: u64 = 64 * 1024 * 1024;
const SHARE: u64 = 20;

/// The disk that the log store is on, if it is a file.
#[derive(Clone)]
pub struct Room(Option<PathBuf>);

impl Room {
    pub fn beside(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    /// Why there is none; nothing while there is.
    pub async fn problem(&self) -> Option<String> {
        let folder = self.0.clone()?;
        let looked = tokio::task::spawn_blocking(move || rustix::fs::statvfs(&folder)).await;
        // A disk that does not tell is not a full one.
        let disk = looked.ok()?.ok()?;
        let (free, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
        let reserve = RESERVE.min(all / SHARE);
        (free < reserve)
            .then(|| format!("the disk is full but for {} MiB, which are kept for other things", free >> 20))
    }
}
