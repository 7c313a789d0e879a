//! Output over the engine's API. To follow it there would lose lines at each rotation, so it is asked again and again
//! for the last entries, which is a snapshot; those that were read before are left out by their moments.

use std::time::Instant;

use super::Portion;
use super::entry::{Entry, nanoseconds};
use super::gather::{Gatherer, Reach};
use super::position::Position;
use crate::frames::{Frame, Frames};
use crate::{Docker, Result};

/// The engine looks for the last entries from the end, so that few of them cost little.
const LEAST_ENTRIES: usize = 1000;
/// So many times the number of entries that came the last time are asked for. If that was not enough, GROWTH times as
/// many, at most GROWTHS times.
const SPARE: usize = 4;
const GROWTH: usize = 8;
const GROWTHS: u32 = 3;

pub(super) struct Engine {
    docker: Docker,
    container: String,
    gatherer: Gatherer,
    /// What the engine has sent, as far as it has been read.
    answer: Option<Frames>,
    /// The first of an answer, once it has been looked at.
    first: Option<Frame>,
    /// Known to be the first that the engine has.
    oldest: Option<Entry>,
    has_asked: bool,
    /// How many new entries came with this answer.
    came: usize,
}

impl Engine {
    pub(super) fn new(docker: Docker, container: String, longest: usize, position: &Position) -> Self {
        Self {
            docker,
            container,
            gatherer: Gatherer::new(longest, position, false),
            answer: None,
            first: None,
            oldest: None,
            has_asked: false,
            came: 0,
        }
    }

    /// `has_ended`: nothing can follow what is there, so that unfinished lines are given out.
    pub(super) async fn read(&mut self, most_bytes: usize, has_ended: bool, now: Instant) -> Result<Portion> {
        let (mut answer, is_new) = match self.answer.take() {
            Some(answer) => (answer, false),
            None => (self.ask().await?, true),
        };
        while !self.gatherer.is_full(most_bytes) {
            let frame = match self.first.take() {
                Some(frame) => Some(frame),
                None => answer.next().await?,
            };
            let Some(frame) = frame else {
                // What an older answer does not have may have come since.
                let is_end = is_new && !self.gatherer.has_gone_astray();
                if is_end {
                    self.gatherer.rest(has_ended, now);
                }
                return Ok(self.gatherer.portion(None, is_end));
            };
            self.take(&frame, now);
        }
        self.answer = Some(answer);
        Ok(self.gatherer.portion(None, false))
    }

    pub(super) fn is_unfinished(&self) -> bool {
        self.gatherer.is_unfinished()
    }

    fn take(&mut self, frame: &Frame, now: Instant) {
        // The engine has read it from an entry, so it has a moment.
        let Some(entry) = entry(frame) else { return };
        self.came += usize::from(self.gatherer.take(entry, frame.text(), frame.length(), now, || None));
    }

    /// An answer that begins with something that was read before, or with the first that the engine has.
    async fn ask(&mut self) -> Result<Frames> {
        if std::mem::replace(&mut self.has_asked, true) {
            self.gatherer.seek();
        }
        let mut entries = LEAST_ENTRIES.max(std::mem::take(&mut self.came).saturating_mul(SPARE));
        for _ in 0..GROWTHS {
            if !self.gatherer.has_read() || self.gatherer.was_set_back() {
                break;
            }
            let (answer, first) = self.ask_for(Some(entries)).await?;
            let is_enough = first.is_none_or(|entry| match self.gatherer.reach(entry) {
                Reach::Before => true,
                Reach::Same => self.oldest == Some(entry),
                Reach::After => false,
            });
            if is_enough {
                return Ok(answer);
            }
            entries = entries.saturating_mul(GROWTH);
        }
        let (answer, first) = self.ask_for(None).await?;
        self.oldest = first;
        if let Some(entry) = first
            && self.gatherer.has_read()
            && self.gatherer.reach(entry) == Reach::After
        {
            self.gatherer.miss_until(entry);
        }
        Ok(answer)
    }

    async fn ask_for(&mut self, tail: Option<usize>) -> Result<(Frames, Option<Entry>)> {
        let mut answer = self.docker.frames(&self.container, tail, None).await?;
        self.first = answer.next().await?;
        let first = self.first.as_ref().and_then(entry);
        Ok((answer, first))
    }
}

fn entry(frame: &Frame) -> Option<Entry> {
    Some(Entry { stream: frame.stream, at: nanoseconds(frame.moment())? })
}
