//! What was received of an upload: one file each, with the id as its name.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt;
use uuid::Uuid;

use crate::config::Config;
use crate::pushed_repository;

const ENDING: &str = "part";
/// What is read at once.
const PIECE: usize = 256 << 10;
/// How long another one's lock is waited for.
const MOMENT: Duration = Duration::from_millis(500);

/// Beside the repositories that it is unpacked into.
pub fn folder(config: &Config) -> PathBuf {
    pushed_repository::root(config).join("uploads")
}

fn path(config: &Config, id: Uuid) -> PathBuf {
    folder(config).join(format!("{id}.{ENDING}"))
}

/// A file that this request alone writes to, as long as this is there.
pub struct PartFile {
    file: File,
    pub bytes: u64,
}

impl PartFile {
    /// None while another request has it, of this server or of another one.
    pub async fn open(config: &Config, id: Uuid) -> io::Result<Option<Self>> {
        let (folder, path) = (folder(config), path(config, id));
        tokio::task::spawn_blocking(move || open(&folder, &path)).await?
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).await?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// What was written is still there after the machine has lost its power.
    pub async fn keep(&mut self) -> io::Result<()> {
        self.file.flush().await?;
        self.file.sync_data().await
    }
}

/// The SHA-256 of all of it, in hexadecimal digits, and the same file to be read.
pub async fn hashed(config: &Config, id: Uuid) -> io::Result<(String, std::fs::File)> {
    let path = path(config, id);
    let read = move || {
        let mut file = std::fs::File::open(path)?;
        Ok::<_, io::Error>((hash(&mut file)?, file))
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

fn open(folder: &Path, path: &Path) -> io::Result<Option<PartFile>> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let file = std::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
    if !lock(&file)? {
        return Ok(None);
    }
    let bytes = file.metadata()?.len();
    Ok(Some(PartFile { file: File::from_std(file), bytes }))
}

/// The lock is the system's: it ends with the process, however that ends. A program that is just being started has a copy of each file
/// that is open here, and of its lock, for a moment; so a lock is waited for.
fn lock(file: &std::fs::File) -> io::Result<bool> {
    let deadline = Instant::now() + MOMENT;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
            Err(std::fs::TryLockError::WouldBlock) if Instant::now() >= deadline => return Ok(false),
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn hash(file: &mut std::fs::File) -> io::Result<String> {
    use std::io::{Read, Seek};
    let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => hash.update(&piece[..count]),
        }
    }
    file.rewind()?;
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// How many bytes there are; 0 when there is no file yet.
pub async fn received(config: &Config, id: Uuid) -> io::Result<u64> {
    match fs::metadata(path(config, id)).await {
        Ok(metadata) => Ok(metadata.len()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// One that is gone already is fine.
pub async fn remove(config: &Config, id: Uuid) -> io::Result<()> {
    remove_if_there(&path(config, id)).await
}

async fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The ids of all files that are there.
pub async fn all(config: &Config) -> io::Result<HashSet<Uuid>> {
    let mut found = HashSet::new();
    let mut entries = match fs::read_dir(folder(config)).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    while let Some(entry) = entries.next_entry().await? {
        let path = entry.path();
        let id = path.file_stem().and_then(|name| Uuid::try_parse(name.to_str()?).ok());
        found.extend(id.filter(|_| path.extension().is_some_and(|ending| ending == ENDING)));
    }
    Ok(found)
}
