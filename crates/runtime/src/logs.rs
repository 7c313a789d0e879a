//! What containers have written, as the engine has kept it.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use time::OffsetDateTime;
use tokio::sync::mpsc;

use crate::call::{Call, encoded, within};
use crate::connection::Answer;
use crate::lines::{Joiner, cut, give};
use crate::moment;
use crate::{Docker, Error, Line, Result, Stream};

/// Of a longer line a tail shows the beginning.
const LONGEST_TAIL_LINE: usize = 8 << 10;
const TAIL_LIMIT: Duration = Duration::from_secs(30);
/// The engine cuts its frames at 16 KiB.
const LONGEST_FRAME: usize = 1 << 20;
const HEADER: usize = 8;
const STDERR: u8 = 2;
/// How far the engine's order of what two streams wrote may be from the order of their moments.
const REACH: Duration = Duration::from_secs(1);

impl Docker {
    /// The last lines of both streams, in the order in which the engine got them.
    pub async fn tail(&self, name: &str, lines: usize) -> Result<Vec<String>> {
        within("read a container's output", TAIL_LIMIT, async {
            let mut output = Output::new(self.logs(name).query("tail", &lines.to_string()).stream().await?);
            let mut last = VecDeque::new();
            let mut keep = |line: Line| {
                last.push_back(cut(&line.text, LONGEST_TAIL_LINE));
                if last.len() > lines {
                    last.pop_front();
                }
            };
            while let Some(line) = output.next().await? {
                keep(line);
            }
            output.unfinished_lines().into_iter().for_each(keep);
            Ok(last.into())
        })
        .await
    }

    /// All it has written and writes until it ends. It must have been started.
    pub async fn follow(&self, name: &str, lines: mpsc::Sender<Line>) -> Result<()> {
        let mut output = Output::new(self.logs(name).query("follow", "true").stream().await?);
        while let Some(line) = output.next().await? {
            give(&lines, line).await;
        }
        // The engine may end this before it has sent the last of it, so the rest is asked for once more.
        let mut rest = self.logs(name);
        if let Some(moment) = output.last_moment() {
            rest = rest.query("since", &moment::since(moment - REACH));
        }
        output.go_on_with(rest.stream().await?);
        while let Some(line) = output.next().await? {
            give(&lines, line).await;
        }
        for line in output.unfinished_lines() {
            give(&lines, line).await;
        }
        Ok(())
    }

    fn logs(&self, name: &str) -> Call<'_> {
        self.get("read a container's output", format!("/containers/{}/logs", encoded(name)))
            .query("stdout", "true")
            .query("stderr", "true")
            .query("timestamps", "true")
    }
}

/// Both streams come over one connection in frames: which stream, how long, the moment, the bytes.
struct Output {
    answer: Answer,
    unread: BytesMut,
    stdout: Side,
    stderr: Side,
    ready: VecDeque<Line>,
}

/// One of the streams. Moments are in order within it, and only there.
#[derive(Default)]
struct Side {
    joiner: Joiner,
    place: Place,
    /// Frames up to here have been read from an earlier answer.
    read_before: Place,
}

/// The moment of the last frame, and how many there were of that moment. The engine writes moments with nine decimals, so
/// their texts are in their order.
#[derive(Default, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    moment: Vec<u8>,
    frames: usize,
}

impl Output {
    fn new(answer: Answer) -> Self {
        Self {
            answer,
            unread: BytesMut::new(),
            stdout: Side::default(),
            stderr: Side::default(),
            ready: VecDeque::new(),
        }
    }

    async fn next(&mut self) -> Result<Option<Line>> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Ok(Some(line));
            }
            let Some(bytes) = self.answer.chunk().await? else { return Ok(None) };
            self.unread.extend_from_slice(&bytes);
            self.take_frames()?;
        }
    }

    fn take_frames(&mut self) -> Result<()> {
        while let Some(&[kind, _, _, _, a, b, c, d]) = self.unread.first_chunk::<HEADER>() {
            let length = u32::from_be_bytes([a, b, c, d]) as usize;
            if length > LONGEST_FRAME {
                return Err(Error::unreadable("a frame of output is too long"));
            }
            if self.unread.len() < HEADER + length {
                break;
            }
            self.unread.advance(HEADER);
            let frame = self.unread.split_to(length);
            let (side, stream) = match kind {
                STDERR => (&mut self.stderr, Stream::Stderr),
                _ => (&mut self.stdout, Stream::Stdout),
            };
            side.take(&frame, |text| self.ready.push_back(Line { stream, text }));
        }
        Ok(())
    }

    /// The one before which both streams have been read.
    fn last_moment(&self) -> Option<OffsetDateTime> {
        let sides = [&self.stdout, &self.stderr];
        sides.into_iter().filter_map(|side| moment::parse(str::from_utf8(&side.place.moment).ok()?)).min()
    }

    fn go_on_with(&mut self, answer: Answer) {
        self.answer = answer;
        self.unread.clear();
        for side in [&mut self.stdout, &mut self.stderr] {
            side.read_before = std::mem::take(&mut side.place);
        }
    }

    /// What has no line end.
    fn unfinished_lines(&mut self) -> Vec<Line> {
        let sides = [(&mut self.stdout, Stream::Stdout), (&mut self.stderr, Stream::Stderr)];
        sides.into_iter().filter_map(|(side, stream)| Some(Line { stream, text: side.joiner.rest()? })).collect()
    }
}

impl Side {
    fn take(&mut self, frame: &[u8], line: impl FnMut(String)) {
        let (moment, text) = frame.split_at(frame.iter().position(|byte| *byte == b' ').unwrap_or(frame.len()));
        if self.place.moment == moment {
            self.place.frames += 1;
        } else {
            self.place = Place { moment: moment.to_owned(), frames: 1 };
        }
        if self.place > self.read_before {
            self.joiner.add(text.get(1..).unwrap_or_default(), line);
        }
    }
}
