//! The folder of a build as a tar archive, made while it is sent. Links are sent as links, never followed; only of a
//! Dockerfile that is a link the file itself is sent, because the engine may not get what it leads to.

use std::fs::{self, File, Metadata};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use bytes::Bytes;
use rustix::fs::{Mode, OFlags, ResolveFlags};
use tar::{EntryType, Header};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::ignore::{Ignore, LastMatch};
use super::{Build, Dockerfile};
use crate::Error;

const CHUNK: usize = 64 << 10;
/// How many chunks may wait for the engine.
const CHUNKS_AHEAD: usize = 8;
const LONGEST_IGNORE_FILE: u64 = 1 << 20;

/// The thread that reads the folder.
pub(super) struct FolderReader(JoinHandle<io::Result<()>>);

impl FolderReader {
    /// What kept the folder from being read, unless it was that the build did not read it any more.
    pub(super) async fn failure(self) -> Option<Error> {
        match self.0.await {
            Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => {
                Some(Error::Context { message: error.to_string() })
            }
            _ => None,
        }
    }
}

/// Where a repository is in its tree.
const GIT: &str = ".git";

pub(super) fn read(build: &Build) -> (mpsc::Receiver<io::Result<Bytes>>, FolderReader) {
    let (folder, git) = (build.context.clone(), build.git.clone());
    let (tree, dockerfile) = (build.tree.clone(), build.dockerfile.clone());
    let (sender, receiver) = mpsc::channel(CHUNKS_AHEAD);
    let reading = tokio::task::spawn_blocking(move || {
        let chunks = Chunks { sender: sender.clone(), filled: Vec::with_capacity(CHUNK) };
        let result = archive(&folder, git.as_deref(), &tree, &dockerfile, chunks);
        if result.is_err() {
            // The body must not look complete.
            let _ = sender.blocking_send(Err(io::Error::other("the build context cannot be read")));
        }
        result
    });
    (receiver, FolderReader(reading))
}

fn archive(folder: &Path, git: Option<&Path>, tree: &Path, dockerfile: &Dockerfile, chunks: Chunks) -> io::Result<()> {
    let sent = Sent { folder: Root::open(folder)?, git: git.map(Root::open).transpose()? };
    let own = dockerfile.path();
    let engine = chunks.sender.clone();
    let mut archive = tar::Builder::new(chunks);
    let (linked, ignore) = match dockerfile {
        Dockerfile::InContext(path) => {
            let linked = linked_dockerfile(folder, tree, path).map_err(|error| about(Path::new(path), &error))?;
            (linked, ignore_file(&sent.folder, path)?)
        }
        Dockerfile::Given { text, ignored } => {
            append_text(&mut archive, own, text)?;
            let ignore = match ignored {
                Some(patterns) => Ignore::parse(patterns, &[]).map_err(io::Error::other)?,
                None => ignore_file(&sent.folder, own)?,
            };
            (None, ignore)
        }
    };
    let is_given = matches!(dockerfile, Dockerfile::Given { .. });
    let below = |children: Vec<PathBuf>, above: LastMatch| children.into_iter().map(move |child| (child, above));
    let mut pending: Vec<_> = below(sent.children(Path::new(""))?, LastMatch::default()).collect();
    while let Some((path, above)) = pending.pop() {
        // A build that was given up must not keep this thread busy, though it has nothing to send.
        if engine.is_closed() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        if is_given && is_same(&path, own) {
            continue;
        }
        let (root, place) = sent.place(&path);
        let metadata = fs::symlink_metadata(root.path.join(place)).map_err(|error| about(&path, &error))?;
        let last = ignore.last_match(&path, above);
        let ignored = ignore.covers(&path, last);
        if let Some(file) = linked.as_ref().filter(|_| metadata.is_symlink() && is_same(&path, own)) {
            append_file(&mut archive, &path, file.try_clone()?, &file.metadata()?)
                .map_err(|error| about(&path, &error))?;
        } else if !ignored {
            append(&mut archive, root, place, &path, &metadata)?;
        }
        if metadata.is_dir() && (!ignored || ignore.may_spare_something_below()) {
            pending.extend(below(sent.children(&path)?, last));
        }
    }
    archive.into_inner()?.flush()
}

/// The file that a Dockerfile leads to when it is a link. It must be there, and in the tree.
fn linked_dockerfile(folder: &Path, tree: &Path, dockerfile: &str) -> io::Result<Option<File>> {
    let below = folder.strip_prefix(tree).map_err(|_| io::Error::other("the build context is not in its tree"))?;
    let file = Root::open(tree)?.file(&below.join(dockerfile))?;
    let is_link = fs::symlink_metadata(folder.join(dockerfile))?.is_symlink();
    Ok(Some(file).filter(|_| is_link))
}

fn is_same(path: &Path, dockerfile: &str) -> bool {
    let written = Path::new(dockerfile).components().filter(|part| *part != Component::CurDir);
    path.components().eq(written)
}

/// The folder itself. Nothing outside of it can be opened through it.
struct Root<'a> {
    path: &'a Path,
    descriptor: OwnedFd,
}

impl<'a> Root<'a> {
    fn open(path: &'a Path) -> io::Result<Self> {
        let descriptor = File::open(path).map_err(|error| about(path, &error))?.into();
        Ok(Self { path, descriptor })
    }

    fn file(&self, path: &Path) -> io::Result<File> {
        // Not waiting matters for what turns out to be a pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let descriptor = rustix::fs::openat2(&self.descriptor, path, flags, Mode::empty(), within)?;
        Ok(descriptor.into())
    }
}

