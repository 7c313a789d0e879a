//! Who sends the requests of one connection, and what these requests tell the connection.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::HeaderValue;
use parking_lot::Mutex;

use super::forwarded::ForwardedHeaders;
use crate::scheme::Scheme;
use crate::tls::certificates::ServedCertificate;

pub struct Visitor {
    pub address: IpAddr,
    /// What the visitor was shown, if the connection is encrypted. A proxy in front of the edge may have been asked otherwise.
    certificate: Option<Arc<ServedCertificate>>,
    connected: Instant,
    forwarded: Mutex<ForwardedHeaders>,
    /// Bodies of requests that are not read to their end. One can outlive its answer.
    bodies: AtomicU32,
    /// When the answer must be complete that is under way over HTTP/1.1, in milliseconds after `connected`; 0 for
    /// never.
    must_end: AtomicU64,
}

impl Visitor {
    pub fn new(address: IpAddr, certificate: Option<Arc<ServedCertificate>>, trusted_proxies: &Arc<[IpAddr]>) -> Self {
        let address = address.to_canonical();
        let scheme = scheme(certificate.as_deref());
        Self {
            address,
            certificate,
            connected: Instant::now(),
            forwarded: Mutex::new(ForwardedHeaders::new(address, scheme, trusted_proxies)),
            bodies: AtomicU32::new(0),
            must_end: AtomicU64::new(0),
        }
    }

    /// Of this connection.
    pub fn scheme(&self) -> Scheme {
        scheme(self.certificate.as_deref())
    }

    /// Whether a request for this host may come over this connection: the visitor has seen a certificate for it, or none.
    pub fn may_ask_for(&self, host: &str) -> bool {
        self.certificate.as_ref().is_none_or(|certificate| certificate.is_for(host))
    }

    /// Over what the visitor has asked, as far as the edge can believe what it is told.
    pub fn asked_over(&self, headers: &HeaderMap) -> Scheme {
        self.forwarded.lock().asked_over(headers)
    }

    /// From where the visitor has asked, as far as the edge can believe what it is told.
    pub fn believed_address(&self, headers: &HeaderMap) -> IpAddr {
        self.forwarded.lock().believed_address(headers).unwrap_or(self.address)
    }

    /// Whether the visitor is a proxy in front of the edge.
    pub fn is_proxy(&self) -> bool {
        self.forwarded.lock().is_from_proxy()
    }

    /// Sets the headers that tell a target where the request came from.
    pub fn set_forwarded(&self, headers: &mut HeaderMap, host: &HeaderValue, request_id: HeaderValue) {
        self.forwarded.lock().set(headers, host, request_id);
    }

    /// The connection is to be closed then if the answer is not complete: the request has no timer of its
    /// own that runs while the visitor takes the answer.
    pub fn must_end(&self, deadline: Instant) {
        let millis = u64::try_from(deadline.saturating_duration_since(self.connected).as_millis()).unwrap_or(u64::MAX);
        self.must_end.store(millis.max(1), Ordering::Relaxed);
    }

    /// A new request has begun.
    pub fn forget_deadline(&self) {
        self.must_end.store(0, Ordering::Relaxed);
    }

    pub fn is_past_deadline(&self, now: Instant) -> bool {
        let millis = self.must_end.load(Ordering::Relaxed);
        millis > 0 && self.connected + Duration::from_millis(millis) <= now
    }

    pub fn is_sending_body(&self) -> bool {
        self.bodies.load(Ordering::Relaxed) > 0
    }
}

fn scheme(certificate: Option<&ServedCertificate>) -> Scheme {
    if certificate.is_some() { Scheme::Https } else { Scheme::Http }
}

/// The body of a request that is being read: what comes meanwhile is not the next request.
pub struct BodyBeingRead(Arc<Visitor>);

impl BodyBeingRead {
    pub fn new(visitor: Arc<Visitor>) -> Self {
        visitor.bodies.fetch_add(1, Ordering::Relaxed);
        Self(visitor)
    }
}

impl Drop for BodyBeingRead {
    fn drop(&mut self) {
        self.0.bodies.fetch_sub(1, Ordering::Relaxed);
    }
}
