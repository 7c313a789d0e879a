//! Output as the engine sends it: both streams over one connection, in frames: which stream, how long, the moment, the
//! bytes.

use std::time::Duration;

use bytes::{Buf, BytesMut};
use time::OffsetDateTime;

use crate::call::{encoded, within};
use crate::connection::EngineAnswer;
use crate::{Docker, Error, Result, Stream, moment};

const WHAT: &str = "read a container's output";
/// An engine that has to search all its files begins late.
const CHUNK_LIMIT: Duration = Duration::from_secs(60);
/// The engine cuts its frames at 16 KiB.
const LONGEST_FRAME: usize = 1 << 20;
const HEADER: usize = 8;
const STDERR: u8 = 2;

pub(crate) struct Frames {
    answer: EngineAnswer,
    unread: BytesMut,
}

pub(crate) struct Frame {
    pub(crate) stream: Stream,
    bytes: BytesMut,
}

impl Docker {
    /// What the engine has, or the last entries of it; without what came after a moment.
    pub(crate) async fn frames(
        &self,
        container: &str,
        tail: Option<usize>,
        until: Option<OffsetDateTime>,
    ) -> Result<Frames> {
        let mut call = self
            .get(WHAT, format!("/containers/{}/logs", encoded(container)))
            .query("stdout", "true")
            .query("stderr", "true")
            .query("timestamps", "true")
            .limit(CHUNK_LIMIT);
        if let Some(entries) = tail {
            call = call.query("tail", &entries.to_string());
        }
        if let Some(until) = until {
            call = call.query("until", &moment::since(until));
        }
        Ok(Frames::new(call.stream().await?))
    }
}

impl Frames {
    pub(crate) fn new(answer: EngineAnswer) -> Self {
        Self { answer, unread: BytesMut::new() }
    }

    /// The next one; none at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame>> {
        within(WHAT, CHUNK_LIMIT, self.next_of_command()).await
    }

    /// The same for a command that may be silent for as long as its caller waits. Its frames have no moments.
    pub(crate) async fn next_of_command(&mut self) -> Result<Option<Frame>> {
        loop {
            if let Some(frame) = self.take()? {
                return Ok(Some(frame));
            }
            let Some(bytes) = self.answer.chunk().await? else { return Ok(None) };
            self.unread.extend_from_slice(&bytes);
        }
    }

    fn take(&mut self) -> Result<Option<Frame>> {
        let Some(&[kind, _, _, _, a, b, c, d]) = self.unread.first_chunk::<HEADER>() else { return Ok(None) };
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > LONGEST_FRAME {
            return Err(Error::unreadable("a frame of output is too long"));
        }
        if self.unread.len() < HEADER + length {
            return Ok(None);
        }
        self.unread.advance(HEADER);
        let stream = if kind == STDERR { Stream::Stderr } else { Stream::Stdout };
        Ok(Some(Frame { stream, bytes: self.unread.split_to(length) }))
    }
}

impl Frame {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn moment(&self) -> &[u8] {
        self.bytes[..].split(|byte| *byte == b' ').next().unwrap_or_default()
    }

    pub(crate) fn text(&self) -> &[u8] {
        self.bytes.get(self.moment().len() + 1..).unwrap_or_default()
    }

    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }
}
