//! One file of the engine's log, held open and read in blocks.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use memchr::memchr;

use super::position::{FilePlace, seal};

const BLOCK: usize = 256 << 10;
/// The engine cuts lines at 16 KiB, of which each byte may take six.
const LONGEST_ENTRY: usize = 1 << 20;
/// The end of an entry is its moment, so these bytes are unlike those of any other file, and none of them is text.
const SEALED: usize = 40;

pub(super) struct LogFile {
    file: File,
    inode: u64,
    /// Some bytes of the file, and where they begin in it.
    buffer: Vec<u8>,
    begin: u64,
    /// What was taken, and what was searched for a line end; as indices into the buffer.
    taken: usize,
    searched: usize,
}

/// What came of reading on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fill {
    More,
    End,
    /// The file no longer has what was read from it: it was emptied.
    Replaced,
}

impl LogFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let inode = file.metadata()?.ino();
        Ok(Self { file, inode, buffer: Vec::new(), begin: 0, taken: 0, searched: 0 })
    }

    pub(super) fn inode(&self) -> u64 {
        self.inode
    }

    /// Goes to a place if it is one in this file.
    pub(super) fn go_to(&mut self, place: &FilePlace) -> io::Result<bool> {
        if self.inode != place.inode {
            return Ok(false);
        }
        let begin = place.offset.saturating_sub(SEALED as u64);
        let mut sealed = vec![0; usize::try_from(place.offset - begin).unwrap_or(SEALED)];
        match self.file.read_exact_at(&mut sealed, begin) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other?,
        }
        if seal(&sealed) != place.seal {
            return Ok(false);
        }
        (self.taken, self.searched) = (sealed.len(), sealed.len());
        (self.buffer, self.begin) = (sealed, begin);
        Ok(true)
    }

    /// The place after what was taken; none at the beginning of the file, which is like that of any other.
    pub(super) fn place(&self) -> Option<FilePlace> {
        let offset = self.begin + self.taken as u64;
        let sealed = &self.buffer[self.taken.saturating_sub(SEALED)..self.taken];
        (offset > 0).then(|| FilePlace { inode: self.inode, offset, seal: seal(sealed) })
    }

    /// The next whole line in the buffer, with its end.
    pub(super) fn line(&mut self) -> Option<Range<usize>> {
        let Some(end) = memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            return None;
        };
        Some(self.taken..self.searched + end + 1)
    }

    pub(super) fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.buffer[range]
    }

    pub(super) fn take(&mut self, range: &Range<usize>) {
        (self.taken, self.searched) = (range.end, range.end);
    }

    /// What has no line end, and is more than it may be.
    pub(super) fn overlong(&self) -> Option<Range<usize>> {
        Some(self.unfinished()).filter(|range| range.len() > LONGEST_ENTRY)
    }

    pub(super) fn unfinished(&self) -> Range<usize> {
        self.taken..self.buffer.len()
    }

    /// Reads on. To be called when there is no whole line.
    pub(super) fn fill(&mut self) -> io::Result<Fill> {
        let end = self.begin + self.buffer.len() as u64;
        let Some(more) = self.file.metadata()?.len().checked_sub(end) else { return Ok(Fill::Replaced) };
        if more == 0 {
            // Most readers have nothing to read most of the time, so no memory is held for them.
            self.forget_what_was_taken();
            self.buffer.shrink_to_fit();
            return Ok(Fill::End);
        }
        if !self.has_what_was_read()? {
            return Ok(Fill::Replaced);
        }
        self.forget_what_was_taken();
        let filled = self.buffer.len();
        self.buffer.resize(filled + usize::try_from(more).unwrap_or(BLOCK).min(BLOCK), 0);
        let read = self.file.read_at(&mut self.buffer[filled..], end);
        self.buffer.truncate(filled + *read.as_ref().unwrap_or(&0));
        Ok(if read? == 0 { Fill::End } else { Fill::More })
    }

    /// All but what is sealed.
    fn forget_what_was_taken(&mut self) {
        let done = self.taken.saturating_sub(SEALED);
        self.buffer.drain(..done);
        self.begin += done as u64;
        (self.taken, self.searched) = (self.taken - done, self.searched - done);
    }

    /// An engine that may keep one file only empties it and goes on.
    fn has_what_was_read(&self) -> io::Result<bool> {
        let mut there = [0; SEALED];
        let known = &self.buffer[self.buffer.len().saturating_sub(SEALED)..];
        let there = &mut there[..known.len()];
        let begin = self.begin + (self.buffer.len() - known.len()) as u64;
        match self.file.read_exact_at(there, begin) {
            Ok(()) => Ok(there == known),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }
}
