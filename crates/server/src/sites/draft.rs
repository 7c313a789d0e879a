//! A site that is being made: files are copied into a folder beside it, which gets its name when all of them are there. Everything here
//! blocks. Where the files come from is not trusted.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, DirBuilder, File, FileTimes, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use sha2::{Digest, Sha256};
use windlass_durable::kill_point;
use windlass_edge::rules::{self, RuleProblem, Rules};

use super::{HIDDEN, now};
use crate::folders::{self, COST_OF_A_FILE};

const PAGE: &str = "index.html";
/// The only hidden name that is a part of sites (RFC 8615).
const WELL_KNOWN: &str = ".well-known";
const PIECE: usize = 128 << 10;
/// Of links and the like that are named to the user.
const MOST_NAMED: usize = 10;
/// A disk that has less than this part free is as good as full: the database may be on it.
const LEAST_FREE_PART: u64 = 20;
const BYTES_BETWEEN_LOOKS: u64 = 64 << 20;
/// Each is in memory until the site is made.
const LONGEST_PATH: usize = 1_024;
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SiteLimits {
    pub bytes: u64,
    /// Folders count too.
    pub files: usize,
}

#[derive(Debug)]
pub enum DraftError {
    TimedOut,
    TooLarge,
    TooManyFiles,
    /// There is not one file.
    Empty,
    Io(io::Error),
}

impl From<io::Error> for DraftError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

type Result<T> = std::result::Result<T, DraftError>;

/// Removed unless it is finished.
pub struct Draft {
    folder: PathBuf,
    limits: SiteLimits,
    /// When all of its files were changed, as visitors are told: a file that lies beside another one in a packed form must not be older.
    began: SystemTime,
    deadline: Instant,
    folders: HashSet<PathBuf>,
    files: Files,
    bytes: u64,
    /// The same with what each file and folder takes.
    cost: u64,
    /// What was read and is no part of it.
    skipped: u64,
    next_look: u64,
    passed_over: Vec<String>,
    passed_over_count: usize,
}

/// A site that is there.
#[derive(Debug)]
pub struct Made {
    pub name: String,
    pub bytes: u64,
    /// What it takes of the disk.
    pub cost: u64,
    pub files: usize,
    pub has_page: bool,
    /// The first of what is no part of it although it was there, for people.
    pub passed_over: Vec<String>,
    pub passed_over_count: usize,
    /// Lines of its rules that the edge will not follow.
    pub rule_problems: Vec<RuleProblem>,
}

impl Draft {
    pub(super) fn create(application: &Path, attempt: &str, limits: SiteLimits, time: Duration) -> io::Result<Self> {
        let folder = application.join(format!("{HIDDEN}{attempt}"));
        folders::remove(&folder)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        Ok(Self {
            folder,
            limits,
            began: now(),
            deadline: Instant::now() + time,
            folders: HashSet::new(),
            files: Files::new(),
            bytes: 0,
            cost: 0,
            skipped: 0,
            next_look: 0,
            passed_over: Vec::new(),
            passed_over_count: 0,
        })
    }

    /// A folder of a tree. A link is a part of the site if it leads to a file of the tree.
    pub fn add_folder(&mut self, tree: &Path, folder: &Path) -> Result<()> {
        let mut folders = vec![PathBuf::new()];
        while let Some(inside) = folders.pop() {
            for entry in fs::read_dir(folder.join(&inside))? {
                let entry = entry?;
                let path = inside.join(entry.file_name());
                if !is_part(&path) {
                    continue;
                }
                let kind = entry.file_type()?;
                if kind.is_dir() {
                    folders.push(path);
                    continue;
                }
                match file_of_tree(tree, &entry.path(), kind.is_symlink()).filter(|_| is_short(&path)) {
                    Some(found) => self.add(path, &mut File::open(found)?)?,
                    None => self.pass_over(&path),
                }
            }
        }
        Ok(())
    }

    /// A tar of a folder, as the engine makes it. Links to files that came before are a part of the site.
    pub fn add_tar(&mut self, tar: impl Read) -> Result<()> {
        for entry in tar::Archive::new(tar).entries()? {
            let mut entry = entry?;
            let path = entry.path()?.strip_prefix(".").map(Path::to_owned).unwrap_or_default();
            let kind = entry.header().entry_type();
            if kind.is_dir() || !is_part(&path) {
                self.skip(entry.size())?;
                continue;
            }
            if kind.is_file() && is_short(&path) {
                self.add(path, &mut entry)?;
                continue;
            }
            self.skip(entry.size())?;
            let before = entry.link_name()?.and_then(|name| Some(name.strip_prefix(".").ok()?.to_owned()));
            match before.filter(|before| kind.is_hard_link() && is_short(&path) && self.files.contains_key(before)) {
                Some(before) => self.add(path, &mut File::open(self.folder.join(before))?)?,
                None => self.pass_over(&path),
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf, content: &mut impl Read) -> Result<()> {
        self.make_folders(&path)?;
        self.count_one()?;
        let target = self.folder.join(&path);
        // A tar can have a name twice: the second is refused, not written over the first.
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o644).open(target)?;
        let hash = self.copy(content, &mut file)?;
        file.set_times(FileTimes::new().set_modified(self.began))?;
        self.files.insert(path, hash);
        Ok(())
    }

    fn make_folders(&mut self, path: &Path) -> Result<()> {
        let Some(parent) = path.parent() else { return Ok(()) };
        for folder in parent.ancestors().take_while(|folder| !folder.as_os_str().is_empty()) {
            if self.folders.contains(folder) {
                break;
            }
            self.count_one()?;
            self.folders.insert(folder.to_owned());
        }
        Ok(fs::create_dir_all(self.folder.join(parent))?)
    }

    /// A file or a folder more.
    fn count_one(&mut self) -> Result<()> {
        if self.files.len() + self.folders.len() >= self.limits.files {
            return Err(DraftError::TooManyFiles);
        }
        self.spend(COST_OF_A_FILE)
    }

    /// Reading it costs time.
    fn skip(&mut self, bytes: u64) -> Result<()> {
        self.skipped = self.skipped.saturating_add(bytes);
        if self.skipped > self.limits.bytes { Err(DraftError::TooLarge) } else { self.spend(0) }
    }

    fn spend(&mut self, cost: u64) -> Result<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limits.bytes {
            return Err(DraftError::TooLarge);
        }
        if Instant::now() > self.deadline {
            return Err(DraftError::TimedOut);
        }
        if self.cost >= self.next_look {
            self.next_look = self.cost + BYTES_BETWEEN_LOOKS;
            leave_room(&self.folder)?;
        }
        Ok(())
    }

