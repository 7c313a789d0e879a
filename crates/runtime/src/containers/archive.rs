//! Files of a container as tar archives, out of it and into it. It need not run, and may never have been started: the
//! engine mounts its volumes for the call. While it works on one archive, all other calls for the container wait.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use tar::Header;
use tokio::sync::mpsc;

use super::entries::{Entries, Entry};
use super::{HEAVY_LIMIT, none_if_absent};
use crate::call::{encoded, within};
use crate::connection::{EngineAnswer, RequestBody};
use crate::{Docker, Error, Result};

/// How long the engine may take for the next bytes of an archive.
const CHUNK_LIMIT: Duration = Duration::from_secs(60);
const TAR: &str = "application/x-tar";
/// As many as the kernel follows.
const MOST_LINKS: usize = 40;

/// A tar archive, as the engine makes it.
pub struct Archive {
    answer: EngineAnswer,
    entries: Entries,
}

/// A file that a container gets.
pub struct NewFile<'a> {
    pub path: &'a str,
    pub content: &'a [u8],
    pub mode: u32,
    pub uid: u64,
    pub gid: u64,
}

/// The folder at a volume's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeRoot {
    pub uid: u64,
    pub gid: u64,
    pub mode: u32,
    /// Whether there is nothing in it.
    pub is_empty: bool,
}

impl Archive {
    /// The next bytes; none at the end. The engine says nothing when a file becomes shorter while it reads it, and ends
    /// the archive there: that is an error.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>> {
        let chunk = self.received().await?;
        let mut bytes = chunk.as_deref().unwrap_or_default();
        while self.entries.next(&mut bytes)?.is_some() {}
        Ok(chunk)
    }

    /// The next entry, with the bytes behind its header that are there already; none at the end.
    async fn entry(&mut self, chunk: &mut Bytes) -> Result<Option<Entry>> {
        loop {
            let mut bytes = chunk.as_ref();
            let entry = self.entries.next(&mut bytes)?;
            *chunk = chunk.slice_ref(bytes);
            if entry.is_some() {
                return Ok(entry);
            }
            match self.received().await? {
                Some(more) => *chunk = more,
                None => return Ok(None),
            }
        }
    }

    /// The first entry of an archive of a folder.
    async fn folder(&mut self, chunk: &mut Bytes) -> Result<Entry> {
        let folder = self.entry(chunk).await?.filter(|entry| entry.kind.is_dir());
        folder.ok_or_else(|| Error::unreadable("the archive does not begin with a folder"))
    }

    async fn received(&mut self) -> Result<Option<Bytes>> {
        let chunk = within("send more of an archive", CHUNK_LIMIT, self.answer.chunk()).await?;
        if chunk.is_none() && !self.entries.are_complete() {
            return Err(Error::unreadable("the archive is cut off, as when a file shrinks while it is read"));
        }
        Ok(chunk)
    }
}

impl Docker {
    /// What is in the folder at `path`. The folder itself is the first entry, "./"; all others begin with that too, as
    /// in "./sub/" and "./sub/file", and so do targets of hard links. Names that are not short ASCII come as PAX
    /// headers. Sockets are left out, and so are files that vanish while the engine reads; of extended attributes only
    /// capabilities are kept. Volumes that are mounted below `path` are in it.
    pub async fn archive(&self, container: &str, path: &str) -> Result<Archive> {
        self.archive_of(container, &format!("{}/.", path.trim_end_matches('/'))).await
    }

    /// Of a file, or of a folder if the path ends with "/.".
    async fn archive_of(&self, container: &str, path: &str) -> Result<Archive> {
        let call = self.get("read files of a container", archive_path(container)).query("path", path);
        let answer = call.limit(HEAVY_LIMIT).stream().await?;
        Ok(Archive { answer, entries: Entries::default() })
    }

    /// Unpacks a tar archive into the folder at `path`, with the owners, modes, times and links that it has. Files that
    /// are there already are replaced if it has them too. The engine passes over the entry "./": see
    /// [`Docker::set_owner`]. A file with more than one hard link comes without its setuid and setgid bits. An archive
    /// that just ends is unpacked as far as it goes, so a sender that cannot go on must send its error.
    pub async fn extract(
        &self,
        container: &str,
        path: &str,
        tar: mpsc::Receiver<io::Result<Bytes>>,
        limit: Duration,
    ) -> Result<()> {
        let call = self.put("unpack files into a container", archive_path(container)).query("path", path);
        call.upload(TAR, RequestBody::Stream(tar)).limit(limit).done().await
    }

    /// The folder at `path`, of which not more is read than the first entries. Folders that lead to `mounted`, where other
    /// volumes are, are not counted as something in it.
    pub async fn volume_root(&self, container: &str, path: &str, mounted: &[&str]) -> Result<VolumeRoot> {
        let mut archive = self.archive(container, path).await?;
        let mut chunk = Bytes::new();
        let root = archive.folder(&mut chunk).await?;
        let mut is_empty = true;
        while is_empty && let Some(entry) = archive.entry(&mut chunk).await? {
            is_empty = leads_to(path, &entry.name, mounted);
        }
        Ok(VolumeRoot { uid: root.uid, gid: root.gid, mode: root.mode, is_empty })
    }

