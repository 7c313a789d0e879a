//! What a visitor's connection is doing: so that one that does nothing can be put to rest or closed, and one that does
//! something is waited for when the edge ends.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Frame, SizeHint};

use crate::body::{Body, BodyError};
use crate::connection::Visitor;
use crate::edge::Settings;

/// A connection that is silent for so long gives back the memory of its last request. Getting it again costs about a
/// microsecond.
const REST_AFTER: Duration = Duration::from_millis(100);
/// As much of a body in memory as is given to HTTP/2 at once.
const PART: usize = 16 * 1024;
/// How often a connection that is at work is looked at.
const LOOK: Duration = Duration::from_secs(1);

pub struct Activity {
    started: Instant,
    /// Requests whose answers are not complete.
    requests: AtomicU32,
    /// Bodies of requests that are not read to their end. One can outlive its answer.
    bodies: AtomicU32,
    /// When the answer must be complete that is under way over HTTP/1.1, in milliseconds after `started`; 0 for never.
    must_end: AtomicU64,
    /// Those of them of which a part is ready that an HTTP/2 visitor does not take. Over HTTP/1.1 the system watches this.
    offered: AtomicU32,
    /// When such a part was last taken.
    taken: AtomicU64,
    /// When the first byte of a head came that is not complete yet, in milliseconds after `started`; 0 for none.
    head_since: AtomicU64,
    /// When the last answer was complete, and in the system's hands.
    quiet_since: AtomicU64,
    /// Whether the visitor takes no more bytes for now.
    is_blocked: AtomicBool,
    /// Whether the edge waits for this connection when it ends.
    is_busy: AtomicBool,
}

/// What is to become of a connection.
pub enum Verdict {
    /// To be looked at again then.
    Wait(Instant),
    /// Nothing is under way, and nothing was for a while.
    Rest,
    Close,
}

impl Activity {
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
            requests: AtomicU32::new(0),
            bodies: AtomicU32::new(0),
            must_end: AtomicU64::new(0),
            offered: AtomicU32::new(0),
            taken: AtomicU64::new(0),
            head_since: AtomicU64::new(0),
            quiet_since: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
        }
    }

    /// When to look for the first time.
    pub fn first_look(settings: &Settings) -> Duration {
        REST_AFTER.min(settings.idle_limit)
    }

    /// Over HTTP/1.1. A request under way has limits of its own.
    pub fn verdict(&self, settings: &Settings) -> Verdict {
        let now = Instant::now();
        if self.is_at_work() {
            if self.must_end.load(Ordering::Relaxed) > 0 && self.at(&self.must_end) <= now {
                return Verdict::Close;
            }
            return Verdict::Wait(now + LOOK.min(settings.head_limit).min(settings.idle_limit));
        }
        if self.head_since.load(Ordering::Relaxed) > 0 {
            let deadline = self.at(&self.head_since) + settings.head_limit;
            return if deadline <= now { Verdict::Close } else { Verdict::Wait(deadline) };
        }
        let rest = self.quiet_since() + REST_AFTER.min(settings.idle_limit);
        if rest <= now { Verdict::Rest } else { Verdict::Wait(rest) }
    }

    /// Over HTTP/2, where bytes need not belong to a request and nothing can rest.
    pub fn verdict_http2(&self, settings: &Settings) -> Verdict {
        let now = Instant::now();
        let requests = self.requests.load(Ordering::Relaxed);
        let since = match self.is_at_work() {
            // Where all of them wait for the visitor, the silence is the visitor's.
            true if requests > 0 && self.offered.load(Ordering::Relaxed) == requests => self.at(&self.taken),
            true => now,
            false => self.quiet_since(),
        };
        let deadline = since + settings.idle_limit;
        if deadline <= now { Verdict::Close } else { Verdict::Wait(deadline) }
    }

    fn is_at_work(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0
            || self.bodies.load(Ordering::Relaxed) > 0
            || self.is_blocked.load(Ordering::Relaxed)
    }

    /// A visitor who takes an answer ever so slowly is not asked for it by anybody but the connection's own alarm.
    pub fn must_end(&self, deadline: Instant) {
        let millis = u64::try_from(deadline.saturating_duration_since(self.started).as_millis()).unwrap_or(u64::MAX);
        self.must_end.store(millis.max(1), Ordering::Relaxed);
    }

    pub fn quiet_since(&self) -> Instant {
        self.at(&self.quiet_since)
    }

    fn at(&self, millis: &AtomicU64) -> Instant {
        self.started + Duration::from_millis(millis.load(Ordering::Relaxed))
    }

    pub fn bytes_came(&self) {
        let is_body = self.requests.load(Ordering::Relaxed) > 0 || self.bodies.load(Ordering::Relaxed) > 0;
        if !is_body && self.head_since.load(Ordering::Relaxed) == 0 {
            self.head_since.store(self.now().max(1), Ordering::Relaxed);
        }
    }

    pub fn is_blocked(&self, blocked: bool) {
        self.is_blocked.store(blocked, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn begin(&self) -> bool {
        self.must_end.store(0, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.head_since.store(0, Ordering::Relaxed);
        !self.is_busy.swap(true, Ordering::Relaxed)
    }

    fn end(&self) {
        self.requests.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether this is the moment in which the last byte of the last answer has been handed to the system.
    pub fn settles(&self) -> bool {
        let settles = !self.is_at_work() && self.is_busy.swap(false, Ordering::Relaxed);
        if settles {
            self.quiet_since.store(self.now(), Ordering::Relaxed);
        }
        settles
    }

    pub fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }
}

/// A request under way.
pub struct Busy(Arc<Visitor>);

impl Busy {
    pub fn new(visitor: Arc<Visitor>) -> Self {
        if visitor.activity.begin() {
            visitor.edge.busy.fetch_add(1, Ordering::AcqRel);
        }
        Self(visitor)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.activity.end();
    }
}

/// The body of a request that is being read: what comes meanwhile is not the next request.
pub struct Reading(Arc<Visitor>);

impl Reading {
    pub fn new(visitor: Arc<Visitor>) -> Self {
        visitor.activity.bodies.fetch_add(1, Ordering::Relaxed);
        Self(visitor)
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.activity.bodies.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that keeps its request under way until its last byte is taken.
pub struct Tracked {
    body: Body,
    is_http2: bool,
    /// A part was given and the next is not asked for yet.
    is_offered: bool,
    busy: Busy,
}

impl Tracked {
    pub fn new(body: Body, busy: Busy, is_http2: bool) -> Self {
        Self { body, is_http2, is_offered: false, busy }
    }

    fn offer(&mut self, is_offered: bool) {
        let activity = &self.busy.0.activity;
        if is_offered {
            activity.taken.store(activity.now(), Ordering::Relaxed);
        }
        match (self.is_offered, is_offered) {
            (false, true) => activity.offered.fetch_add(1, Ordering::Relaxed),
            (true, false) => activity.offered.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
        self.is_offered = is_offered;
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        self.offer(false);
    }
}

impl hyper::body::Body for Tracked {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let is_http2 = self.is_http2;
        let frame = match &mut self.body {
            // What is given away in one piece counts as taken, and a visitor over HTTP/2 takes it bit by bit.
            Body::Full(bytes) if is_http2 && bytes.len() > PART => {
                Poll::Ready(Some(Ok(Frame::data(bytes.split_to(PART)))))
            }
            body => Pin::new(body).poll_frame(context),
        };
        if is_http2 {
            self.offer(matches!(frame, Poll::Ready(Some(Ok(_)))));
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