    fn copy(&mut self, content: &mut impl Read, file: &mut File) -> Result<[u8; 32]> {
        let (mut hash, mut piece) = (Sha256::new(), vec![0; PIECE]);
        loop {
            let read = match content.read(&mut piece) {
                Ok(0) => return Ok(hash.finalize().into()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            self.bytes += read as u64;
            self.spend(read as u64)?;
            file.write_all(&piece[..read])?;
            hash.update(&piece[..read]);
        }
    }

    fn pass_over(&mut self, path: &Path) {
        self.passed_over_count += 1;
        if self.passed_over.len() < MOST_NAMED {
            self.passed_over.push(path.to_string_lossy().into_owned());
        }
    }

    /// From now on it is a site, also after the machine has lost its power.
    pub fn finish(mut self) -> Result<Made> {
        if self.files.is_empty() {
            return Err(DraftError::Empty);
        }
        let (name, rule_problems) = (name_of(&self.files), self.rule_problems()?);
        let site = self.folder.with_file_name(&name);
        rustix::fs::syncfs(File::open(&self.folder)?).map_err(io::Error::from)?;
        kill_point::reached("site-written");
        self.rename_to(&site)?;
        if let Some(parent) = site.parent() {
            File::open(parent)?.sync_all()?;
        }
        Ok(Made {
            name,
            bytes: self.bytes,
            cost: self.cost,
            files: self.files.len(),
            has_page: self.files.contains_key(Path::new(PAGE)),
            passed_over: std::mem::take(&mut self.passed_over),
            passed_over_count: self.passed_over_count,
            rule_problems,
        })
    }

    fn rule_problems(&self) -> Result<Vec<RuleProblem>> {
        let text = |name: &str| {
            if !self.files.contains_key(Path::new(name)) {
                return Ok(String::new());
            }
            let (mut bytes, longest) = (Vec::new(), rules::MOST_BYTES as u64 + 1);
            File::open(self.folder.join(name))?.take(longest).read_to_end(&mut bytes)?;
            Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok(Rules::parse(&text(rules::REDIRECTS)?, &text(rules::HEADERS)?).1)
    }

    /// An application that is deployed again without a change has it already. It is asked for now, so it is not removed for a while; if
    /// it is just being removed, this one takes its place.
    fn rename_to(&self, site: &Path) -> io::Result<()> {
        let touch = |folder: &Path| File::open(folder)?.set_times(FileTimes::new().set_modified(now()));
        touch(&self.folder)?;
        loop {
            match fs::rename(&self.folder, site) {
                Err(_) if site.is_dir() => {}
                renamed => return renamed,
            }
            if touch(site).is_ok() && site.is_dir() {
                return folders::remove(&self.folder);
            }
        }
    }
}

/// By path: the hash of what is in a file.
pub(super) type Files = BTreeMap<PathBuf, [u8; 32]>;

/// Of all paths and what is in them; lengths keep one from running into the other.
pub(super) fn name_of(files: &Files) -> String {
    let mut hash = Sha256::new();
    for (path, content) in files {
        let path = path.as_os_str().as_bytes();
        hash.update((path.len() as u64).to_be_bytes());
        hash.update(path);
        hash.update(content);
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Err(error) = folders::remove(&self.folder) {
            tracing::warn!(%error, "what is left of an unfinished site could not be removed; that is tried again later");
        }
    }
}

/// Whether the edge would ever serve it: names that are hidden are not, with one exception.
fn is_part(path: &Path) -> bool {
    let is_shown = |name: &[u8]| !name.starts_with(HIDDEN.as_bytes()) || name == WELL_KNOWN.as_bytes();
    let mut parts = path.components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(name) if is_shown(name.as_bytes())))
}

fn is_short(path: &Path) -> bool {
    path.as_os_str().len() <= LONGEST_PATH && path.components().count() <= DEEPEST
}

/// The regular file behind a path. A link must not lead out of the tree, nor to what would not be served itself.
fn file_of_tree(tree: &Path, path: &Path, is_link: bool) -> Option<PathBuf> {
    let is_served = |found: &PathBuf| found.strip_prefix(tree).is_ok_and(is_part);
    let found = if is_link { fs::canonicalize(path).ok().filter(is_served)? } else { path.to_owned() };
    fs::symlink_metadata(&found).is_ok_and(|found| found.is_file()).then_some(found)
}

fn leave_room(folder: &Path) -> io::Result<()> {
    let disk = rustix::fs::statvfs(folder)?;
    // Some file systems do not count files.
    let has_few_files = disk.f_files > 0 && disk.f_favail < disk.f_files / LEAST_FREE_PART;
    match has_few_files || disk.f_bavail < disk.f_blocks / LEAST_FREE_PART {
        true => Err(io::Error::new(io::ErrorKind::StorageFull, "the disk of site-dir is nearly full")),
        false => Ok(()),
    }
}
