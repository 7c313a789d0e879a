//! What a visitor's connection is doing: one that does nothing gives back its memory or is closed, and one that does
//! something is waited for when the edge ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::permit::ConnectionPermit;
use crate::edge::Edge;
use crate::request::visitor::Visitor;

/// A connection that is silent for so long gives back the memory of its last request. Getting it again costs about a
/// microsecond.
const REST_AFTER: Duration = Duration::from_millis(100);
/// How often a connection that is at work is looked at.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

pub struct Activity {
    edge: Arc<Edge>,
    visitor: Arc<Visitor>,
    started: Instant,
    /// Requests whose answers are not complete.
    requests: AtomicU32,
    /// Those of them of which a part is ready that an HTTP/2 visitor does not take. Over HTTP/1.1 the system watches
    /// this.
    offered: AtomicU32,
    /// When such a part was last taken.
    taken: AtomicU64,
    /// When the first byte of a head came that is not complete yet, in milliseconds after `started`; 0 for none.
    head_since: AtomicU64,
    /// When the last answer was complete, and handed to the system.
    quiet_since: AtomicU64,
    /// Whether the visitor takes no more bytes for now.
    is_blocked: AtomicBool,
    /// Whether the edge waits for this connection when it ends.
    is_busy: AtomicBool,
    /// Given back when the stream is closed, in a tunnel too, and its requests are counted to their end.
    _permit: ConnectionPermit,
}

/// What is to become of a connection.
pub enum IdleVerdict {
    /// To be looked at again then.
    Wait(Instant),
    /// Nothing is under way, and nothing was for a while.
    Rest,
    Close,
}

impl Activity {
    pub fn new(edge: Arc<Edge>, visitor: Arc<Visitor>, permit: ConnectionPermit) -> Self {
        Self {
            edge,
            visitor,
            started: Instant::now(),
            requests: AtomicU32::new(0),
            offered: AtomicU32::new(0),
            taken: AtomicU64::new(0),
            head_since: AtomicU64::new(0),
            quiet_since: AtomicU64::new(0),
            is_blocked: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
            _permit: permit,
        }
    }

    /// When to look for the first time.
    pub fn first_look(&self) -> Duration {
        REST_AFTER.min(self.edge.settings.idle_limit)
    }

    /// Over HTTP/1.1. A request under way has limits of its own.
    pub fn verdict(&self) -> IdleVerdict {
        let (settings, now) = (&self.edge.settings, Instant::now());
        if self.is_at_work() {
            if self.visitor.is_past_deadline(now) {
                return IdleVerdict::Close;
            }
            return IdleVerdict::Wait(now + LOOK_INTERVAL.min(settings.head_limit).min(settings.idle_limit));
        }
        if self.head_since.load(Ordering::Relaxed) > 0 {
            let deadline = self.at(&self.head_since) + settings.head_limit;
            return if deadline <= now { IdleVerdict::Close } else { IdleVerdict::Wait(deadline) };
        }
        let rest = self.quiet_since() + REST_AFTER.min(settings.idle_limit);
        if rest <= now { IdleVerdict::Rest } else { IdleVerdict::Wait(rest) }
    }

    /// Over HTTP/2, where bytes need not belong to a request and nothing can rest.
    pub fn verdict_http2(&self) -> IdleVerdict {
        let now = Instant::now();
        let requests = self.requests.load(Ordering::Relaxed);
        let since = match self.is_at_work() {
            // Where all of them wait for the visitor, it is the visitor that is silent.
            true if requests > 0 && self.offered.load(Ordering::Relaxed) == requests => self.at(&self.taken),
            true => now,
            false => self.quiet_since(),
        };
        let deadline = since + self.edge.settings.idle_limit;
        if deadline <= now { IdleVerdict::Close } else { IdleVerdict::Wait(deadline) }
    }

    fn is_at_work(&self) -> bool {
        self.has_request() || self.is_blocked.load(Ordering::Relaxed)
    }

    /// Whether an answer is under way, or the body of a request.
    fn has_request(&self) -> bool {
        self.requests.load(Ordering::Relaxed) > 0 || self.visitor.is_sending_body()
    }

    pub fn quiet_since(&self) -> Instant {
        self.at(&self.quiet_since)
    }

    fn at(&self, millis: &AtomicU64) -> Instant {
        self.started + Duration::from_millis(millis.load(Ordering::Relaxed))
    }

    pub fn bytes_came(&self) {
        if !self.has_request() && self.head_since.load(Ordering::Relaxed) == 0 {
            self.head_since.store(self.now().max(1), Ordering::Relaxed);
        }
    }

    pub fn set_blocked(&self, blocked: bool) {
        self.is_blocked.store(blocked, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// To be called whenever something was written: if the last byte of the last answer is handed to the system, the
    /// edge need not wait for this connection any more.
    pub fn settle(&self) {
        if !self.is_at_work() && self.is_busy.swap(false, Ordering::Relaxed) {
            self.quiet_since.store(self.now(), Ordering::Relaxed);
            self.edge.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// A part of an answer is ready that the visitor has not taken.
    pub fn offered(&self) {
        self.offered.fetch_add(1, Ordering::Relaxed);
    }

    /// The part is taken, or given up.
    pub fn not_offered(&self) {
        self.offered.fetch_sub(1, Ordering::Relaxed);
    }

    /// A part was taken just now.
    pub fn taken(&self) {
        self.taken.store(self.now(), Ordering::Relaxed);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        if *self.is_busy.get_mut() {
            self.edge.busy.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// A request under way.
pub struct RequestUnderWay(Arc<Activity>);

impl RequestUnderWay {
    pub fn new(activity: Arc<Activity>) -> Self {
        activity.visitor.forget_deadline();
        activity.requests.fetch_add(1, Ordering::Relaxed);
        activity.head_since.store(0, Ordering::Relaxed);
        if !activity.is_busy.swap(true, Ordering::Relaxed) {
            activity.edge.busy.fetch_add(1, Ordering::AcqRel);
        }
        Self(activity)
    }

    pub fn activity(&self) -> &Activity {
        &self.0
    }
}

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}
