//! The engine's log files, read one after the other and held open through rotations.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Portion;
use super::entry::{self, Entry, Parsed};
use super::file::{Fill, LogFile};
use super::gather::{Gatherer, Reach};
use super::position::{FilePlace, Position};
use super::rotation::Names;

/// So many files that are to be read later are held, so that the engine may remove them before their turn comes.
const MOST_HELD: usize = 8;

pub(super) struct Files {
    names: Names,
    current: LogFile,
    /// The end of the file before.
    before: Option<FilePlace>,
    /// Those that were begun later, in their order.
    later: VecDeque<LogFile>,
    /// It is known that the engine does not write to the current one any more.
    is_complete: bool,
    /// The newest of those that are held is gone, and so may be others that followed it.
    is_cut_off: bool,
    /// Reading did not begin at a known place, so that it has to be seen whether something is missing.
    is_beginning: bool,
    is_removed: bool,
    gatherer: Gatherer,
    text: Vec<u8>,
}

/// What came of trying to go on.
enum Step {
    On,
    /// What follows belongs to the next portion.
    Stop,
    End,
}

impl Files {
    pub(super) fn open(newest: PathBuf, longest: usize, position: &Position) -> io::Result<Self> {
        let names = Names::new(newest);
        let mut later = VecDeque::from(names.open()?);
        let place = position.place.as_ref();
        let start = place.map_or(Ok(None), |place| start_at(&mut later, place))?;
        later.drain(..start.unwrap_or(0));
        let current = later.pop_front().ok_or(io::ErrorKind::NotFound)?;
        later.truncate(MOST_HELD);
        Ok(Self {
            names,
            current,
            before: None,
            is_complete: !later.is_empty(),
            later,
            is_cut_off: false,
            is_beginning: start.is_none(),
            is_removed: false,
            gatherer: Gatherer::new(longest, position, start.is_some()),
            text: Vec::new(),
        })
    }

    /// `has_ended`: nothing can follow what is there, so that unfinished lines are given out.
    pub(super) fn read(&mut self, most_bytes: usize, has_ended: bool, now: Instant) -> io::Result<Portion> {
        // As soon as they are there, because the engine may remove them while this one is read.
        self.hold_later_files()?;
        let mut is_end = false;
        while !is_end && !self.gatherer.is_full(most_bytes) {
            match self.step(now)? {
                Step::On => {}
                Step::Stop => break,
                Step::End => is_end = true,
            }
        }
        if is_end {
            self.gatherer.rest(has_ended || self.is_removed, now);
        }
        let end = self.place();
        Ok(self.gatherer.portion(end, is_end))
    }

    /// The file that the engine writes to now.
    pub(super) fn newest(&self) -> &Path {
        self.names.newest()
    }

    pub(super) fn is_unfinished(&self) -> bool {
        self.gatherer.is_unfinished()
    }

    /// The files have no names any more; what is held can still be read.
    pub(super) fn is_removed(&self) -> bool {
        self.is_removed
    }

    fn place(&self) -> Option<FilePlace> {
        self.current.place().or_else(|| self.before.clone())
    }

    fn step(&mut self, now: Instant) -> io::Result<Step> {
        if let Some(line) = self.current.line() {
            return Ok(self.take_line(&line, now));
        }
        if let Some(rubbish) = self.current.overlong() {
            return Ok(self.take_rubbish(&rubbish));
        }
        match self.current.fill()? {
            Fill::More => Ok(Step::On),
            Fill::End => self.end_of_file(now),
            Fill::Replaced => self.begin_again(now),
        }
    }

    fn take_line(&mut self, line: &Range<usize>, now: Instant) -> Step {
        let bytes = self.current.bytes(line.start..line.end - 1);
        match entry::parse(bytes, &mut self.text) {
            Parsed::Entry(entry) => self.take_entry(entry, line, now),
            Parsed::AfterRubbish(_, length) => self.take_rubbish(&(line.start..line.start + length)),
            Parsed::Rubbish => self.take_rubbish(line),
        }
    }

    fn take_entry(&mut self, entry: Entry, line: &Range<usize>, now: Instant) -> Step {
        if self.is_beginning && self.gatherer.has_read() && self.gatherer.reach(entry) == Reach::After {
            if self.gatherer.has_lines() {
                return Step::Stop;
            }
            self.gatherer.miss_until(entry);
        }
        self.is_beginning = false;
        let (current, before) = (&self.current, &self.before);
        let place = || current.place().or_else(|| before.clone());
        self.gatherer.take(entry, &self.text, line.len(), now, place);
        self.current.take(line);
        Step::On
    }

    fn take_rubbish(&mut self, rubbish: &Range<usize>) -> Step {
        if self.gatherer.has_lines() {
            return Step::Stop;
        }
        self.gatherer.miss_bytes(rubbish.len());
        self.current.take(rubbish);
        Step::On
    }

    fn end_of_file(&mut self, now: Instant) -> io::Result<Step> {
        if !self.is_complete {
            self.hold_later_files()?;
            // It may have been written to until a moment ago, so it is read once more.
            self.is_complete = self.is_cut_off || !self.later.is_empty();
            return match self.is_complete {
                true => Ok(Step::On),
                false if self.gatherer.has_gone_astray() => self.begin_again(now),
                false => Ok(Step::End),
            };
        }
        let rubbish = self.current.unfinished();
        if !rubbish.is_empty() {
            return Ok(self.take_rubbish(&rubbish));
        }
        let Some(next) = self.later.pop_front() else { return self.begin_again(now) };
        self.before = self.place();
        self.current = next;
        self.is_complete = !self.later.is_empty();
        Ok(Step::On)
    }

    fn hold_later_files(&mut self) -> io::Result<()> {
        let newest_held = self.later.back().unwrap_or(&self.current).inode();
        if self.later.len() >= MOST_HELD || self.is_cut_off || self.names.newest_is(newest_held) {
            return Ok(());
        }
        let files = match self.names.open() {
            Ok(files) => files,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.is_removed = true;
                return Ok(());
            }
            // There is a next time.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => return Ok(()),
            Err(error) => return Err(error),
        };
        self.is_removed = false;
        // It is held, so its number belongs to no other.
        match files.iter().position(|file| file.inode() == newest_held) {
            Some(known) => self.later.extend(files.into_iter().skip(known + 1).take(MOST_HELD - self.later.len())),
            None => self.is_cut_off = true,
        }
        Ok(())
    }

    /// What followed is gone: reading goes on with the oldest that there is.
    fn begin_again(&mut self, now: Instant) -> io::Result<Step> {
        self.gatherer.rest(true, now);
        let files = match self.names.open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.is_removed = true;
                return Ok(Step::End);
            }
            // There is a next time, and more to come.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => return Ok(Step::Stop),
            files => files?,
        };
        self.later = VecDeque::from(files);
        self.current = self.later.pop_front().ok_or(io::ErrorKind::NotFound)?;
        self.later.truncate(MOST_HELD);
        self.before = None;
        self.is_complete = !self.later.is_empty();
        (self.is_cut_off, self.is_beginning) = (false, true);
        self.gatherer.seek();
        Ok(Step::On)
    }
}

/// The index of the file that has the place, which is gone to.
fn start_at(files: &mut VecDeque<LogFile>, place: &FilePlace) -> io::Result<Option<usize>> {
    for (index, file) in files.iter_mut().enumerate() {
        if file.go_to(place)? {
            return Ok(Some(index));
        }
    }
    Ok(None)
}
