//! The entries of a tar archive, told from its bytes as they come. What the files hold is passed over.

use tar::{EntryType, Header, PaxExtensions};

use crate::{Error, Result};

const BLOCK: usize = 512;
/// What may be said about one entry before its header; more than any name is long.
const LONGEST_EXTENSION: u64 = 1 << 20;
/// The mark of the end.
const BLOCKS_AT_END: u8 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: EntryType,
    pub(super) name: Vec<u8>,
    pub(super) uid: u64,
    pub(super) gid: u64,
    /// Without the bits that say what kind it is.
    pub(super) mode: u32,
    /// When it was changed, in seconds since 1970.
    pub(super) modified: u64,
    /// How many bytes follow.
    pub(super) size: u64,
    /// What a link leads to; empty for all else.
    pub(super) link: Vec<u8>,
}

#[derive(Default)]
pub(super) struct Entries {
    /// The beginning of a block, or of an extension.
    unread: Vec<u8>,
    /// How much is left of what is passed over.
    passing: u64,
    /// An extension that is read: its kind and its length.
    reading: Option<(EntryType, u64)>,
    /// What the next header is overruled by.
    extension: Extension,
    empty_blocks: u8,
}

/// What does not fit into a header comes before it, in entries of their own.
#[derive(Default)]
struct Extension {
    uid: Option<u64>,
    gid: Option<u64>,
    size: Option<u64>,
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
}

impl Entries {
    /// The next entry, with `bytes` moved on to what it holds. None if that takes more bytes, or at the end.
    pub(super) fn next(&mut self, bytes: &mut &[u8]) -> Result<Option<Entry>> {
        while !self.are_complete() {
            if !self.pass_over(bytes) || !self.fill(bytes) {
                return Ok(None);
            }
            let block = std::mem::take(&mut self.unread);
            if let Some((kind, length)) = self.reading.take() {
                self.extension.add(kind, block.get(..as_length(length)).unwrap_or(&block))?;
            } else if block.iter().all(|byte| *byte == 0) {
                self.empty_blocks += 1;
            } else if let Some(entry) = self.header(&block)? {
                return Ok(Some(entry));
            }
        }
        *bytes = &[];
        Ok(None)
    }

    /// Whether the end has come. An engine that cannot go on just stops, which is seen by this only.
    pub(super) fn are_complete(&self) -> bool {
        self.empty_blocks >= BLOCKS_AT_END
    }

    /// Whether the next block begins.
    fn pass_over(&mut self, bytes: &mut &[u8]) -> bool {
        let passed = as_length(self.passing).min(bytes.len());
        *bytes = &bytes[passed..];
        self.passing -= passed as u64;
        self.passing == 0
    }

    /// Whether all of the block or the extension is there.
    fn fill(&mut self, bytes: &mut &[u8]) -> bool {
        let length = self.reading.map_or(BLOCK, |(_, length)| as_length(padded(length)));
        let (taken, rest) = bytes.split_at((length - self.unread.len()).min(bytes.len()));
        self.unread.extend_from_slice(taken);
        *bytes = rest;
        self.unread.len() == length
    }

    /// None if the block is about an entry that is still to come.
    fn header(&mut self, block: &[u8]) -> Result<Option<Entry>> {
        self.empty_blocks = 0;
        let header = Header::from_byte_slice(block);
        if header.cksum().map_err(Error::unreadable)? != checksum(block) {
            return Err(Error::unreadable("what the archive has is no header"));
        }
        let (kind, size) = (header.entry_type(), header.entry_size().map_err(Error::unreadable)?);
        match kind {
            EntryType::XHeader | EntryType::GNULongLink | EntryType::GNULongName if size > LONGEST_EXTENSION => {
                Err(Error::unreadable("a header of the archive is too long"))
            }
            EntryType::XHeader | EntryType::GNULongLink | EntryType::GNULongName => {
                self.reading = (size > 0).then_some((kind, size));
                Ok(None)
            }
            // What is said about all entries is no more than a comment.
            EntryType::XGlobalHeader => {
                self.passing = padded(size);
                Ok(None)
            }
            _ => self.entry(header, size).map(Some),
        }
    }

    fn entry(&mut self, header: &Header, size: u64) -> Result<Entry> {
        let extension = std::mem::take(&mut self.extension);
        let kind = header.entry_type();
        let link = extension.link.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
        let is_link = matches!(kind, EntryType::Symlink | EntryType::Link);
        let entry = Entry {
            kind,
            name: extension.name.unwrap_or_else(|| header.path_bytes().into_owned()),
            uid: extension.uid.map_or_else(|| header.uid(), Ok).map_err(Error::unreadable)?,
            gid: extension.gid.map_or_else(|| header.gid(), Ok).map_err(Error::unreadable)?,
            mode: header.mode().map_err(Error::unreadable)? & 0o7777,
            // One from before 1970 cannot be told.
            modified: header.mtime().unwrap_or_default(),
            // Some archives give links and folders a size, but nothing follows.
            size: if is_link || has_no_bytes(kind) { 0 } else { extension.size.unwrap_or(size) },
            link: link.filter(|_| is_link).unwrap_or_default(),
        };
        self.passing = padded(entry.size);
        Ok(entry)
    }
}

