//! A large file on its way: one chunk after the other, each read when the connection has room for it.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::task::JoinHandle;

use super::folder::read_at;
use crate::body::BodyError;

const CHUNK: u64 = 64 * 1024;

/// Ends with an error when the file is shorter than it was when the answer's head was made: the length is announced,
/// and no other bytes can take the place of the missing ones. What is appended meanwhile is not sent.
pub struct FileStream {
    file: Arc<OwnedFd>,
    left: Range<u64>,
    reading: Option<JoinHandle<io::Result<Vec<u8>>>>,
}

impl FileStream {
    pub fn new(file: Arc<OwnedFd>, part: Range<u64>) -> Self {
        Self { file, left: part, reading: None }
    }

    fn remaining(&self) -> u64 {
        self.left.end - self.left.start
    }

    fn read_next(&self) -> JoinHandle<io::Result<Vec<u8>>> {
        let (file, offset, most) = (self.file.clone(), self.left.start, self.remaining().min(CHUNK));
        tokio::task::spawn_blocking(move || read_at(&file, offset, most as usize))
    }

    fn accept(&mut self, chunk: io::Result<Vec<u8>>) -> Result<Frame<Bytes>, BodyError> {
        let chunk = chunk?;
        if chunk.is_empty() {
            return Err("the file became shorter while it was sent".into());
        }
        self.left.start += chunk.len() as u64;
        Ok(Frame::data(chunk.into()))
    }
}

impl hyper::body::Body for FileStream {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.left.is_empty() {
            return Poll::Ready(None);
        }
        let mut reading = self.reading.take().unwrap_or_else(|| self.read_next());
        let Poll::Ready(joined) = Pin::new(&mut reading).poll(context) else {
            self.reading = Some(reading);
            return Poll::Pending;
        };
        let frame = joined.map_err(BodyError::from).and_then(|chunk| self.accept(chunk));
        if frame.is_err() {
            // Nothing follows an error, even if the connection asks again.
            self.left.start = self.left.end;
        }
        Poll::Ready(Some(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining())
    }
}

impl Drop for FileStream {
    /// A read that has not begun is called off when the visitor has left.
    fn drop(&mut self) {
        if let Some(reading) = self.reading.take() {
            reading.abort();
        }
    }
}
