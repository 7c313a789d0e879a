//! The bodies of answers.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

/// Why a body ended before its end. The connection is then closed, so that nobody takes half an answer for a whole one.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

pub type Stream = Pin<Box<dyn hyper::body::Body<Data = Bytes, Error = BodyError> + Send>>;

pub enum Body {
    /// What is in memory.
    Full(Bytes),
    /// What comes from elsewhere, such as a file.
    Stream(Stream),
}

impl Body {
    pub fn empty() -> Self {
        Self::Full(Bytes::new())
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => stream.as_mut().poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(stream) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(stream) => stream.size_hint(),
        }
    }
}
