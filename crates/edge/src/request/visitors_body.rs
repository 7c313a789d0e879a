//! The body of a visitor's request on its way to a target: counted, limited in size and in silence.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::sync::Notify;
use tokio::time::Sleep;

use super::forwarded;
use super::visitor::BodyBeingRead;
use crate::body::BodyError;

/// How long a target may take to ask for a body that the visitor holds back, before it is sent anyway.
const CONTINUE_WAIT: Duration = Duration::from_secs(1);

/// What is known of a body while the connection to the target is sending it.
#[derive(Default)]
pub struct BodyProgress {
    pub received: AtomicU64,
    /// The last byte was handed on.
    pub is_complete: AtomicBool,
    fault: AtomicU8,
    /// The target has asked for a body that was announced with `Expect: 100-continue`.
    asked: Notify,
}

/// What was wrong with a visitor's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyFault {
    #[error("the visitor's body is malformed or incomplete")]
    Malformed,
    #[error("the visitor's body is too large")]
    TooLarge,
    #[error("the visitor's body came too slowly")]
    TooSlow,
}

impl BodyProgress {
    pub fn fault(&self) -> Option<BodyFault> {
        match self.fault.load(Ordering::Acquire) {
            0 => None,
            1 => Some(BodyFault::Malformed),
            2 => Some(BodyFault::TooLarge),
            _ => Some(BodyFault::TooSlow),
        }
    }

    fn found(&self, fault: BodyFault) -> BodyError {
        self.fault.store(1 + fault as u8, Ordering::Release);
        fault.into()
    }

    /// The target asks for the body.
    pub fn ask(&self) {
        self.asked.notify_one();
    }
}

pub struct VisitorsBody {
    inner: Incoming,
    progress: Arc<BodyProgress>,
    /// Bytes that may still come.
    left: u64,
    idle_limit: Duration,
    /// Runs while nothing comes.
    idle: Option<Pin<Box<Sleep>>>,
    /// Held back until the target asks for it.
    held: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// None once it is read to its end.
    reading: Option<BodyBeingRead>,
}

impl VisitorsBody {
    pub fn new(
        inner: Incoming,
        progress: Arc<BodyProgress>,
        limit: u64,
        idle_limit: Duration,
        reading: BodyBeingRead,
    ) -> Self {
        let left = if limit == 0 { u64::MAX } else { limit };
        Self { inner, progress, left, idle_limit, idle: None, held: None, reading: Some(reading) }
    }

    /// Waits with the first byte until the target asks for it, or has been silent for a while.
    pub fn hold(&mut self) {
        let progress = self.progress.clone();
        self.held = Some(Box::pin(async move {
            let _ = tokio::time::timeout(CONTINUE_WAIT, progress.asked.notified()).await;
        }));
    }

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if let Some(held) = &mut self.held {
            ready!(held.as_mut().poll(context));
            self.held = None;
        }
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(mut frame))) => {
                self.idle = None;
                // Some programs add trailers to the headers.
                let trailers = frame.trailers_mut();
                let is_last = trailers.is_some() || self.inner.is_end_stream();
                trailers.into_iter().for_each(forwarded::remove_claims);
                let counted = self.count(frame);
                if is_last {
                    self.complete();
                }
                Poll::Ready(Some(counted))
            }
            Poll::Ready(Some(Err(error))) => {
                tracing::debug!(%error, "a visitor's body ended early");
                Poll::Ready(Some(Err(self.progress.found(BodyFault::Malformed))))
            }
            Poll::Ready(None) => {
                self.complete();
                Poll::Ready(None)
            }
            Poll::Pending => {
                let limit = self.idle_limit;
                let idle = self.idle.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
                ready!(idle.as_mut().poll(context));
                Poll::Ready(Some(Err(self.progress.found(BodyFault::TooSlow))))
            }
        }
    }

    fn complete(&mut self) {
        self.progress.is_complete.store(true, Ordering::Relaxed);
        self.reading = None;
    }

    fn count(&mut self, frame: Frame<Bytes>) -> Result<Frame<Bytes>, BodyError> {
        let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        self.progress.received.fetch_add(bytes, Ordering::Relaxed);
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(frame)
            }
            None => Err(self.progress.found(BodyFault::TooLarge)),
        }
    }
}

impl hyper::body::Body for VisitorsBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.get_mut().poll_next(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
