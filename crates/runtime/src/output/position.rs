//! Where a reader is, in a form that outlives it.

use serde::{Deserialize, Serialize};

/// Where a reader is: to be stored together with what was read. It holds nothing of the text.
///
/// What has been given out is, in each stream, everything up to one entry. The file's place says it exactly; the
/// moments say it where that file is gone or cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) place: Option<FilePlace>,
    /// Of stdout and of stderr.
    pub(super) streams: [StreamProgress; 2],
}

/// The end of an entry in a file of the engine, before which both streams have been given out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FilePlace {
    pub inode: u64,
    pub offset: u64,
    /// Of the bytes before the offset. File systems use the numbers of their files again, and quickly.
    pub seal: u64,
}

/// How far one stream has been given out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StreamProgress {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// So many entries after the place have been given out as well, because the other stream has an unfinished line
    /// there.
    #[serde(skip_serializing_if = "is_zero")]
    pub ahead: u64,
    /// After those, entries up to the mark have been given out; so many of the mark's moment are already behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seeking: Option<u64>,
    /// The moment of the unfinished line that follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<i64>,
}

/// The last entry of a stream that was read. Within one stream moments are in order, and pieces of a long line share
/// one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Nanoseconds since 1970.
    pub at: i64,
    /// How many entries of this moment have been read.
    pub count: u64,
    /// It was a piece of a line, so that others with its moment may follow at any time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_piece: bool,
    /// The latest moment of the stream, if the clock was set back after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latest: Option<i64>,
}

impl Mark {
    pub(super) fn after(last: Option<Self>, at: i64, is_piece: bool) -> Self {
        let before = last.filter(|mark| mark.at == at).map_or(0, |mark| mark.count);
        let latest = last.map(|mark| mark.latest()).filter(|latest| *latest > at);
        Self { at, count: before + 1, is_piece, latest }
    }

    pub(super) fn latest(&self) -> i64 {
        self.latest.unwrap_or(self.at)
    }
}

/// FNV-1a: it never changes, and is the same on every machine.
pub(super) fn seal(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