impl Extension {
    fn add(&mut self, kind: EntryType, bytes: &[u8]) -> Result<()> {
        if matches!(kind, EntryType::GNULongLink | EntryType::GNULongName) {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            let field = if kind == EntryType::GNULongLink { &mut self.link } else { &mut self.name };
            *field = Some(bytes[..end].to_vec());
            return Ok(());
        }
        for record in PaxExtensions::new(bytes) {
            let record = record.map_err(Error::unreadable)?;
            match record.key_bytes() {
                b"uid" => self.uid = Some(number(record.value_bytes())?),
                b"gid" => self.gid = Some(number(record.value_bytes())?),
                b"size" => self.size = Some(number(record.value_bytes())?),
                b"path" => self.name = Some(record.value_bytes().to_vec()),
                b"linkpath" => self.link = Some(record.value_bytes().to_vec()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn number(text: &[u8]) -> Result<u64> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Error::unreadable("a header of the archive has no number"))
}

fn has_no_bytes(kind: EntryType) -> bool {
    matches!(kind, EntryType::Directory | EntryType::Char | EntryType::Block | EntryType::Fifo)
}

/// As it is computed: with spaces where it is written itself.
fn checksum(block: &[u8]) -> u32 {
    let own = 148..156;
    block.iter().enumerate().map(|(place, byte)| if own.contains(&place) { 32 } else { u32::from(*byte) }).sum()
}

/// With what fills the last block.
fn padded(size: u64) -> u64 {
    size.div_ceil(BLOCK as u64).saturating_mul(BLOCK as u64)
}

fn as_length(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

    use super::*;

    fn archive(add: impl FnOnce(&mut tar::Builder<Vec<u8>>)) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        add(&mut builder);
        builder.into_inner().unwrap()
    }

    fn header(kind: EntryType, uid: u64, mode: u32, size: usize) -> Header {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_uid(uid);
        header.set_gid(uid + 1);
        header.set_mode(mode);
        header.set_mtime(1000);
        header.set_size(size as u64);
        header
    }

    fn entry(name: &str, kind: EntryType, uid: u64, mode: u32, size: u64, link: &str) -> Entry {
        Entry { kind, name: name.into(), uid, gid: uid + 1, mode, modified: 1000, size, link: link.into() }
    }

    /// The entries, and whether the end has come, if the bytes come in pieces of this length.
    fn told(archive: &[u8], piece: usize) -> Result<(Vec<Entry>, bool)> {
        let (mut entries, mut told) = (Entries::default(), Vec::new());
        for mut bytes in archive.chunks(piece) {
            while let Some(entry) = entries.next(&mut bytes)? {
                told.push(entry);
            }
            assert!(bytes.is_empty());
        }
        Ok((told, entries.are_complete()))
    }

    #[test]
    fn entries_are_told_however_the_bytes_are_cut() {
        let archive = archive(|builder| {
            let mut folder = header(EntryType::Directory, 1234, 0o040_750, 0);
            builder.append_data(&mut folder, "./", &[][..]).unwrap();
            let mut file = header(EntryType::Regular, 7, 0o4755, 1000);
            builder.append_data(&mut file, "./file", &[0; 1000][..]).unwrap();
            let mut link = header(EntryType::Symlink, 7, 0o777, 0);
            builder.append_link(&mut link, "./link", "file").unwrap();
        });
        let expected = vec![
            entry("./", EntryType::Directory, 1234, 0o750, 0, ""),
            entry("file", EntryType::Regular, 7, 0o4755, 1000, ""),
            entry("link", EntryType::Symlink, 7, 0o777, 0, "file"),
        ];
        for piece in [1, 100, 511, 512, 513, 1 << 20] {
            assert_eq!(told(&archive, piece).unwrap(), (expected.clone(), true), "{piece}");
        }
    }

    #[test]
    fn what_comes_before_a_header_overrules_it() {
        let archive = archive(|builder| {
            let records = [("mtime", "1.5"), ("uid", "5000000"), ("gid", "5000001"), ("path", "./")];
            builder.append_pax_extensions(records.map(|(key, value)| (key, value.as_bytes()))).unwrap();
            builder.append_data(&mut header(EntryType::Directory, 0, 0o700, 0), "x", &[][..]).unwrap();
            builder.append_pax_extensions([("size", b"600".as_slice())]).unwrap();
            let mut file = header(EntryType::Regular, 1, 0o600, 0);
            file.set_path("y").unwrap();
            file.set_cksum();
            builder.get_mut().extend_from_slice(file.as_bytes());
            builder.get_mut().extend_from_slice(&[b'y'; 1024]);
            // The builder writes long names and targets as GNU does.
            let (name, target) = ("n".repeat(300), "t".repeat(300));
            let mut link = header(EntryType::Symlink, 2, 0o777, 0);
            let mut gnu = Header::new_gnu();
            gnu.as_mut_bytes()[100..160].copy_from_slice(&link.as_mut_bytes()[100..160]);
            builder.append_link(&mut gnu, name, target).unwrap();
        });
        let expected = vec![
            entry("./", EntryType::Directory, 5_000_000, 0o700, 0, ""),
            entry("y", EntryType::Regular, 1, 0o600, 600, ""),
            entry(&"n".repeat(300), EntryType::Symlink, 2, 0o777, 0, &"t".repeat(300)),
        ];
        assert_eq!(told(&archive, 700).unwrap(), (expected, true));
    }

    #[test]
    fn what_is_cut_off_is_not_complete() {
        let archive = archive(|builder| {
            let mut file = header(EntryType::Regular, 7, 0o644, 4096);
            builder.append_data(&mut file, "zeros", &[0; 4096][..]).unwrap();
        });
        assert_eq!(archive.len(), 512 + 4096 + 1024);
        for length in [0, 100, 512, 2048, 4608, 5120, 5631] {
            assert!(!told(&archive[..length], 512).unwrap().1, "{length}");
        }
        assert!(told(&archive, 512).unwrap().1);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        assert!(told(&[b'x'; 512], 512).is_err());
        let mut long = header(EntryType::XHeader, 0, 0, 2 << 20);
        long.set_cksum();
        assert!(told(long.as_bytes(), 512).is_err());
    }
}
