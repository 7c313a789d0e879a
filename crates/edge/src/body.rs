//! The bodies of answers.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::answer::Answer;
use crate::counters::Cause;
use crate::exchange::Exchange;

/// Why a body ended before its end. The connection is then closed, so that nobody takes half an answer for a whole one.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

pub type Stream = Pin<Box<dyn hyper::body::Body<Data = Bytes, Error = BodyError> + Send>>;

pub enum Body {
    /// What a target sends.
    Answer(Box<Answer>),
    /// What is in memory.
    Full(Bytes),
    /// What comes from elsewhere, such as a file.
    Stream(Stream),
    /// The same, as the answer to a request.
    Counted(Stream, Box<Exchange>),
}

impl Body {
    pub fn empty() -> Self {
        Self::Full(Bytes::new())
    }

    /// The answer to a request that ends with the last byte of it.
    pub fn counted(self, mut exchange: Exchange) -> Self {
        match self {
            Self::Stream(stream) => Self::Counted(stream, Box::new(exchange)),
            Self::Full(bytes) => {
                exchange.sent(bytes.len());
                exchange.complete();
                Self::Full(bytes)
            }
            Self::Answer(_) | Self::Counted(..) => self,
        }
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::Answer(answer) => Pin::new(&mut **answer).poll_frame(context),
            Self::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Self::Stream(stream) => stream.as_mut().poll_frame(context),
            Self::Counted(stream, exchange) => {
                let frame = ready!(stream.as_mut().poll_frame(context));
                match &frame {
                    Some(Ok(frame)) => exchange.sent(frame.data_ref().map_or(0, Bytes::len)),
                    Some(Err(_)) => exchange.failed(Cause::Closed),
                    None => {}
                }
                if frame.is_none() || stream.is_end_stream() {
                    exchange.complete();
                }
                Poll::Ready(frame)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Answer(answer) => answer.is_end_stream(),
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stream(stream) | Self::Counted(stream, _) => stream.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Answer(answer) => answer.size_hint(),
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stream(stream) | Self::Counted(stream, _) => stream.size_hint(),
        }
    }
}
