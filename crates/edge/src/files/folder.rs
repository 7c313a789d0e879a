//! A folder on disk, and nothing outside it. Everything here blocks.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::buffer::spare_capacity;
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, retry_on_intr};

/// The system asks to try again when names move while it walks through them.
const TRIES: usize = 8;

pub struct Folder(OwnedFd);

pub enum FolderEntry {
    File(Opened),
    Folder,
    Nothing,
}

/// A regular file.
pub struct Opened {
    pub fd: OwnedFd,
    pub stamp: Stamp,
}

/// What changes when a file does. No program can set the time of the last change, so two versions of a file differ in
/// it even when their size and time of modification were made the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    device: u64,
    inode: u64,
    pub size: u64,
    pub modified: FileTime,
    pub changed: FileTime,
}

/// Seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime(pub i64, pub i64);

impl Folder {
    /// None when it is not there. It is looked up for each use: a deployment may put another folder in its place.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty())) {
            Ok(fd) => Ok(Some(Self(fd))),
            Err(errno) if means_nothing(errno) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What is at a path. A link is followed if it stays inside the folder; what is outside is not there.
    pub fn look(&self, path: &[u8]) -> io::Result<FolderEntry> {
        match self.open_beneath(path) {
            Ok(fd) => entry(fd),
            Err(errno) if means_nothing(errno) => Ok(FolderEntry::Nothing),
            Err(errno) => Err(errno.into()),
        }
    }

    pub fn file(&self, path: &[u8]) -> io::Result<Option<Opened>> {
        Ok(match self.look(path)? {
            FolderEntry::File(opened) => Some(opened),
            FolderEntry::Folder | FolderEntry::Nothing => None,
        })
    }

    /// Without waiting for the other end of a pipe. That it is no regular file shows afterwards.
    fn open_beneath(&self, path: &[u8]) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        let mut tries = 0;
        loop {
            let result = rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve);
            tries += 1;
            if !matches!(result, Err(Errno::AGAIN | Errno::INTR)) || tries == TRIES {
                return result;
            }
        }
    }
}

fn entry(fd: OwnedFd) -> io::Result<FolderEntry> {
    let stat = rustix::fs::fstat(&fd)?;
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => FolderEntry::File(Opened { fd, stamp: Stamp::from(&stat) }),
        FileType::Directory => FolderEntry::Folder,
        _ => FolderEntry::Nothing,
    })
}

impl From<&rustix::fs::Stat> for Stamp {
    fn from(stat: &rustix::fs::Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: FileTime(stat.st_mtime, stat.st_mtime_nsec as i64),
            changed: FileTime(stat.st_ctime, stat.st_ctime_nsec as i64),
        }
    }
}

/// No such file, for a visitor: it is not there, leads outside, may not be read, or cannot be the name of one. Anything
/// else, such as too many open files, is a failure of this machine.
fn means_nothing(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::XDEV
            | Errno::NAMETOOLONG
            | Errno::ACCESS
            | Errno::PERM
            | Errno::NXIO
            | Errno::NODEV
            | Errno::INVAL
            | Errno::ILSEQ
    )
}

/// At most this many bytes; none at the end of the file.
pub fn read_at(file: &impl AsFd, offset: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(most);
    retry_on_intr(|| rustix::io::pread(file, spare_capacity(&mut bytes), offset))?;
    bytes.truncate(most);
    Ok(bytes)
}

/// The beginning of a file, as much as there is up to a size.
pub fn read_whole(file: &impl AsFd, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size);
    while bytes.len() < size {
        let offset = bytes.len() as u64;
        let read = retry_on_intr(|| rustix::io::pread(file, spare_capacity(&mut bytes), offset))?;
        if read == 0 {
            break;
        }
    }
    bytes.truncate(size);
    Ok(bytes)
}
