//! Entries become lines: pieces are joined per stream, what was given out before is left out, and it is known at any
//! time from where on another reader would have to read.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use time::OffsetDateTime;

use super::entry::Entry;
use super::position::{FilePlace, Mark, Position, StreamProgress};
use super::text::Text;
use super::{Gap, OutputLine, Portion};
use crate::Stream;

/// An unfinished line without a continuation for so long is given out as it is.
const UNFINISHED_LINE_LIMIT: Duration = Duration::from_secs(2);
/// So much may be read after the beginning of an unfinished line, because the next reader reads it again.
const FARTHEST: u64 = 4 << 20;
/// Nanoseconds by which the order of entries may differ from that of their moments; a second has been seen.
const DISORDER: i64 = 10_000_000_000;
/// What a line counts beyond its text, so that a portion of empty lines has an end too.
const LINE_COST: usize = 32;

pub(super) struct Gatherer {
    sides: [Side; 2],
    /// How many entries, and how many bytes, have been read.
    entries: u64,
    volume: u64,
    gap: Option<Gap>,
    lines: Vec<OutputLine>,
    size: usize,
}

struct Side {
    text: Text,
    unfinished: Option<Unfinished>,
    /// The last entry that was given out, and the last that was read: they differ by an unfinished line.
    given: Option<Mark>,
    read: Option<Mark>,
    /// So many entries that follow have been given out before, and after them those up to a mark.
    skip: u64,
    seek: Option<Seek>,
    /// The moment of an unfinished line that has to be read again.
    wanted: Option<i64>,
}

struct Unfinished {
    at: i64,
    is_rest: bool,
    /// The place before its first piece.
    before: Option<FilePlace>,
    /// What had been read by then.
    entries: u64,
    volume: u64,
    pieces: u64,
    /// Entries of the other stream since then.
    others: u64,
    last_piece: Instant,
}

struct Seek {
    target: Mark,
    /// Entries of the target's moment that were met.
    met: u64,
    /// Some have passed of which it is known only if the target is met that they were given out before.
    is_in_doubt: bool,
}

/// How the first entry of those that are there relates to what was read before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// It was read before, so whatever is in front of it was.
    Before,
    /// It is where reading goes on, or nearly: if there is something in front of it, that may be wanted.
    Same,
    /// It is new, so that something may be missing in front of it.
    After,
}

impl Gatherer {
    /// `is_placed`: reading goes on at the position's place. Otherwise by the moments of entries.
    pub(super) fn new(longest: usize, position: &Position, is_placed: bool) -> Self {
        let sides = position.streams.each_ref().map(|progress| Side::new(longest, progress, is_placed));
        Self { sides, entries: 0, volume: 0, gap: None, lines: Vec::new(), size: 0 }
    }

    /// From here on come entries of which some have been read before.
    pub(super) fn seek(&mut self) {
        for side in &mut self.sides {
            side.skip = 0;
            side.seek = side.read.map(|target| Seek { target, met: 0, is_in_doubt: false });
            side.wanted = None;
        }
    }

    /// An entry that took `length` bytes; `before` tells the place in front of it. Whether it is new.
    pub(super) fn take(
        &mut self,
        entry: Entry,
        text: &[u8],
        length: usize,
        now: Instant,
        before: impl FnOnce() -> Option<FilePlace>,
    ) -> bool {
        self.entries += 1;
        let index = index(entry.stream);
        if let Some(unfinished) = &mut self.sides[1 - index].unfinished {
            unfinished.others += 1;
        }
        let is_seeking = self.sides[index].seek.is_some();
        let is_new = !self.sides[index].has_given(entry.at);
        // What the engine is asked for again and again does not count again and again.
        if is_new || !is_seeking {
            self.volume += length as u64;
        }
        if is_new {
            self.add(index, entry.at, text, now, before);
        }
        for index in [0, 1] {
            if self.sides[index].unfinished.as_ref().is_some_and(|line| self.volume - line.volume > FARTHEST) {
                self.end_line(index);
            }
        }
        is_new
    }

