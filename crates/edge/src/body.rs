//! Bodies of requests and answers, as every part of the edge passes them on.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

/// Why a body ended before its end. The connection is then closed, so that half a body is not taken for a whole one.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

pub type BodyStream = Pin<Box<dyn hyper::body::Body<Data = Bytes, Error = BodyError> + Send>>;

pub enum Body {
    /// What is in memory.
    Full(Bytes),
    /// What arrives in parts: from a visitor, from a target or from a file.
    Stream(BodyStream),
}

impl Body {
    pub fn empty() -> Self {
        Self::Full(Bytes::new())
    }

    pub fn stream(body: impl hyper::body::Body<Data = Bytes, Error = BodyError> + Send + 'static) -> Self {
        Self::Stream(Box::pin(body))
    }

    /// Whether it is known to have no bytes.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Full(bytes) if bytes.is_empty())
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
