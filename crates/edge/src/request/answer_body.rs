//! The body of a target's answer on its way to the visitor. The request stays in the target until the last byte,
//! and this gives the connection back when there is one to give back.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

use super::exchange::Exchange;
use super::visitors_body::BodyProgress;
use crate::body::BodyError;
use crate::targets::counters::Cause;
use crate::targets::{Sender, Target};

/// How long a connection may take to be ready for the next request after it has given its answer.
const SETTLE_LIMIT: Duration = Duration::from_secs(1);

pub struct AnswerBody {
    inner: Incoming,
    exchange: Exchange,
    connection: Option<(Sender, usize)>,
    idle_limit: Duration,
    total_limit: Duration,
    /// Since when nothing has come, while nothing comes.
    waiting_since: Option<Instant>,
    /// Runs from the first time that the target keeps the edge waiting.
    alarm: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the target did not finish its answer within the time limit")]
struct TooSlow;

impl AnswerBody {
    /// `worker` is whose pool the connection belongs to.
    pub fn new(
        inner: Incoming,
        exchange: Exchange,
        sender: Sender,
        worker: usize,
        idle: Duration,
        total: Duration,
    ) -> Self {
        let mut answer = Self {
            inner,
            exchange,
            connection: Some((sender, worker)),
            idle_limit: idle,
            total_limit: total,
            waiting_since: None,
            alarm: None,
        };
        if answer.inner.is_end_stream() {
            answer.finish();
        }
        answer
    }

    fn finish(&mut self) {
        self.exchange.complete();
        if let (Some((sender, worker)), Some(target)) = (self.connection.take(), self.exchange.target()) {
            let body = self.exchange.progress.clone();
            let deadline = self.exchange.started + self.total_limit;
            give_back(target, worker, sender, body, self.idle_limit, deadline);
        }
    }

    /// Ready when the target has kept the edge waiting for too long.
    fn poll_alarm(&mut self, context: &mut Context<'_>) -> Poll<BodyError> {
        let since = *self.waiting_since.get_or_insert_with(Instant::now);
        let deadline = (since + self.idle_limit).min(self.exchange.started + self.total_limit);
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline.into())));
        ready!(alarm.as_mut().poll(context));
        // It was set for an earlier wait: moved only when it goes off, because most waits are short.
        if deadline > Instant::now() {
            alarm.as_mut().reset(deadline.into());
            ready!(alarm.as_mut().poll(context));
        }
        Poll::Ready(self.give_up())
    }

    fn give_up(&mut self) -> BodyError {
        self.exchange.failed(Cause::Slow);
        TooSlow.into()
    }
}

impl hyper::body::Body for AnswerBody {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match Pin::new(&mut self.inner).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                self.waiting_since = None;
                self.exchange.sent(frame.data_ref().map_or(0, Bytes::len));
                if self.inner.is_end_stream() {
                    self.finish();
                } else if self.exchange.started.elapsed() >= self.total_limit {
                    return Poll::Ready(Some(Err(self.give_up())));
                }
                Poll::Ready(Some(Ok(frame)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.exchange.failed(Cause::Closed);
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(None) => {
                self.finish();
                Poll::Ready(None)
            }
            Poll::Pending => self.poll_alarm(context).map(|error| Some(Err(error))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// A connection, its answer taken, waits for the next request. A body that is still being sent may go on as long as it
/// moves, until the deadline.
fn give_back(
    target: &Arc<Target>,
    worker: usize,
    mut sender: Sender,
    body: Option<Arc<BodyProgress>>,
    idle: Duration,
    deadline: Instant,
) {
    if sender.requests.is_closed() {
        return;
    }
    if sender.requests.is_ready() {
        target.keep_connection(worker, sender);
        return;
    }
    let target = target.clone();
    tokio::spawn(async move {
        let settling = settles(&mut sender, body.as_deref(), idle);
        if let Ok(true) = tokio::time::timeout_at(deadline.into(), settling).await {
            target.keep_connection(worker, sender);
        }
    });
}

async fn settles(sender: &mut Sender, body: Option<&BodyProgress>, idle: Duration) -> bool {
    let (received, limit) = match body {
        Some(body) => (Some(&body.received), idle),
        None => (None, SETTLE_LIMIT),
    };
    let so_far = || received.map_or(0, |received| received.load(Ordering::Relaxed));
    loop {
        let before = so_far();
        match tokio::time::timeout(limit, sender.requests.ready()).await {
            Ok(ready) => return ready.is_ok(),
            Err(_) if so_far() > before => {}
            Err(_) => return false,
        }
    }
}
