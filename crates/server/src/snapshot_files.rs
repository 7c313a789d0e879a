//! The tars of snapshots: one file each, with the id as its name. A file is there as a whole or not at all.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tokio::fs::{self, File};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufWriter};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use uuid::Uuid;
use windlass_durable::kill_point;

use crate::config::Config;

/// What is written at once.
const BUFFER: usize = 1 << 20;
/// What is read at once, and how many of these wait to be sent.
const PIECE: usize = 256 << 10;
const PIECES: usize = 4;
/// What is still being written has an ending of its own.
const UNFINISHED: &str = "part";
/// An unfinished file that was not written to for so long is of an attempt that is over.
const LEFT_AFTER: Duration = Duration::from_secs(86_400);

/// What was written, or read to the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub bytes: u64,
    /// In hexadecimal digits.
    pub sha256: String,
}

pub fn folder(config: &Config) -> PathBuf {
    config.snapshot_dir.clone().unwrap_or_else(|| config.data_dir.join("snapshots"))
}

pub fn path(config: &Config, id: Uuid) -> PathBuf {
    folder(config).join(format!("{id}.tar"))
}

/// A file that is being written. Unless it is finished, nothing is there under its name.
pub struct SnapshotFile {
    file: BufWriter<File>,
    path: PathBuf,
    unfinished: PathBuf,
    hash: Sha256,
    pub bytes: u64,
}

impl SnapshotFile {
    /// What an attempt before this one has left is written over.
    pub async fn create(config: &Config, id: Uuid) -> io::Result<Self> {
        let path = path(config, id);
        let unfinished = path.with_extension(UNFINISHED);
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder(config)).await?;
        let file = fs::OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&unfinished).await?;
        Ok(Self { file: BufWriter::with_capacity(BUFFER, file), path, unfinished, hash: Sha256::new(), bytes: 0 })
    }

    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        self.file.write_all(bytes).await
    }

    pub async fn finish(mut self) -> io::Result<Summary> {
        self.file.flush().await?;
        self.file.get_ref().sync_all().await?;
        kill_point::reached("snapshot-written");
        fs::rename(&self.unfinished, &self.path).await?;
        if let Some(folder) = self.path.parent() {
            File::open(folder).await?.sync_all().await?;
        }
        Ok(Summary { bytes: self.bytes, sha256: digits(std::mem::take(&mut self.hash)) })
    }
}

/// One that is not finished is of no use. Nothing is there any more of one that is.
impl Drop for SnapshotFile {
    fn drop(&mut self) {
        let unfinished = std::mem::take(&mut self.unfinished);
        tokio::task::spawn_blocking(move || std::fs::remove_file(unfinished));
    }
}

/// Pieces of a file, as they are read.
pub type Pieces = mpsc::Receiver<io::Result<Bytes>>;

/// The pieces of a file, read as they are taken, and what they were in all once the last was taken. Fails when there is no such file.
pub async fn pieces(config: &Config, id: Uuid) -> io::Result<(Pieces, JoinHandle<io::Result<Summary>>)> {
    let (sender, receiver) = mpsc::channel(PIECES);
    let file = File::open(path(config, id)).await?;
    let reading = tokio::spawn(async move {
        let read = read(file, &sender).await;
        if let Err(error) = &read {
            let _ = sender.send(Err(io::Error::new(error.kind(), error.to_string()))).await;
        }
        read
    });
    Ok((receiver, reading))
}

async fn read(mut file: File, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<Summary> {
    let (mut hash, mut bytes) = (Sha256::new(), 0);
    file.set_max_buf_size(PIECE);
    loop {
        let mut piece = bytes::BytesMut::with_capacity(PIECE);
        if file.read_buf(&mut piece).await? == 0 {
            return Ok(Summary { bytes, sha256: digits(hash) });
        }
        hash.update(&piece);
        bytes += piece.len() as u64;
        if sender.send(Ok(piece.freeze())).await.is_err() {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the rest of the snapshot was not taken"));
        }
    }
}

/// Owner, group and mode of the folder that the tar is of: its first entry.
pub async fn root(config: &Config, id: Uuid) -> io::Result<(u64, u64, u32)> {
    let path = path(config, id);
    let read = move || {
        let mut archive = tar::Archive::new(std::fs::File::open(path)?);
        let first = archive.entries()?.next().ok_or(io::ErrorKind::UnexpectedEof)??;
        let header = first.header();
        Ok((header.uid()?, header.gid()?, header.mode()? & 0o7777))
    };
    tokio::task::spawn_blocking(read).await.map_err(io::Error::other)?
}

/// One that is gone already is fine.
pub async fn remove(config: &Config, id: Uuid) -> io::Result<()> {
    let path = path(config, id);
    remove_if_there(&path.with_extension(UNFINISHED)).await?;
    remove_if_there(&path).await
}

async fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Removes what attempts have left that are long over.
pub async fn sweep(config: &Config) -> io::Result<()> {
    let mut entries = match fs::read_dir(folder(config)).await {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    while let Some(entry) = entries.next_entry().await? {
        let path = entry.path();
        let age = entry.metadata().await?.modified()?.elapsed().unwrap_or_default();
        if path.extension().is_some_and(|ending| ending == UNFINISHED) && age > LEFT_AFTER {
            remove_if_there(&path).await?;
        }
    }
    Ok(())
}

fn digits(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
