//! From a path to the file that answers it. Everything here blocks: it runs where that is allowed.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::folder::{FileTime, Folder, FolderEntry, Opened, read_whole};
use super::path::{encode, name};
use super::rules::{self, Rules};
use super::served_file::{Common, FileStamps, ServedFile, VariantBody};
use super::types::{FileKind, kind};
use crate::encoding::{Encoding, gzip};

/// Files up to this size are kept in memory.
const HELD: u64 = 256 * 1024;
/// Texts up to this size are kept as well, because compressing them for each answer would cost more than the memory.
const HELD_TEXT: u64 = 1024 * 1024;
/// Below this, compression saves no packet.
const WORTH_COMPRESSING: u64 = 256;
/// Longer than the ticks of any file system's clock that keeps fractions of a second.
const SETTLING: Duration = Duration::from_millis(100);

/// What decides which file answers a path.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// A hash of the other fields, to be combined with a path's.
    pub id: u64,
    pub folder: OsString,
    pub clean_urls: bool,
}

#[derive(Clone)]
pub enum FoundFile {
    File(Arc<ServedFile>),
    /// The path under which the same file is to be asked for.
    Elsewhere(Arc<str>),
    Nothing,
    /// This machine could not tell.
    Failure,
}

/// A path that begins with a slash is a request's; one that does not is the name of a file below the folder, also if
/// requests for it would get another one. `old` is returned if nothing about it changed, and also if that cannot be
/// told.
pub fn load(scope: &Scope, path: &[u8], old: Option<Arc<ServedFile>>) -> FoundFile {
    match try_load(scope, path, old.as_ref()) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(folder = ?scope.folder, path = %path.escape_ascii(), %error, "a file could not be read");
            old.map_or(FoundFile::Failure, FoundFile::File)
        }
    }
}

/// Why there are no rules of a folder.
pub enum NoRules {
    /// It is not there yet.
    NoFolder,
    /// This machine could not tell.
    Failure,
}

pub fn load_rules(scope: &Scope) -> Result<Rules, NoRules> {
    match try_load_rules(scope) {
        Ok(rules) => rules.ok_or(NoRules::NoFolder),
        Err(error) => {
            tracing::warn!(folder = ?scope.folder, %error, "the rules of a folder could not be read");
            Err(NoRules::Failure)
        }
    }
}

fn try_load_rules(scope: &Scope) -> io::Result<Option<Rules>> {
    let Some(folder) = Folder::open(Path::new(&scope.folder))? else { return Ok(None) };
    let text = |name: &str| {
        let Some(file) = folder.file(name.as_bytes())? else { return Ok(String::new()) };
        let bytes = read_whole(&file.fd, (file.stamp.size as usize).min(rules::MOST_BYTES + 1))?;
        Ok::<_, io::Error>(String::from_utf8_lossy(&bytes).into_owned())
    };
    // What is wrong with them was told when the site was made.
    Ok(Some(Rules::parse(&text(rules::REDIRECTS)?, &text(rules::HEADERS)?).0))
}

fn try_load(scope: &Scope, path: &[u8], old: Option<&Arc<ServedFile>>) -> io::Result<FoundFile> {
    let Some(folder) = Folder::open(Path::new(&scope.folder))? else { return Ok(FoundFile::Nothing) };
    match locate(&folder, path, scope.clean_urls)? {
        Located::File(path, file) => Ok(FoundFile::File(served_file(&folder, &path, file, old)?)),
        Located::Elsewhere(path) => Ok(FoundFile::Elsewhere(encode(&path).into())),
        Located::Nothing => Ok(FoundFile::Nothing),
    }
}

enum Located {
    File(Vec<u8>, Opened),
    Elsewhere(Vec<u8>),
    Nothing,
}

/// The order is: the file of exactly that name, `name.html` if names may be clean, the folder's index. A generator that
/// makes both `docs.html` and `docs/` means the first by `/docs`.
fn locate(folder: &Folder, path: &[u8], clean_urls: bool) -> io::Result<Located> {
    let Some(relative) = path.strip_prefix(b"/") else {
        return Ok(located(path.to_vec(), folder.file(path)?));
    };
    if relative.is_empty() || relative.ends_with(b"/") {
        let index = [relative, b"index.html"].concat();
        let file = folder.file(&index)?;
        return Ok(located(index, file));
    }
    let entry = folder.look(relative)?;
    if let FolderEntry::File(file) = entry {
        return match clean_name(path).filter(|_| clean_urls) {
            Some(clean) if leads_back(folder, clean)? => Ok(Located::Elsewhere(clean.to_vec())),
            _ => Ok(Located::File(relative.to_vec(), file)),
        };
    }
    if clean_urls {
        let html = [relative, b".html"].concat();
        if let Some(file) = folder.file(&html)? {
            return Ok(match path.strip_suffix(b"/index") {
                Some(parent) => Located::Elsewhere([parent, b"/"].concat()),
                None => Located::File(html, file),
            });
        }
    }
    if matches!(entry, FolderEntry::Folder) && folder.file(&[relative, b"/index.html"].concat())?.is_some() {
        return Ok(Located::Elsewhere([path, b"/"].concat()));
    }
    Ok(Located::Nothing)
}

