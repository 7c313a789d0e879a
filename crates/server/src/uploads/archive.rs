//! A tar that a client has sent, read as a stream and written as one for `git fast-import`. Nothing of it is a file of this machine meanwhile.

mod names;
mod tree;

use std::borrow::Cow;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use flate2::read::MultiGzDecoder;
use tar::{Archive, Entry, EntryType, Header};

use names::{shown, within};
use tree::{Kind, Refusal, Tree};

/// What is read and written at once.
const PIECE: usize = 64 << 10;
/// Of what comes before an entry: its long name, its attributes.
const MOST_ATTRIBUTES: u64 = 64 << 10;
const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The largest window of zstd, as a power of two: more memory is not given to a tar.
const ZSTD_WINDOW: u32 = 27;

/// What a tar may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Unpacked, with what is around each file.
    pub bytes: u64,
    /// Files and folders.
    pub entries: usize,
}

/// The commit that it becomes.
#[derive(Clone, Debug)]
pub struct Head {
    pub reference: String,
    pub author: String,
    pub email: String,
    /// Since 1970.
    pub seconds: i64,
    pub message: String,
}

/// Why it is not taken.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    #[error("{0}")]
    Bad(String),
    #[error("{0}")]
    TooLarge(String),
    /// Git has ended, and its own words say why.
    #[error("what takes it has ended")]
    Gone,
}

type Result<T> = std::result::Result<T, Problem>;

fn bad<T>(path: &[u8], problem: &str) -> Result<T> {
    Err(Problem::Bad(format!("{} {problem}", shown(path))))
}

fn refused(path: &[u8], refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Bad(problem) => Problem::Bad(format!("{} {problem}", shown(path))),
        Refusal::TooLarge(problem) => Problem::TooLarge(format!("{} {problem}", shown(path))),
    }
}

/// Writes all of it, or fails before the end: then `git fast-import` keeps nothing.
pub fn convert(mut from: impl Read + Seek + 'static, limits: Limits, head: &Head, to: impl Write) -> Result<()> {
    let mut magic = Vec::new();
    from.by_ref().take(4).read_to_end(&mut magic).map_err(unreadable)?;
    from.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    let from = BufReader::with_capacity(PIECE, from);
    let unpacked: Box<dyn Read> = match magic.as_slice() {
        magic if magic.starts_with(&GZIP) => Box::new(MultiGzDecoder::new(from)),
        magic if magic.starts_with(&ZSTD) => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(from).map_err(unreadable)?;
            decoder.window_log_max(ZSTD_WINDOW).map_err(unreadable)?;
            Box::new(decoder)
        }
        _ => Box::new(from),
    };
    let stream = Stream { to, piece: vec![0; PIECE], tree: Tree::new(limits.entries), files: 0 };
    stream.write(head, Bounded { from: unpacked, left: limits.bytes, limit: limits.bytes, has_ended: false })
}

/// Says what it was that was not understood.
#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unreadable(error: io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::FileTooLarge => Problem::TooLarge(error.to_string()),
        io::ErrorKind::UnexpectedEof => Problem::Bad("ends before it is complete".into()),
        _ => Problem::Bad(format!("is no tar, plain or packed by gzip or zstd: {error}")),
    }
}

/// Counts what is unpacked, because few packed bytes can be unpacked to any number.
struct Bounded<R> {
    from: R,
    left: u64,
    limit: u64,
    /// More was asked for than there is. A tar says itself where it ends, so that never happens with a whole one.
    has_ended: bool,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(into)?;
        self.has_ended |= count == 0 && !into.is_empty();
        self.left = self.left.checked_sub(count as u64).ok_or_else(|| {
            let text = format!("is larger than {} MiB when it is unpacked (fetch-mib)", self.limit >> 20);
            io::Error::new(io::ErrorKind::FileTooLarge, text)
        })?;
        Ok(count)
    }
}

/// What the entries before an entry say of it.
#[derive(Default)]
struct Attributes {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

struct Stream<W> {
    to: W,
    piece: Vec<u8>,
    tree: Tree,
    /// Files and links.
    files: usize,
}

impl<W: Write> Stream<W> {
    fn write(mut self, head: &Head, tar: Bounded<impl Read>) -> Result<()> {
        let Head { reference, author, email, seconds, message } = head;
        let start = format!("feature done\ncommit {reference}\ncommitter {author} <{email}> {seconds} +0000\n");
        self.put(start.as_bytes())?;
        self.data(message.as_bytes())?;
        let mut archive = Archive::new(tar);
        // What stands before an entry is read here, because it is read as a whole, however long it is.
        let entries = archive.entries().map_err(unreadable)?.raw(true);
        let mut attributes = Attributes::default();
        for entry in entries {
            let mut entry = entry.map_err(unreadable)?;
            if !is_attribute(&mut entry, &mut attributes)? {
                self.entry(&mut entry, std::mem::take(&mut attributes))?;
            }
        }
        if self.files == 0 {
            return Err(Problem::Bad("has no files in it".into()));
        }
        if archive.into_inner().has_ended {
            return Err(unreadable(io::ErrorKind::UnexpectedEof.into()));
        }
        self.put(b"done\n")?;
        self.to.flush().map_err(|_| Problem::Gone)
    }

