//! Files that are replaced as a whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{ErrorKind, Result, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::kill_point;

/// The points of [`replace`] at which a test can crash.
pub const KILL_POINTS: [&str; 3] = ["replace-half-written", "replace-before-rename", "replace-after-rename"];

/// Makes `content` what the file holds, readable by its owner only. Whatever happens, even a power failure, it holds
/// the old content or the new one.
pub fn replace(path: &Path, content: &[u8]) -> Result<()> {
    // A link stays one: what it leads to is written.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = beside(path);
    // One that a crash has left may have another mode.
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&temporary)?;
    let (first, second) = content.split_at(content.len() / 2);
    file.write_all(first)?;
    kill_point::reached("replace-half-written");
    file.write_all(second)?;
    file.sync_all()?;
    kill_point::reached("replace-before-rename");
    fs::rename(&temporary, path)?;
    kill_point::reached("replace-after-rename");
    File::open(folder)?.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(path.file_name().unwrap_or_default());
    name.push(".new");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn replaces_the_whole_file_and_keeps_links() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.json"), folder.path().join("link.json"));
        replace(&real, b"a long first content").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        fs::write(beside(&real), "left by a crash").unwrap();
        replace(&link, b"second").unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"second");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!beside(&real).exists());
    }
}
