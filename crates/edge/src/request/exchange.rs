//! One request, from its head to the last byte of its answer: counted, and in its target until then.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::Method;
use hyper::header::HeaderValue;

use super::traffic::Traffic;
use super::visitors_body::BodyProgress;
use crate::targets::counters::Cause;
use crate::targets::service::Service;
use crate::targets::{Target, TargetEntry};

pub struct Exchange {
    pub service: Arc<Service>,
    pub started: Instant,
    /// How long it waited because its service was held: the target's limits begin afterwards.
    waited: Duration,
    entry: Option<TargetEntry>,
    /// Of the request's body, if there is one.
    pub progress: Option<Arc<BodyProgress>>,
    /// After an upgrade.
    traffic: Option<Arc<Traffic>>,
    status: u16,
    sent: u64,
    outcome: ExchangeOutcome,
    log_entry: Option<Box<AccessLogEntry>>,
}

enum ExchangeOutcome {
    /// If it is dropped now, the visitor has left in the middle.
    UnderWay,
    Complete,
    Failed(Cause),
}

/// What the access log says of a request beside its figures.
pub struct AccessLogEntry {
    pub method: Method,
    pub host: String,
    pub path: String,
    pub visitor: IpAddr,
    pub request_id: Option<HeaderValue>,
}

impl Exchange {
    pub fn begin(service: Arc<Service>, started: Instant, log_entry: Option<Box<AccessLogEntry>>) -> Self {
        service.counters.begun();
        Self {
            service,
            started,
            waited: Duration::ZERO,
            entry: None,
            progress: None,
            traffic: None,
            status: 0,
            sent: 0,
            outcome: ExchangeOutcome::UnderWay,
            log_entry,
        }
    }

    /// Whether its service has no more requests under way than this, the request itself among them; 0 for no limit.
    pub fn has_room(&self, most: u64) -> bool {
        most == 0 || self.service.counters.in_flight() <= most
    }

    /// The request goes to this target; it leaves the one that it was in before.
    pub fn enter(&mut self, entry: TargetEntry) {
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
        self.entry.as_ref().map(TargetEntry::target)
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

    /// It begins to wait because its service is held.
    pub fn waits(&self) {
        self.service.counters.waits();
    }

    /// It waits no longer.
    pub fn waited(&mut self, took: Duration) {
        self.waited += took;
        self.service.counters.waited(took);
    }

    /// When its target's limits began.
    pub fn sent_from(&self) -> Instant {
        self.started + self.waited
    }

    /// The id under which the target knows the request.
    pub fn set_request_id(&mut self, id: Option<&HeaderValue>) {
        if let Some(entry) = &mut self.log_entry {
            entry.request_id = id.cloned();
        }
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
        if matches!(self.outcome, ExchangeOutcome::UnderWay) {
            self.outcome = ExchangeOutcome::Complete;
        }
    }

    /// The first cause is the one that counts.
    pub fn failed(&mut self, cause: Cause) {
        if matches!(self.outcome, ExchangeOutcome::UnderWay) {
            let cause = if self.target().is_some_and(|target| target.is_cut()) { Cause::Cut } else { cause };
            self.outcome = ExchangeOutcome::Failed(cause);
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

    fn log(&self, entry: &AccessLogEntry) {
        let failure = match self.outcome {
            ExchangeOutcome::Failed(cause) => cause.name(),
            ExchangeOutcome::UnderWay | ExchangeOutcome::Complete => "",
        };
        let target = self.target().map(|target| target.address.to_string()).unwrap_or_default();
        tracing::info!(
            target: "access",
            service = %self.service.spec.name,
            method = %entry.method,
            host = %entry.host,
            path = %entry.path,
            status = self.status,
            ms = millis(self.started.elapsed()),
            received = self.received(),
            sent = self.sent_bytes(),
            visitor = %entry.visitor,
            request_id = entry.request_id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default(),
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
        if let Some(entry) = self.log_entry.take() {
            self.log(&entry);
        }
        if self.traffic.is_some() {
            self.service.counters.upgrade_ended();
        }
        self.service.counters.ended(self.received(), self.sent_bytes());
        self.leave();
    }
}
