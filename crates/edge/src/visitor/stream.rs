//! The bytes of a visitor's connection, and what can be learned from their coming and going.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::rt::{Read, ReadBufCursor, Write};

use super::activity::Activity;
use super::transport::Transport;

/// A connection that speaks HTTP/2 begins with these bytes, and no other connection does.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// As much as is read to find out that there is something to read, where it cannot be found out otherwise.
const FIRST_BYTES: usize = 16;
/// Head and body of an answer that are written in one piece.
const SMALL_ANSWER: usize = 2048;

pub struct VisitorStream {
    transport: Transport,
    activity: Arc<Activity>,
    /// Bytes that were read already, and are to be read before all others.
    first: Bytes,
}

impl VisitorStream {
    pub fn new(transport: Transport, activity: Arc<Activity>) -> Self {
        Self { transport, activity, first: Bytes::new() }
    }

    /// Takes back what was read of a request that is not complete yet.
    pub fn unread(mut self, bytes: Bytes) -> Self {
        if !bytes.is_empty() {
            self.activity.bytes_came();
            self.first = bytes;
        }
        self
    }

    /// Reads until it is clear whether the visitor speaks HTTP/2.
    pub async fn speaks_http2(&mut self) -> io::Result<bool> {
        let (mut begin, mut length) = ([0; PREFACE.len()], self.first.len());
        begin[..length].copy_from_slice(&self.first);
        while length < PREFACE.len() && begin[..length] == PREFACE[..length] {
            match self.transport.read(&mut begin[length..]).await? {
                0 => break,
                count => length += count,
            }
            self.activity.bytes_came();
        }
        self.first = Bytes::copy_from_slice(&begin[..length]);
        Ok(begin == *PREFACE)
    }

    /// Returns when there is something to read, the end included.
    pub async fn readable(&mut self) -> io::Result<()> {
        if self.first.is_empty() {
            let mut begin = [0; FIRST_BYTES];
            let length = self.transport.readable(&mut begin).await?;
            self.first = Bytes::copy_from_slice(&begin[..length]);
        }
        Ok(())
    }

    fn note<T>(&self, written: Poll<T>) -> Poll<T> {
        self.activity.set_blocked(written.is_pending());
        written
    }
}

impl Read for VisitorStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        mut buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.first.is_empty() {
            let count = buffer.remaining().min(self.first.len());
            buffer.put_slice(&self.first.split_to(count));
            return Poll::Ready(Ok(()));
        }
        ready!(Pin::new(&mut self.transport).poll_read(context, buffer))?;
        self.activity.bytes_came();
        Poll::Ready(Ok(()))
    }
}

impl Write for VisitorStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.transport).poll_write(context, bytes);
        self.note(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // Copying a small answer together is cheaper than having the system do it.
        let mut together = [0; SMALL_ANSWER];
        let written = match copy_together(buffers, &mut together) {
            Some(bytes) => Pin::new(&mut self.transport).poll_write(context, bytes),
            None => Pin::new(&mut self.transport).poll_write_vectored(context, buffers),
        };
        self.note(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.transport.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.transport).poll_flush(context);
        if self.transport.keeps_bytes() { self.note(flushed) } else { flushed }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(context)
    }
}

/// All bytes in one piece, if they fit.
fn copy_together<'a>(buffers: &[io::IoSlice<'_>], together: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for buffer in buffers {
        together.get_mut(length..length + buffer.len())?.copy_from_slice(buffer);
        length += buffer.len();
    }
    Some(&together[..length])
}
