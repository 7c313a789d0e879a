//! Whether what the server needs can be written to. It is tried: a disk that is full, or a database that only answers reads, is not seen
//! otherwise.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use windlass_store::{Db, instance};

/// How long one try counts: monitors ask as often as they like.
const GOOD_FOR: Duration = Duration::from_secs(5);
const BAD_FOR: Duration = Duration::from_secs(1);
/// How long one try may take.
const LIMIT: Duration = Duration::from_secs(2);
/// The file that is written to a folder and removed.
const FILE_NAME: &str = "write-probe";
const BYTES: [u8; 4096] = [0; 4096];

/// Why it cannot be written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unwritable {
    Full,
    ReadOnly,
    NoAnswer,
    /// The log says what it is.
    Other,
}

type Tried = Result<(), Unwritable>;

/// What the last try showed, for as long as it counts.
#[derive(Default)]
struct LastTry(Mutex<Option<(Instant, Tried)>>);

impl LastTry {
    fn that_counts(&self) -> Option<Tried> {
        let (at, tried) = (*self.0.lock())?;
        let counts_for = if tried.is_ok() { GOOD_FOR } else { BAD_FOR };
        (at.elapsed() < counts_for).then_some(tried)
    }

    fn set(&self, tried: Tried) -> Tried {
        *self.0.lock() = Some((Instant::now(), tried));
        tried
    }
}

/// Tries changes of the database.
#[derive(Default)]
pub struct DatabaseProbe {
    last: LastTry,
    one_at_a_time: tokio::sync::Mutex<()>,
}

impl DatabaseProbe {
    pub async fn tried(&self, db: &Db) -> Tried {
        let _turn = self.one_at_a_time.lock().await;
        if let Some(tried) = self.last.that_counts() {
            return tried;
        }
        let tried = match tokio::time::timeout(LIMIT, change(db)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if error.is_full() => Err(Unwritable::Full),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the database cannot be changed");
                Err(Unwritable::Other)
            }
            Err(_) => Err(Unwritable::NoAnswer),
        };
        self.last.set(tried)
    }

    /// Another change has shown more.
    pub fn forget(&self) {
        *self.last.0.lock() = None;
    }
}

async fn change(db: &Db) -> windlass_store::Result<()> {
    let mut tx = db.begin().await?;
    instance::touch(&mut tx).await?;
    tx.commit().await
}

/// Tries files in a folder.
#[derive(Default)]
pub struct FolderProbe {
    last: LastTry,
    /// A disk that does not answer keeps one thread, not one for each try.
    under_way: tokio::sync::Mutex<Option<JoinHandle<io::Result<()>>>>,
}

impl FolderProbe {
    pub async fn tried(&self, folder: &Path) -> Tried {
        let mut under_way = self.under_way.lock().await;
        if let Some(tried) = self.last.that_counts() {
            return tried;
        }
        let path = folder.join(FILE_NAME);
        let writing = under_way.get_or_insert_with(|| tokio::task::spawn_blocking(move || write(&path)));
        let written = tokio::time::timeout(LIMIT, writing).await;
        if written.is_ok() {
            *under_way = None;
        }
        let tried = match written {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => {
                tracing::warn!(%error, folder = %folder.display(), "no file can be written");
                Err(reason(&error))
            }
            Ok(Err(_)) => Err(Unwritable::Other),
            Err(_) => Err(Unwritable::NoAnswer),
        };
        self.last.set(tried)
    }
}

fn write(path: &PathBuf) -> io::Result<()> {
    let mut file = std::fs::File::create(path)?;
    let written = file.write_all(&BYTES).and_then(|()| file.sync_all());
    std::fs::remove_file(path)?;
    written
}

fn reason(error: &io::Error) -> Unwritable {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Unwritable::Full,
        io::ErrorKind::ReadOnlyFilesystem => Unwritable::ReadOnly,
        _ => Unwritable::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_is_tried_again_after_a_moment() {
        tokio::time::pause();
        let folder = tempfile::tempdir().unwrap();
        let (probe, path) = (FolderProbe::default(), folder.path().join("data"));
        assert_eq!(probe.tried(&path).await, Err(Unwritable::Other), "it is not there");
        std::fs::create_dir(&path).unwrap();
        assert!(probe.tried(&path).await.is_err(), "it was tried a moment ago");
        tokio::time::advance(BAD_FOR).await;
        assert_eq!(probe.tried(&path).await, Ok(()));
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "nothing is left");
        std::fs::remove_dir(&path).unwrap();
        assert_eq!(probe.tried(&path).await, Ok(()), "it was tried a moment ago");
        tokio::time::advance(GOOD_FOR).await;
        assert!(probe.tried(&path).await.is_err());
    }
}