    fn add(&mut self, index: usize, at: i64, text: &[u8], now: Instant, before: impl FnOnce() -> Option<FilePlace>) {
        // Pieces of one line share a moment. With another, this is not its continuation: its program has ended.
        if self.sides[index].unfinished.as_ref().is_some_and(|line| line.at != at) {
            self.end_line(index);
        }
        let side = &mut self.sides[index];
        let end = text.strip_suffix(b"\n");
        // A piece of this moment was given out as the end of its line.
        let is_rest = side.unfinished.is_none() && side.given.is_some_and(|mark| mark.is_piece && mark.at == at);
        side.read = Some(Mark::after(side.read, at, end.is_none()));
        if let Some(end) = end {
            side.text.add(end);
            let (at, is_rest) = side.unfinished.as_ref().map_or((at, is_rest), |line| (line.at, line.is_rest));
            self.give(index, at, is_rest);
            return;
        }
        side.text.add(text);
        let (entries, volume) = (self.entries, self.volume);
        let unfinished = side.unfinished.get_or_insert_with(|| Unfinished {
            at,
            is_rest,
            before: before(),
            entries,
            volume,
            pieces: 0,
            others: 0,
            last_piece: now,
        });
        unfinished.pieces += 1;
        unfinished.last_piece = now;
    }

    fn end_line(&mut self, index: usize) {
        if let Some((at, is_rest)) = self.sides[index].unfinished.as_ref().map(|line| (line.at, line.is_rest)) {
            self.give(index, at, is_rest);
        }
    }

    fn give(&mut self, index: usize, at: i64, is_rest: bool) {
        let side = &mut self.sides[index];
        side.unfinished = None;
        side.given = side.read;
        let (text, cut) = side.text.take();
        self.size += text.len() + LINE_COST;
        let stream = if index == 0 { Stream::Stdout } else { Stream::Stderr };
        self.lines.push(OutputLine { stream, at: moment(at), text, cut, is_rest });
    }

    /// Nothing more comes for now: unfinished lines that have waited long enough are given out, or all of them.
    pub(super) fn rest(&mut self, all: bool, now: Instant) {
        for index in [0, 1] {
            let unfinished = self.sides[index].unfinished.as_ref();
            if unfinished
                .is_some_and(|line| all || now.saturating_duration_since(line.last_piece) >= UNFINISHED_LINE_LIMIT)
            {
                self.end_line(index);
            }
        }
    }

    pub(super) fn is_unfinished(&self) -> bool {
        self.sides.iter().any(|side| side.unfinished.is_some())
    }

    pub(super) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    pub(super) fn has_read(&self) -> bool {
        self.sides.iter().any(|side| side.read.is_some())
    }

    /// Enough for a portion.
    pub(super) fn is_full(&self, most_bytes: usize) -> bool {
        self.size >= most_bytes.max(1)
    }

    /// For the first entry of those that are there.
    pub(super) fn reach(&self, entry: Entry) -> Reach {
        let index = index(entry.stream);
        let (side, other) = (&self.sides[index], &self.sides[1 - index]);
        let is_wanted = side.wanted == Some(entry.at);
        // Moments of two streams do not say which of two entries came first unless they are far apart; and all pieces
        // of a line of which some are wanted must be there, to be counted.
        let is_too_late = other.wanted_piece().is_some_and(|at| entry.at > at - DISORDER);
        match side.read.map(|mark| entry.at.cmp(&mark.latest())) {
            Some(Ordering::Less) if !is_too_late => Reach::Before,
            Some(Ordering::Less | Ordering::Equal) => Reach::Same,
            _ if is_wanted => Reach::Same,
            _ => Reach::After,
        }
    }

    /// Whether the clock was set back, so that moments alone do not tell what was read before.
    pub(super) fn was_set_back(&self) -> bool {
        self.sides.iter().any(|side| side.read.is_some_and(|mark| mark.latest.is_some()))
    }

