//! The room on the disk that is not for log lines: what one application prints must not keep the rest of the server
//! from working.

use std::path::PathBuf;

use crate::disk::Disks;

/// So much is left for the database and for builds, or a twentieth of a smaller disk.
const RESERVE: u64 = 64 * 1024 * 1024;
const SHARE: u64 = 20;

/// The disk that the log store is on, if it is a file.
#[derive(Clone)]
pub struct Room {
    folder: Option<PathBuf>,
    disks: Disks,
}

impl Room {
    pub fn beside(folder: Option<PathBuf>) -> Self {
        Self { folder, disks: Disks::default() }
    }

    /// Why there is none; nothing while there is.
    pub async fn problem(&self) -> Option<String> {
        let space = self.disks.space(self.folder.as_ref()?).await?;
        let reserve = RESERVE.min(space.whole / SHARE);
        (space.free < reserve)
            .then(|| format!("the disk is full but for {} MiB, which are kept for other things", space.free >> 20))
    }
}
