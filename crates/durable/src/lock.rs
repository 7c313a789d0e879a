//! One process per file. The lock is the system's, so it ends with the process, however that ends.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Pid;

const PAUSE: Duration = Duration::from_millis(20);
/// A killed process keeps its lock until the kernel has freed its memory, which can take seconds.
const LONGEST_END: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub enum LockError {
    /// By the process that the file names.
    Held(String),
    Io(io::Error),
}

/// Takes the lock, for as long as the file is open, and signs it.
pub fn take(path: &Path) -> Result<File, LockError> {
    let mut options = fs::OpenOptions::new();
    options.create(true).read(true).write(true).truncate(false).mode(0o600);
    let mut file = options.open(path).map_err(LockError::Io)?;
    let mut holder = String::new();
    let deadline = Instant::now() + LONGEST_END;
    while Instant::now() < deadline {
        match file.try_lock() {
            Ok(()) => {
                sign(&mut file);
                return Ok(file);
            }
            Err(TryLockError::WouldBlock) => holder = signature(&mut file),
            Err(TryLockError::Error(error)) => return Err(LockError::Io(error)),
        }
        if is_alive(&holder) {
            break;
        }
        // It has not signed yet, or is about to end, or only wanted to know whether a process is there.
        std::thread::sleep(PAUSE);
    }
    Err(LockError::Held(holder))
}

/// Writes this process's id into a lock that it holds. For people and messages only: the lock itself is the system's.
pub fn sign(lock: &mut File) {
    let _ = lock.set_len(0).and_then(|()| lock.seek(SeekFrom::Start(0)));
    let _ = writeln!(lock, "{}", std::process::id());
}

/// The process that holds a lock, if there is one.
pub fn holder(path: &Path) -> Option<Pid> {
    let mut file = File::open(path).ok()?;
    if file.try_lock_shared().is_ok() {
        return None;
    }
    signature(&mut file).parse().ok().and_then(Pid::from_raw)
}

fn signature(lock: &mut File) -> String {
    let mut text = String::new();
    let _ = lock.seek(SeekFrom::Start(0)).and_then(|_| lock.read_to_string(&mut text));
    text.trim().to_owned()
}

/// Whether a process runs and has not been killed.
fn is_alive(pid: &str) -> bool {
    const KILL: u64 = 1 << (9 - 1);
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return false };
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    let is_pending = |name: &str| u64::from_str_radix(field(name), 16).is_ok_and(|signals| signals & KILL != 0);
    !field("State:").starts_with(['Z', 'X']) && !is_pending("SigPnd:") && !is_pending("ShdPnd:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time_which_can_be_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lock");
        assert!(holder(&path).is_none());
        let lock = take(&path).unwrap();
        assert_eq!(holder(&path), Some(rustix::process::getpid()));
        match take(&path) {
            Err(LockError::Held(pid)) => assert_eq!(pid, std::process::id().to_string()),
            other => panic!("{other:?}"),
        }
        drop(lock);
        assert!(holder(&path).is_none());
        take(&path).unwrap();
    }
}
