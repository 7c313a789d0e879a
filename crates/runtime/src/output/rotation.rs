//! The names of the engine's log files: `x.log` is written to, `x.log.1` was before, `x.log.2` before that. The engine
//! renames them at any time, one after the other.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::file::LogFile;

/// A rotation takes microseconds, so that it is met at most once or twice in a row.
const ATTEMPTS: usize = 10;
const PAUSE: Duration = Duration::from_millis(1);
/// More files than engines are set to keep.
const MOST_FILES: usize = 1000;

pub(super) struct Names {
    newest: PathBuf,
}

impl Names {
    pub(super) fn new(newest: PathBuf) -> Self {
        Self { newest }
    }

    pub(super) fn newest(&self) -> &Path {
        &self.newest
    }

    /// Whether this is the file that is written to.
    pub(super) fn newest_is(&self, inode: u64) -> bool {
        inode_at(&self.newest).is_ok_and(|newest| newest == inode)
    }

    /// All files, the oldest first. Not found if there is none that is written to.
    pub(super) fn open(&self) -> io::Result<Vec<LogFile>> {
        for _ in 0..ATTEMPTS {
            if let Some(files) = self.open_unless_rotating()? {
                return Ok(files);
            }
            std::thread::sleep(PAUSE);
        }
        inode_at(&self.newest)?;
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "the files are renamed all the time"))
    }

    fn open_unless_rotating(&self) -> io::Result<Option<Vec<LogFile>>> {
        let mut files: Vec<LogFile> = Vec::new();
        for number in 0..MOST_FILES {
            let Some(file) = none_if_absent(LogFile::open(&self.name(number)))? else { break };
            // It was renamed after it had been opened.
            if files.iter().any(|other| other.inode() == file.inode()) {
                return Ok(None);
            }
            files.push(file);
        }
        let has_hole = none_if_absent(inode_at(&self.name(files.len() + 1)))?.is_some();
        let is_same = files.first().is_some_and(|newest| self.newest_is(newest.inode()));
        files.reverse();
        Ok((is_same && !has_hole).then_some(files))
    }

    fn name(&self, number: usize) -> PathBuf {
        if number == 0 {
            return self.newest.clone();
        }
        let mut name = OsString::from(&self.newest);
        name.push(format!(".{number}"));
        name.into()
    }
}

fn inode_at(path: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.ino())
}

fn none_if_absent<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
