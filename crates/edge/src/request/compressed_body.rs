//! A body that is compressed on its way to the visitor.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::body::Frame;
use tokio::sync::OwnedSemaphorePermit;

use crate::body::{BodyError, BodyStream};
use crate::encoding::StreamEncoder;

/// So much is compressed at once: others wait meanwhile.
const PART: usize = 16 * 1024;
/// So much is collected before it is sent, unless the target pauses.
const ENOUGH: usize = 8 * 1024;
/// How often the body looks again before it takes a silence for a pause: what the target has sent in small pieces is often
/// just not handed on yet, and packs better in one.
const LOOKS: u8 = 2;

pub struct CompressedBody {
    inner: BodyStream,
    /// None once the end is compressed.
    encoder: Option<StreamEncoder>,
    /// What has come and is not compressed yet.
    rest: Bytes,
    trailers: Option<HeaderMap>,
    /// Whether the visitor can read all that was compressed.
    is_flushed: bool,
    /// How often nothing has come since the last time that something did.
    looks: u8,
    _turn: OwnedSemaphorePermit,
}

type Polled = Poll<Result<Option<Frame<Bytes>>, BodyError>>;

impl CompressedBody {
    pub fn new(inner: BodyStream, encoder: StreamEncoder, turn: OwnedSemaphorePermit) -> Self {
        let (rest, trailers) = (Bytes::new(), None);
        Self { inner, encoder: Some(encoder), rest, trailers, is_flushed: true, looks: 0, _turn: turn }
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Polled {
        while let Some(encoder) = &mut self.encoder {
            while !self.rest.is_empty() {
                let part = self.rest.split_to(self.rest.len().min(PART));
                encoder.write(&part)?;
                self.is_flushed = false;
                if encoder.packed().len() >= ENOUGH {
                    return Poll::Ready(Ok(taken(encoder)));
                }
            }
            match self.inner.as_mut().poll_frame(context)? {
                Poll::Ready(Some(frame)) => self.came(frame),
                Poll::Ready(None) => return Poll::Ready(self.finish()),
                Poll::Pending => return self.poll_pause(context),
            }
        }
        Poll::Ready(Ok(self.trailers.take().map(Frame::trailers)))
    }

    fn came(&mut self, frame: Frame<Bytes>) {
        self.looks = 0;
        match frame.into_data() {
            Ok(data) => self.rest = data,
            Err(frame) => self.trailers = frame.into_trailers().ok(),
        }
    }

    /// What has come so far is sent, and not held back until there is enough.
    fn poll_pause(&mut self, context: &mut Context<'_>) -> Polled {
        let Some(encoder) = self.encoder.as_mut().filter(|_| !self.is_flushed) else { return Poll::Pending };
        if self.looks < LOOKS {
            self.looks += 1;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        encoder.flush()?;
        self.is_flushed = true;
        Poll::Ready(Ok(taken(encoder)))
    }

    /// Only the end of the target's answer is the end of this one: half of it must not look like a whole one.
    fn finish(&mut self) -> Result<Option<Frame<Bytes>>, BodyError> {
        let packed = self.encoder.take().map(StreamEncoder::finish).transpose()?;
        Ok(packed.map(|packed| Frame::data(packed.into())))
    }
}

fn taken(encoder: &mut StreamEncoder) -> Option<Frame<Bytes>> {
    Some(Frame::data(std::mem::take(encoder.packed()).into()))
}

impl hyper::body::Body for CompressedBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.get_mut().poll_next(context).map(Result::transpose)
    }

    fn is_end_stream(&self) -> bool {
        self.encoder.is_none() && self.trailers.is_none()
    }
}

#[cfg(test)]
mod properties;
