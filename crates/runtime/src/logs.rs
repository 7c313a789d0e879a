//! The last lines that a container has written.

use std::collections::VecDeque;
use std::time::Duration;

use time::OffsetDateTime;

use crate::call::within;
use crate::lines::{Joiner, cut};
use crate::{Docker, Result, Stream};

/// Of a longer line a tail shows the beginning.
const LONGEST_TAIL_LINE: usize = 8 << 10;
/// The engine counts what came after the moment too, and leaves it out then.
const READ_FOR_A_MOMENT: usize = 200;
const TAIL_LIMIT: Duration = Duration::from_secs(30);

impl Docker {
    /// The last lines of both streams, in the order in which the engine got them.
    pub async fn tail(&self, name: &str, lines: usize) -> Result<Vec<String>> {
        self.tail_until(name, lines, None).await
    }

    /// The same of what it had printed at a moment.
    pub async fn tail_until(&self, name: &str, lines: usize, until: Option<OffsetDateTime>) -> Result<Vec<String>> {
        within("read a container's output", TAIL_LIMIT, async {
            let read = if until.is_some() { lines.max(READ_FOR_A_MOMENT) } else { lines };
            let mut frames = self.frames(name, Some(read), until).await?;
            let (mut stdout, mut stderr) = (Joiner::default(), Joiner::default());
            let mut last = VecDeque::new();
            let mut keep = |line: String| {
                last.push_back(cut(&line, LONGEST_TAIL_LINE));
                if last.len() > lines {
                    last.pop_front();
                }
            };
            while let Some(frame) = frames.next().await? {
                let joiner = if frame.stream == Stream::Stderr { &mut stderr } else { &mut stdout };
                joiner.add(frame.text(), &mut keep);
            }
            [stdout.rest(), stderr.rest()].into_iter().flatten().for_each(keep);
            Ok(last.into())
        })
        .await
    }
}
