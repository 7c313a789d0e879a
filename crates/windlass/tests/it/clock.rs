//! A clock of its own for a server, and for the edge that it starts.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// What shows a process the time that a file says.
const LIBRARY: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

pub struct Clock {
    file: PathBuf,
    _folder: TempDir,
}

impl Clock {
    /// It shows the machine's time at first.
    pub fn new() -> Self {
        // Without it the loader only warns, and nothing would be tried.
        assert!(Path::new(LIBRARY).exists(), "{LIBRARY} is missing: scripts/setup test");
        let folder = tempfile::tempdir().expect("a folder");
        let clock = Self { file: folder.path().join("clock"), _folder: folder };
        clock.set(0);
        clock
    }

    /// From now on it shows so many seconds more than the machine's.
    pub fn set(&self, seconds: i64) {
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{seconds:+}")).expect("a file");
        std::fs::rename(new, &self.file).expect("a file");
    }

    /// The variables of a process that has this clock.
    pub fn environment(&self) -> [(&str, &str); 4] {
        [
            ("LD_PRELOAD", LIBRARY),
            ("FAKETIME_TIMESTAMP_FILE", self.file.to_str().expect("a path")),
            ("FAKETIME_NO_CACHE", "1"),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ]
    }
}
