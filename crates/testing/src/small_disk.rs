//! A disk that can be filled.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A disk in memory, which goes with the value. Mounting it takes root.
pub struct SmallDisk {
    pub path: PathBuf,
}

impl SmallDisk {
    pub fn mount(size: &str) -> Self {
        let path = tempfile::tempdir().expect("a folder").keep();
        let options = format!("size={size}");
        run("mount", &["-t", "tmpfs", "-o", &options, "windlass-test"], &path);
        Self { path }
    }

    /// All but so many bytes of it, with a file that makes room again when it is removed.
    pub fn fill(&self, left: usize) -> PathBuf {
        let path = self.path.join("ballast");
        let mut file = std::fs::File::create(&path).expect("a file");
        let piece = vec![0_u8; 64 * 1024];
        while file.write_all(&piece).is_ok() {}
        let length = file.metadata().expect("its length").len();
        file.set_len(length - left as u64).expect("some room");
        path
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        run("umount", &["--lazy"], &self.path);
        let _ = std::fs::remove_dir(&self.path);
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) {
    let status = Command::new(program).args(arguments).arg(path).status().expect("it starts");
    assert!(status.success(), "{program} {arguments:?} failed");
}
