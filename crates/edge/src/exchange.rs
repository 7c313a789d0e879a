//! One request, from its head to the last byte of its answer: counted, and holding its place in its target.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;
use hyper::{Method, Response};

use crate::body::Body;
use crate::counters::Cause;
use crate::pages::Page;
use crate::request_body::Progress;
use crate::service::Service;
use crate::target::{Entry, Target};
use crate::tunnel::Traffic;

pub struct Exchange {
    pub service: Arc<Service>,
    pub started: Instant,
    entry: Option<Entry>,
    /// Of the request's body, if there is one.
    pub progress: Option<Arc<Progress>>,
    /// After an upgrade.
    traffic: Option<Arc<Traffic>>,
    status: u16,
    sent: u64,
    outcome: Outcome,
    line: Option<Box<Line>>,
}

enum Outcome {
    /// Whoever drops it now has left in the middle.
    UnderWay,
    Complete,
    Failed(Cause),
}

/// What the access log says of a request beside its figures.
pub struct Line {
    pub method: Method,
    pub host: String,
    pub path: String,
    pub visitor: IpAddr,
    pub request_id: Option<HeaderValue>,
}

impl Exchange {
    pub fn begin(service: Arc<Service>, started: Instant, line: Option<Box<Line>>) -> Self {
        service.counters.begun();
        Self {
            service,
            started,
            entry: None,
            progress: None,
            traffic: None,
            status: 0,
            sent: 0,
            outcome: Outcome::UnderWay,
            line,
        }
    }

    /// The request goes to this target; it leaves the one that it was in before.
    pub fn enter(&mut self, entry: Entry) {
        self.leave();
        entry.target().counters.begun();
        self.entry = Some(entry);
    }

    /// This target has failed; the request has not, yet.
    pub fn leave_for_another(&self, cause: Cause) {
        if let Some(target) = self.target() {
            target.counters.failed(cause);
        }
    }

    pub fn target(&self) -> Option<&Arc<Target>> {
        self.entry.as_ref().map(Entry::target)
    }

    fn leave(&mut self) {
        if let Some(entry) = self.entry.take() {
            if self.traffic.is_some() {
                entry.target().counters.upgrade_ended();
            }
            entry.target().counters.ended(self.received(), self.sent_bytes());
        }
    }

    /// The request is in another service now, because the table has changed under it.
    pub fn move_to(&mut self, service: Arc<Service>) {
        if !Arc::ptr_eq(&self.service.counters, &service.counters) {
            service.counters.begun();
            self.service.counters.ended(0, 0);
        }
        self.service = service;
    }

    /// The id under which the target knows the request.
    pub fn is_called(&mut self, id: Option<&HeaderValue>) {
        if let Some(line) = &mut self.line {
            line.request_id = id.cloned();
        }
    }

    /// The request ends with a page of the edge's own.
    pub fn page(mut self, page: Page, accept: Option<&HeaderValue>) -> Response<Body> {
        let answer = page.answer(accept);
        self.answered(answer.status().as_u16());
        answer.map(|body| body.counted(self))
    }

    pub fn answered(&mut self, status: u16) {
        self.status = status;
        let took = self.started.elapsed();
        self.service.counters.answered(status, took);
        if let Some(entry) = &self.entry {
            entry.target().counters.answered(status, took);
        }
    }

    /// The connection carries another protocol from now on.
    pub fn upgraded(&mut self, traffic: Arc<Traffic>) {
        self.traffic = Some(traffic);
        self.service.counters.upgraded();
        if let Some(entry) = &self.entry {
            entry.target().counters.upgraded();
        }
    }

    pub fn sent(&mut self, bytes: usize) {
        self.sent += bytes as u64;
    }

    pub fn complete(&mut self) {
        if matches!(self.outcome, Outcome::UnderWay) {
            self.outcome = Outcome::Complete;
        }
    }

    /// The first cause is the one that counts.
    pub fn failed(&mut self, cause: Cause) {
        if matches!(self.outcome, Outcome::UnderWay) {
            let cause = if self.target().is_some_and(|target| target.is_cut()) { Cause::Cut } else { cause };
            self.outcome = Outcome::Failed(cause);
            self.service.counters.failed(cause);
            if let Some(entry) = &self.entry {
                entry.target().counters.failed(cause);
            }
        }
    }

    fn received(&self) -> u64 {
        let body = self.progress.as_ref().map_or(0, |progress| progress.received.load(Ordering::Relaxed));
        body + self.traffic.as_ref().map_or(0, |traffic| traffic.to_target())
    }

    fn sent_bytes(&self) -> u64 {
        self.sent + self.traffic.as_ref().map_or(0, |traffic| traffic.to_visitor())
    }

    fn log(&self, line: &Line) {
        let failure = match self.outcome {
            Outcome::Failed(cause) => cause.name(),
            Outcome::UnderWay | Outcome::Complete => "",
        };
        let target = self.target().map(|target| target.address.to_string()).unwrap_or_default();
        tracing::info!(
            target: "access",
            service = %self.service.spec.name,
            method = %line.method,
            host = %line.host,
            path = %line.path,
            status = self.status,
            ms = millis(self.started.elapsed()),
            received = self.received(),
            sent = self.sent_bytes(),
            visitor = %line.visitor,
            request_id = line.request_id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default(),
            target_address = %target,
            failure,
            "request"
        );
    }
}

fn millis(took: Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.failed(Cause::VisitorGone);
        if let Some(line) = self.line.take() {
            self.log(&line);
        }
        if self.traffic.is_some() {
            self.service.counters.upgrade_ended();
        }
        self.service.counters.ended(self.received(), self.sent_bytes());
        self.leave();
    }
}