    /// After all that there is: whether what was read last is gone, so that some may have been left out wrongly. The
    /// clock's having been set back is forgotten then, because what was read before that is gone too.
    pub(super) fn has_gone_astray(&mut self) -> bool {
        let mut is_astray = false;
        for side in &mut self.sides {
            if side.seek.as_ref().is_some_and(|seek| seek.is_in_doubt) {
                is_astray = true;
                for mark in [&mut side.read, &mut side.given].into_iter().flatten() {
                    mark.latest = None;
                }
            }
        }
        is_astray
    }

    /// Something is missing before this entry. To be called while there are no lines.
    pub(super) fn miss_until(&mut self, entry: Entry) {
        let after = self.sides.iter().filter_map(|side| side.read).map(|mark| moment(mark.at)).max();
        let gap = self.gap.get_or_insert_default();
        gap.after = gap.after.or(after);
        gap.until = Some(moment(entry.at));
    }

    /// Bytes that are no entry. To be called while there are no lines.
    pub(super) fn miss_bytes(&mut self, bytes: usize) {
        let gap = self.gap.get_or_insert_default();
        gap.bytes = Some(gap.bytes.unwrap_or_default() + bytes as u64);
    }

    /// What has been gathered. `end` is the place after all that was read.
    pub(super) fn portion(&mut self, end: Option<FilePlace>, is_end: bool) -> Portion {
        self.size = 0;
        Portion { gap: self.gap.take(), lines: std::mem::take(&mut self.lines), position: self.position(end), is_end }
    }

    fn position(&self, end: Option<FilePlace>) -> Position {
        let lines = self.sides.iter().enumerate().filter_map(|(index, side)| Some((index, side.unfinished.as_ref()?)));
        let earliest = lines.min_by_key(|(_, line)| line.entries);
        let place = match earliest {
            Some((_, line)) => line.before.clone(),
            None => end,
        };
        let streams = [0, 1].map(|index| {
            let passed = match earliest {
                Some((owner, line)) if owner != index => line.others,
                _ => 0,
            };
            self.sides[index].progress(passed, place.is_some())
        });
        Position { place, streams }
    }
}

impl Side {
    fn new(longest: usize, progress: &StreamProgress, is_placed: bool) -> Self {
        let met = if is_placed { progress.seeking } else { Some(0) };
        let seek = progress.mark.zip(met).map(|(target, met)| Seek { target, met, is_in_doubt: false });
        Self {
            text: Text::new(longest),
            unfinished: None,
            given: progress.mark,
            read: progress.mark,
            skip: if is_placed { progress.ahead } else { 0 },
            seek,
            wanted: progress.unfinished,
        }
    }

    fn wanted_piece(&self) -> Option<i64> {
        self.wanted.or_else(|| self.read.filter(|mark| mark.is_piece).map(|mark| mark.at))
    }

    /// Whether an entry was given out before. Each entry is asked about once, in their order.
    fn has_given(&mut self, at: i64) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return true;
        }
        let Some(seek) = &mut self.seek else { return false };
        let is_given = at <= seek.target.latest();
        seek.met += u64::from(at == seek.target.at);
        seek.is_in_doubt |= is_given && at > seek.target.at;
        // What follows the target is new whatever its moment is: clocks may be set back.
        if !is_given || seek.met == seek.target.count {
            self.seek = None;
        }
        is_given
    }

    /// `passed`: entries of this stream between the position's place and here.
    fn progress(&self, passed: u64, is_placed: bool) -> StreamProgress {
        let pieces = self.unfinished.as_ref().map_or(0, |line| line.pieces);
        StreamProgress {
            mark: self.given,
            ahead: if is_placed { passed.saturating_sub(pieces) + self.skip } else { 0 },
            seeking: self.seek.as_ref().map(|seek| seek.met).filter(|_| is_placed),
            unfinished: self.unfinished.as_ref().map(|line| line.at),
        }
    }
}

fn index(stream: Stream) -> usize {
    usize::from(stream == Stream::Stderr)
}

pub(super) fn moment(nanoseconds: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp_nanos(nanoseconds.into()).unwrap_or(OffsetDateTime::UNIX_EPOCH)
}
