//! What carries the bytes of a visitor's connection: TCP as it is, and nothing else yet.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::scheme::Scheme;

pub enum Transport {
    Plain(TokioIo<TcpStream>),
}

impl Transport {
    pub fn plain(stream: std::net::TcpStream) -> io::Result<Self> {
        Ok(Self::Plain(TokioIo::new(TcpStream::from_std(stream)?)))
    }

    pub fn scheme(&self) -> Scheme {
        match self {
            Self::Plain(_) => Scheme::Http,
        }
    }

    /// Sets the options of the socket.
    pub fn prepare(&self, idle_limit: Duration) {
        let socket = self.socket();
        // What is written is complete: waiting to fill a packet only delays it.
        let _ = socket.set_nodelay(true);
        // A visitor who does not take an answer is given up by the system. Where that cannot be set, the answer just
        // waits.
        let millis = u32::try_from(idle_limit.as_millis()).unwrap_or(u32::MAX);
        let _ = set_tcp_user_timeout(socket, millis);
    }

    /// Returns when there is something to read, the end included.
    pub async fn readable(&self) -> io::Result<()> {
        self.socket().readable().await
    }

    pub async fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.inner_mut().read(buffer).await,
        }
    }

    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(stream) => stream.inner(),
        }
    }
}

impl Read for Transport {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl Write for Transport {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write_vectored(context, buffers),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Plain(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