/// What the engine gets: the folder, and the repository in the place of what the folder itself may have there.
struct Sent<'a> {
    folder: Root<'a>,
    git: Option<Root<'a>>,
}

impl<'a> Sent<'a> {
    /// Where a path of the archive is: below which root, and where there.
    fn place<'b>(&self, path: &'b Path) -> (&Root<'a>, &'b Path) {
        match (&self.git, path.strip_prefix(GIT)) {
            (Some(git), Ok(below)) => (git, below),
            _ => (&self.folder, path),
        }
    }

    /// In descending order, because the last one is taken first.
    fn children(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        let (root, place) = self.place(path);
        let listed = || -> io::Result<Vec<PathBuf>> {
            fs::read_dir(root.path.join(place))?.map(|entry| Ok(path.join(entry?.file_name()))).collect()
        };
        let mut children = listed().map_err(|error| about(path, &error))?;
        if path.as_os_str().is_empty() {
            children.retain(|child| child.as_path() != Path::new(GIT));
            children.extend(self.git.is_some().then(|| PathBuf::from(GIT)));
        }
        children.sort_unstable_by(|a, b| b.cmp(a));
        Ok(children)
    }
}

/// A Dockerfile may have an ignore file of its own, beside it.
fn ignore_file(root: &Root<'_>, dockerfile: &str) -> io::Result<Ignore> {
    let own = format!("{dockerfile}.dockerignore");
    for name in [own.as_str(), ".dockerignore"] {
        let mut text = Vec::new();
        match root.file(Path::new(name)).and_then(|file| file.take(LONGEST_IGNORE_FILE).read_to_end(&mut text)) {
            Ok(_) => {
                let ignore = Ignore::parse(&String::from_utf8_lossy(&text), &[dockerfile, &own, ".dockerignore"]);
                return ignore.map_err(|problem| about(Path::new(name), &io::Error::other(problem)));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(about(Path::new(name), &error)),
        }
    }
    Ok(Ignore::default())
}

fn append(
    archive: &mut tar::Builder<Chunks>,
    root: &Root<'_>,
    place: &Path,
    path: &Path,
    metadata: &Metadata,
) -> io::Result<()> {
    let kind = metadata.file_type();
    let appended = if kind.is_symlink() {
        fs::read_link(root.path.join(place))
            .and_then(|target| archive.append_link(&mut header(metadata, EntryType::Symlink, 0), path, target))
    } else if kind.is_dir() {
        archive.append_data(&mut header(metadata, EntryType::Directory, 0), path, io::empty())
    } else if kind.is_file() {
        root.file(place).and_then(|file| append_file(archive, path, file, metadata))
    } else {
        // Sockets, pipes and devices mean nothing elsewhere.
        Ok(())
    };
    appended.map_err(|error| about(path, &error))
}

/// Always with the same time: whatever is built again is taken from the cache.
fn append_text(archive: &mut tar::Builder<Chunks>, path: &str, text: &str) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_size(text.len() as u64);
    archive.append_data(&mut header, path, text.as_bytes())
}

fn append_file(archive: &mut tar::Builder<Chunks>, path: &Path, file: File, metadata: &Metadata) -> io::Result<()> {
    let contents = Exactly { file, left: metadata.len() };
    archive.append_data(&mut header(metadata, EntryType::Regular, metadata.len()), path, contents)
}

/// Without the users and groups of this machine: what is built belongs to root unless the Dockerfile says otherwise.
fn header(metadata: &Metadata, kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(metadata.mode() & 0o7777);
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header
}

fn about(path: &Path, error: &io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return io::ErrorKind::BrokenPipe.into();
    }
    io::Error::other(format!("{}: {error}", path.display()))
}

/// A file's length is written before its contents, so exactly that much must follow.
struct Exactly {
    file: File,
    left: u64,
}

impl Read for Exactly {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let got = self.file.read(&mut buffer[..wanted])?;
        if got == 0 && wanted > 0 {
            return Err(io::Error::other("it became shorter while it was read"));
        }
        self.left -= got as u64;
        Ok(got)
    }
}

/// Gathers what the archive writes into chunks, and waits while the engine is busy.
struct Chunks {
    sender: mpsc::Sender<io::Result<Bytes>>,
    filled: Vec<u8>,
}

impl Write for Chunks {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK - self.filled.len());
        self.filled.extend_from_slice(&bytes[..taken]);
        if self.filled.len() == CHUNK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.filled.is_empty() {
            return Ok(());
        }
        let chunk = std::mem::replace(&mut self.filled, Vec::with_capacity(CHUNK));
        self.sender.blocking_send(Ok(chunk.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// Patterns that take long to find out that they do not match, and many paths that nothing is sent of.
    #[tokio::test]
    async fn a_build_that_was_given_up_leaves_no_thread_busy() {
        let folder = tempfile::tempdir().unwrap();
        let slow = format!("*\n{}", "**/*a*a*a*a*a*a*a*ab\n".repeat(900));
        fs::write(folder.path().join(".dockerignore"), slow).unwrap();
        fs::write(folder.path().join("Dockerfile"), "FROM scratch\n").unwrap();
        for number in 0..3_000 {
            fs::write(folder.path().join(format!("{number}{}", "a".repeat(200))), "").unwrap();
        }
        let (chunks, reading) = read(&Build::of_folder(folder.path()));
        drop(chunks);
        let began = Instant::now();
        assert!(reading.failure().await.is_none(), "that a build was given up is no failure of the folder");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
}
