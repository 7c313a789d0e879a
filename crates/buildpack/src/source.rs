//! The folder of a repository whose author may be hostile: links are not followed, only plain files are opened, and all that is read
//! has a bound.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::text::{is_hidden, is_plain_path, shown};

/// Of a file that is read as a whole.
pub const MOST_MANIFEST_BYTES: u64 = 1 << 20;
/// Of a file whose beginning is enough, as of lock files and sources.
const MOST_GLANCED_BYTES: u64 = 512 << 10;
/// Of all that is read and read again: a repository has a bound too, not only each of its files.
const MOST_BYTES: u64 = 64 << 20;
/// Of files and folders that are opened.
const MOST_OPENED: usize = 3_000;
/// Of folders around one. Who nests deeper is no workspace's part.
const MOST_AROUND: usize = 20;
/// Of one folder. Of a larger one, the rest is not looked at.
const MOST_ENTRIES: usize = 20_000;

/// One folder of a checked-out repository, and the repository around it.
#[derive(Clone)]
pub struct Source {
    tree: Rc<Tree>,
    /// From the repository's root, without slashes at its ends.
    folder: String,
}

struct Tree {
    root: OwnedFd,
    texts: RefCell<BTreeMap<String, Option<Rc<str>>>>,
    folders: RefCell<BTreeMap<String, Rc<[Entry]>>>,
    passed_over: RefCell<BTreeSet<String>>,
    opened: Cell<usize>,
    bytes: Cell<u64>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    pub name: String,
    pub is_folder: bool,
}

