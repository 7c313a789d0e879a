//! Sizes of folders, and their removal.

use std::io;
use std::path::Path;

/// What a file costs beside its bytes, so that a million empty ones count too.
pub const COST_OF_A_FILE: u64 = 4096;

/// What changes meanwhile does not matter: the size is looked at again.
pub fn size_of(path: &Path) -> u64 {
    let mut size = 0;
    let mut folders = vec![path.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for (entry, metadata) in entries.filter_map(|entry| entry.metadata().ok().map(|metadata| (entry, metadata))) {
            size += COST_OF_A_FILE;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                size += metadata.len();
            }
        }
    }
    size
}

/// A file or a folder with all that is in it; nothing is no error.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