    /// Gives the folder at `path` an owner and a mode, but not what is in it. Its time stays.
    pub async fn set_owner(&self, container: &str, path: &str, uid: u64, gid: u64, mode: u32) -> Result<()> {
        // The engine passes over an entry for the folder into which it unpacks, so it must unpack into the one above.
        let (Some(above), Some(name)) = (Path::new(path).parent(), Path::new(path).file_name()) else {
            return Err(Error::Refused { status: 400, message: format!("\"{path}\" has no folder above it") });
        };
        // It ends here, because the next call would wait for it.
        let old = self.archive(container, path).await?.folder(&mut Bytes::new()).await?;
        let new = Entry { uid, gid, mode, ..old };
        let tar = archive_of_folder(Path::new(name), &new).map_err(Error::unreadable)?;
        let call = self
            .put("set the owner of a folder", archive_path(container))
            .query("path", &above.to_string_lossy())
            // A link is refused; without this it would be replaced by a folder.
            .query("noOverwriteDirNonDir", "true")
            .upload(TAR, RequestBody::Whole(Some(tar.into())));
        call.limit(HEAVY_LIMIT).done().await
    }

    /// Puts files into a container. Folders on the way are made; a file that is there is replaced.
    pub async fn write_files(&self, container: &str, files: &[NewFile<'_>]) -> Result<()> {
        let mut tar = tar::Builder::new(Vec::new());
        for file in files {
            let mut header = Header::new_gnu();
            header.set_size(file.content.len() as u64);
            header.set_mode(file.mode);
            header.set_uid(file.uid);
            header.set_gid(file.gid);
            let name = file.path.trim_start_matches('/');
            tar.append_data(&mut header, name, file.content).map_err(Error::unreadable)?;
        }
        let tar = tar.into_inner().map_err(Error::unreadable)?;
        let call = self
            .put("put files into a container", archive_path(container))
            .query("path", "/")
            .upload(TAR, RequestBody::Whole(Some(tar.into())));
        call.limit(HEAVY_LIMIT).done().await
    }

    /// What a file holds, or the file to which a link leads. None if it is not there; one with more bytes than `most`
    /// is an error.
    pub async fn read_file(&self, container: &str, path: &str, most: usize) -> Result<Option<Vec<u8>>> {
        let mut path = path.to_owned();
        for _ in 0..MOST_LINKS {
            let Some(mut archive) = none_if_no_file(self.archive_of(container, &path).await)? else { return Ok(None) };
            let mut chunk = Bytes::new();
            match archive.entry(&mut chunk).await? {
                Some(entry) if entry.kind.is_file() => return content(archive, chunk, &entry, most).await.map(Some),
                Some(entry) if entry.kind.is_symlink() => path = target(&path, &entry)?,
                _ => return Err(Error::unreadable(format!("{path} is no file"))),
            }
        }
        Err(Error::unreadable(format!("{path} leads through too many links")))
    }
}

/// Whether the entry of an archive of the folder at `path` is where another volume is mounted, or on the way there.
fn leads_to(path: &str, entry: &[u8], mounted: &[&str]) -> bool {
    let entry = String::from_utf8_lossy(entry);
    let entry = Path::new(path).join(entry.trim_start_matches("./"));
    mounted.iter().any(|mounted| Path::new(mounted).starts_with(&entry))
}

fn archive_path(container: &str) -> String {
    format!("/containers/{}/archive", encoded(container))
}

/// Only the file may be missing, not the container.
fn none_if_no_file<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error @ Error::NotFound { .. }) if !error.is_missing_file() => Err(error),
        other => none_if_absent(other),
    }
}

async fn content(mut archive: Archive, mut chunk: Bytes, entry: &Entry, most: usize) -> Result<Vec<u8>> {
    let size = usize::try_from(entry.size).ok().filter(|size| *size <= most);
    let size = size.ok_or_else(|| Error::unreadable(format!("the file has more than {most} bytes")))?;
    let mut content = Vec::with_capacity(size);
    loop {
        let missing = size - content.len();
        content.extend_from_slice(&chunk[..missing.min(chunk.len())]);
        if content.len() == size {
            return Ok(content);
        }
        chunk = archive.received().await?.ok_or_else(|| Error::unreadable("the file is cut off"))?;
    }
}

/// Where a link leads that is at `path`.
fn target(path: &str, link: &Entry) -> Result<String> {
    let target = std::str::from_utf8(&link.link).map_err(Error::unreadable)?;
    let target = Path::new(path).parent().unwrap_or(Path::new("/")).join(target);
    Ok(target.to_string_lossy().into_owned())
}

/// A tar archive of one folder without what is in it.
fn archive_of_folder(name: &Path, folder: &Entry) -> io::Result<Vec<u8>> {
    let mut header = Header::new_gnu();
    header.set_entry_type(folder.kind);
    header.set_uid(folder.uid);
    header.set_gid(folder.gid);
    header.set_mode(folder.mode);
    header.set_mtime(folder.modified);
    header.set_size(0);
    let mut archive = tar::Builder::new(Vec::new());
    archive.append_data(&mut header, name, io::empty())?;
    archive.into_inner()
}