impl Source {
    /// `base_path` is the folder inside the repository that is deployed: `""` and `/` are its root.
    pub fn open(repository: &Path, base_path: &str) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(repository, flags, Mode::empty()).map_err(io::Error::from)?;
        let tree = Tree {
            root,
            texts: RefCell::default(),
            folders: RefCell::default(),
            passed_over: RefCell::default(),
            opened: Cell::default(),
            bytes: Cell::default(),
        };
        Self { tree: Rc::new(tree), folder: String::new() }.at(base_path)
    }

    /// Another folder of the same repository, from this one.
    pub fn at(&self, folder: &str) -> Result<Self> {
        let path = self.path(folder.trim_matches('/'));
        let source = Self { tree: self.tree.clone(), folder: path };
        let leads_out = source.folder.split('/').any(|part| part == "..");
        // Its name is part of plans and messages.
        if leads_out || source.folder.contains(is_hidden) || !source.is(FileType::Directory, "") {
            return Err(Error::NoFolder { path: shown(folder) });
        }
        Ok(source)
    }

    /// The repository's root.
    pub fn root(&self) -> Self {
        Self { tree: self.tree.clone(), folder: String::new() }
    }

    /// The folders around this one: the nearest first, the repository's root last.
    pub fn around(&self) -> impl Iterator<Item = Self> {
        let parent = |folder: &String| {
            let above = folder.rsplit_once('/').map_or("", |(above, _)| above);
            (!folder.is_empty()).then(|| above.to_owned())
        };
        let tree = self.tree.clone();
        let all = std::iter::successors(parent(&self.folder), parent).take(MOST_AROUND);
        all.map(move |folder| Self { tree: tree.clone(), folder })
    }

    /// From the repository's root; empty for the root itself.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    pub fn has_file(&self, name: &str) -> bool {
        self.is(FileType::RegularFile, name)
    }

    pub fn has_folder(&self, name: &str) -> bool {
        self.is(FileType::Directory, name)
    }

    /// The first of these files that is there.
    pub fn first_file<'a>(&self, names: &[&'a str]) -> Option<&'a str> {
        names.iter().copied().find(|name| self.has_file(name))
    }

    /// A whole file. What is no plain file counts as not there.
    pub fn text(&self, name: &str) -> Result<Option<Rc<str>>> {
        let path = self.path(name);
        if let Some(text) = self.tree.texts.borrow().get(&path) {
            return self.counted(text.clone());
        }
        let text = match self.bytes(name, MOST_MANIFEST_BYTES + 1)? {
            Some(bytes) if bytes.len() as u64 > MOST_MANIFEST_BYTES => {
                return Err(Error::TooLarge { file: shown(&path), limit: MOST_MANIFEST_BYTES });
            }
            Some(bytes) => {
                let text = String::from_utf8(bytes).map_err(|_| Error::NotText { file: shown(&path) })?;
                Some(Rc::from(text.strip_prefix('\u{feff}').unwrap_or(&text)))
            }
            None => None,
        };
        self.tree.texts.borrow_mut().insert(path, text.clone());
        self.counted(text)
    }

    /// The beginning of a file, whatever its bytes are.
    pub fn glance(&self, name: &str) -> Result<Option<Rc<str>>> {
        let path = self.path(name);
        let key = format!("glance {path}");
        if let Some(text) = self.tree.texts.borrow().get(&key) {
            return self.counted(text.clone());
        }
        let bytes = self.bytes(name, MOST_GLANCED_BYTES)?;
        let text: Option<Rc<str>> = bytes.map(|bytes| Rc::from(String::from_utf8_lossy(&bytes).as_ref()));
        self.tree.texts.borrow_mut().insert(key, text.clone());
        self.counted(text)
    }

    /// A text that is asked for again is parsed again, and counts again.
    fn counted(&self, text: Option<Rc<str>>) -> Result<Option<Rc<str>>> {
        let bytes = self.tree.bytes.get() + text.as_ref().map_or(0, |text| text.len() as u64);
        self.tree.bytes.set(bytes);
        if bytes > MOST_BYTES { Err(Error::TooMuch) } else { Ok(text) }
    }

    /// A file here or, for a folder of a monorepo, in the repository's root; with its path from there.
    pub fn here_or_at_root(&self, name: &str) -> Result<Option<(String, Rc<str>)>> {
        for source in [self.clone(), self.root()] {
            if let Some(text) = source.text(name)? {
                return Ok(Some((source.path(name), text)));
            }
        }
        Ok(None)
    }

    /// What is in a folder, sorted. Links, devices and names that need quoting are not.
    pub fn entries(&self, folder: &str) -> Result<Rc<[Entry]>> {
        let path = self.path(folder);
        if let Some(entries) = self.tree.folders.borrow().get(&path) {
            return Ok(entries.clone());
        }
        let entries: Rc<[Entry]> = self.list(folder)?.into();
        self.tree.folders.borrow_mut().insert(path, entries.clone());
        Ok(entries)
    }

    fn list(&self, folder: &str) -> Result<Vec<Entry>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK;
        let Some(descriptor) = self.descriptor(folder, flags)? else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for entry in Dir::new(descriptor).map_err(io::Error::from)?.take(MOST_ENTRIES) {
            let entry = entry.map_err(io::Error::from)?;
            let Some(name) = entry.file_name().to_str().ok().filter(|name| is_plain_path(name)) else { continue };
            let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            let kind = match entry.file_type() {
                // Some file systems do not say it in the listing.
                FileType::Unknown => self.kind(&path),
                kind => Some(kind),
            };
            match kind {
                Some(FileType::Directory) => entries.push(Entry { name: name.to_owned(), is_folder: true }),
                Some(FileType::RegularFile) => entries.push(Entry { name: name.to_owned(), is_folder: false }),
                _ => {}
            }
        }
        entries.sort_unstable();
        Ok(entries)
    }

    /// Names of files in a folder that end like this, sorted.
    pub fn files_ending(&self, folder: &str, end: &str) -> Result<Vec<String>> {
        let is_one = |entry: &&Entry| !entry.is_folder && entry.name.ends_with(end);
        Ok(self.entries(folder)?.iter().filter(is_one).map(|entry| entry.name.clone()).collect())
    }

    /// Names of folders, sorted.
    pub fn folders(&self, folder: &str) -> Result<Vec<String>> {
        Ok(self.entries(folder)?.iter().filter(|entry| entry.is_folder).map(|entry| entry.name.clone()).collect())
    }

    /// What was looked for, is there, and was not opened: a sentence each.
    pub fn passed_over(&self) -> Vec<String> {
        self.tree.passed_over.borrow().iter().cloned().collect()
    }

    /// How many files and folders were opened until now.
    pub fn opened(&self) -> usize {
        self.tree.opened.get()
    }

    /// From the repository's root.
    pub fn path(&self, name: &str) -> String {
        match (self.folder.as_str(), name) {
            ("", name) => name.to_owned(),
            (folder, "") => folder.to_owned(),
            (folder, name) => format!("{folder}/{name}"),
        }
    }

    fn is(&self, kind: FileType, name: &str) -> bool {
        self.kind(name) == Some(kind)
    }

    /// Nothing is opened for this but a handle, by which neither a pipe waits nor a device acts.
    fn kind(&self, name: &str) -> Option<FileType> {
        let kind = match self.open_at(name, OFlags::PATH) {
            Ok(descriptor) => FileType::from_raw_mode(rustix::fs::fstat(&descriptor).ok()?.st_mode),
            Err(Errno::LOOP) => FileType::Symlink,
            Err(_) => return None,
        };
        let why = match kind {
            FileType::RegularFile | FileType::Directory => return Some(kind),
            FileType::Symlink => "is a link, or in a folder that is one; links are not followed",
            _ => "is not a plain file",
        };
        self.tree.passed_over.borrow_mut().insert(format!("{} {why}", shown(&self.path(name))));
        Some(kind)
    }

    fn bytes(&self, name: &str, most: u64) -> Result<Option<Vec<u8>>> {
        if !self.has_file(name) {
            return Ok(None);
        }
        let Some(descriptor) = self.descriptor(name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)? else {
            return Ok(None);
        };
        let file = File::from(descriptor);
        // It may be another one by now.
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn descriptor(&self, name: &str, flags: OFlags) -> Result<Option<OwnedFd>> {
        if self.tree.opened.get() >= MOST_OPENED {
            return Err(Error::TooMuch);
        }
        match self.open_at(name, flags) {
            Ok(descriptor) => {
                self.tree.opened.set(self.tree.opened.get() + 1);
                Ok(Some(descriptor))
            }
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::INVAL | Errno::XDEV) => {
                Ok(None)
            }
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    fn open_at(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = self.path(name);
        let path = if path.is_empty() { "." } else { &path };
        let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        rustix::io::retry_on_intr(|| rustix::fs::openat2(&self.tree.root, path, flags, Mode::empty(), within))
    }
}