    fn entry(&mut self, entry: &mut Entry<'_, impl Read>, attributes: Attributes) -> Result<()> {
        let header = entry.header().clone();
        let name = attributes.path.map_or_else(|| header.path_bytes(), Cow::Owned).into_owned();
        let path = names::path(&name).or_else(|problem| bad(&name, problem))?;
        // What comes from before 1988 marks folders by their names alone.
        let is_old_folder = header.entry_type() == EntryType::Regular && name.ends_with(b"/");
        let kind = if is_old_folder { EntryType::Directory } else { header.entry_type() };
        let target = || {
            let target = attributes.target.or_else(|| header.link_name_bytes().map(Cow::into_owned));
            target.unwrap_or_default()
        };
        match kind {
            // Of the folder itself.
            EntryType::Directory if path.is_empty() => Ok(()),
            _ if path.is_empty() => bad(&name, "has no name"),
            EntryType::Directory => self.tree.add(&path, Kind::Folder).map_err(|refusal| refused(&name, refusal)),
            EntryType::Regular | EntryType::Continuous => {
                self.add(&name, &path, Kind::File)?;
                self.file(&name, &path, &header, entry)
            }
            EntryType::Symlink => self.symlink(&name, &path, &target()),
            EntryType::Link => self.hard_link(&name, &path, &target()),
            EntryType::GNUSparse => bad(&name, "is a sparse file, which is not taken"),
            EntryType::Char | EntryType::Block => bad(&name, "is a device"),
            EntryType::Fifo => bad(&name, "is a pipe"),
            _ => bad(&name, "is neither a file nor a folder nor a link"),
        }
    }

    fn add(&mut self, name: &[u8], path: &[u8], kind: Kind) -> Result<()> {
        self.files += 1;
        self.tree.add(path, kind).map_err(|refusal| refused(name, refusal))
    }

    fn file(&mut self, name: &[u8], path: &[u8], header: &Header, content: &mut impl Read) -> Result<()> {
        let size = header.entry_size().map_err(unreadable)?;
        let mode = header.mode().map_err(unreadable)?;
        self.modify(if mode & 0o100 == 0 { "100644" } else { "100755" }, path)?;
        self.put(format!("data {size}\n").as_bytes())?;
        let (mut piece, mut left) = (std::mem::take(&mut self.piece), size);
        while left > 0 {
            let count = content.read(&mut piece).map_err(unreadable)?;
            if count == 0 {
                return bad(name, "is cut off: the tar ends before it is complete");
            }
            self.put(&piece[..count])?;
            left -= count as u64;
        }
        self.piece = piece;
        self.put(b"\n")
    }

    fn symlink(&mut self, name: &[u8], path: &[u8], target: &[u8]) -> Result<()> {
        within(path, target).or_else(|problem| bad(name, problem))?;
        self.add(name, path, Kind::Symlink)?;
        self.modify("120000", path)?;
        self.data(target)
    }

    /// Another name of a file that came before: a copy of it.
    fn hard_link(&mut self, name: &[u8], path: &[u8], target: &[u8]) -> Result<()> {
        let target = names::path(target).or_else(|problem| bad(name, &format!("is a link to what {problem}")))?;
        let found = self.tree.find(&target).map_err(|refusal| refused(name, refusal))?;
        if found != Some(Kind::File) {
            return bad(name, "is a hard link to what is no file before it in the tar");
        }
        self.add(name, path, Kind::File)?;
        self.put(&[b"C ".as_slice(), &names::quoted(&target), b" ", &names::quoted(path), b"\n"].concat())
    }

    fn modify(&mut self, mode: &str, path: &[u8]) -> Result<()> {
        self.put(&[format!("M {mode} inline ").as_bytes(), &names::quoted(path), b"\n"].concat())
    }

    fn data(&mut self, bytes: &[u8]) -> Result<()> {
        self.put(&[format!("data {}\n", bytes.len()).as_bytes(), bytes, b"\n"].concat())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.to.write_all(bytes).map_err(|_| Problem::Gone)
    }
}

/// Whether it only says something of the entry that follows.
fn is_attribute(entry: &mut Entry<'_, impl Read>, attributes: &mut Attributes) -> Result<bool> {
    match entry.header().entry_type() {
        EntryType::GNULongName => attributes.path = Some(without_zeros(whole(entry)?)),
        EntryType::GNULongLink => attributes.target = Some(without_zeros(whole(entry)?)),
        kind @ (EntryType::XHeader | EntryType::XGlobalHeader) => {
            let text = whole(entry)?;
            let malformed = || Problem::Bad("has attributes of an entry that are not understood".into());
            for (name, value) in names::attributes(&text).ok_or_else(malformed)? {
                match name {
                    b"path" if kind == EntryType::XHeader => attributes.path = Some(value.to_vec()),
                    b"linkpath" if kind == EntryType::XHeader => attributes.target = Some(value.to_vec()),
                    // Programs disagree about what these mean, or they are of no file that would be taken.
                    b"path" | b"linkpath" | b"size" => return Err(malformed()),
                    name if name.starts_with(b"GNU.sparse.") => {
                        return bad(value, "belongs to a sparse file, which is not taken");
                    }
                    _ => {}
                }
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// All of what stands before an entry.
fn whole(entry: &mut Entry<'_, impl Read>) -> Result<Vec<u8>> {
    let size = entry.header().entry_size().map_err(unreadable)?;
    if size > MOST_ATTRIBUTES {
        return Err(Problem::Bad("has an entry with a name or attributes of more than 64 KiB".into()));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(unreadable)?;
    match bytes.len() as u64 == size {
        true => Ok(bytes),
        false => Err(Problem::Bad("ends before it is complete".into())),
    }
}

fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    bytes.truncate(length);
    bytes
}

#[cfg(test)]
mod tests;