fn located(path: Vec<u8>, file: Option<Opened>) -> Located {
    file.map_or(Located::Nothing, |file| Located::File(path, file))
}

/// `/about` for `/about.html`, `/x/` for `/x/index.html`.
fn clean_name(path: &[u8]) -> Option<&[u8]> {
    let clean = path.strip_suffix(b".html")?;
    Some(clean.strip_suffix(b"index").filter(|parent| parent.ends_with(b"/")).unwrap_or(clean))
}

/// Whether a request for the clean name gets the file it was made from, and not one that really has that name.
fn leads_back(folder: &Folder, clean: &[u8]) -> io::Result<bool> {
    let relative = clean.strip_prefix(b"/").unwrap_or(clean);
    Ok(clean.ends_with(b"/") || folder.file(relative)?.is_none())
}

fn served_file(
    folder: &Folder,
    path: &[u8],
    file: Opened,
    old: Option<&Arc<ServedFile>>,
) -> io::Result<Arc<ServedFile>> {
    let mut siblings = [None, None, None];
    for (sibling, encoding) in siblings.iter_mut().zip(Encoding::COMPRESSED) {
        *sibling = folder.file(&[path, encoding.suffix().as_bytes()].concat())?;
    }
    let now = now();
    let stamps = stamps(&file, &siblings, now);
    if let Some(old) = old.filter(|old| old.stamps.settled && old.stamps == stamps) {
        return Ok(old.clone());
    }
    let kind = kind(name(path));
    let held = file.stamp.size <= if kind.compressible { HELD_TEXT } else { HELD };
    let modified = not_after(file.stamp.modified, now);
    let parts = if held { parts_in_memory(&file, siblings, kind)? } else { parts_on_disk(file, siblings) };
    let (identity, compressed) = parts;
    let common = Common { name: name(path), kind, modified, varies: !compressed.is_empty() };
    Ok(Arc::new(ServedFile {
        identity: common.variant(identity),
        compressed: compressed.into_iter().map(|part| common.variant(part)).collect(),
        modified,
        stamps,
        checked: AtomicU64::new(0),
    }))
}

type Siblings = [Option<Opened>; Encoding::COMPRESSED.len()];

fn stamps(file: &Opened, siblings: &Siblings, now: Duration) -> FileStamps {
    let settled = |file: &Opened| moment(now.saturating_sub(SETTLING)) > file.stamp.changed;
    FileStamps {
        original: file.stamp,
        siblings: siblings.each_ref().map(|sibling| sibling.as_ref().map(|sibling| sibling.stamp)),
        settled: settled(file) && siblings.iter().flatten().all(settled),
    }
}

/// A sibling that is older than its original was made from another one. An empty one is no compressed file at all.
fn usable(file: &Opened, siblings: Siblings) -> impl Iterator<Item = (Encoding, Opened)> {
    let modified = file.stamp.modified;
    Encoding::COMPRESSED
        .into_iter()
        .zip(siblings)
        .filter_map(|(encoding, sibling)| Some((encoding, sibling?)))
        .filter(move |(_, sibling)| sibling.stamp.modified >= modified && sibling.stamp.size > 0)
}

fn parts_on_disk(file: Opened, siblings: Siblings) -> (VariantBody, Vec<VariantBody>) {
    let compressed =
        usable(&file, siblings).map(|(encoding, sibling)| VariantBody::on_disk(encoding, sibling)).collect();
    (VariantBody::on_disk(Encoding::Identity, file), compressed)
}

/// A file is in memory with all its variants, so a sibling that is too large for that does not count.
fn parts_in_memory(file: &Opened, siblings: Siblings, kind: FileKind) -> io::Result<(VariantBody, Vec<VariantBody>)> {
    let bytes = read(file)?;
    let mut compressed = Vec::new();
    for (encoding, sibling) in usable(file, siblings).filter(|(_, sibling)| sibling.stamp.size <= HELD_TEXT) {
        compressed.push(VariantBody::held(encoding, read(&sibling)?));
    }
    let has_gzip = compressed.iter().any(|part| part.encoding == Encoding::Gzip);
    if kind.compressible && !has_gzip && bytes.len() as u64 >= WORTH_COMPRESSING {
        compressed.extend(gzip(&bytes).map(|packed| VariantBody::held(Encoding::Gzip, packed)));
    }
    Ok((VariantBody::held(Encoding::Identity, bytes), compressed))
}

fn read(file: &Opened) -> io::Result<Vec<u8>> {
    read_whole(&file.fd, file.stamp.size as usize)
}

#[expect(clippy::disallowed_methods, reason = "compared with the times that the system gives to files")]
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn moment(since_1970: Duration) -> FileTime {
    let seconds = i64::try_from(since_1970.as_secs()).unwrap_or(i64::MAX);
    FileTime(seconds, i64::from(since_1970.subsec_nanos()))
}

/// In seconds since 1970. A file from the future was changed now, as far as a visitor's clock is concerned.
fn not_after(modified: FileTime, now: Duration) -> u64 {
    u64::try_from(modified.0).unwrap_or(0).min(now.as_secs())
}
