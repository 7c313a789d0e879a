//! A request on its way to a target, and to another one if the first cannot have seen it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hyper::body::{Body as _, Incoming};
use hyper::header::{ACCEPT, CONNECTION, HeaderValue, UPGRADE};
use hyper::http::request::Parts;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};

use super::answer_body::AnswerBody;
use super::compression::WantedCompression;
use super::counted;
use super::exchange::Exchange;
use super::forwarded::X_REQUEST_ID;
use super::headers;
use super::held;
use super::host::Host;
use super::pages::Page;
use super::tunnel;
use super::visitor::{BodyBeingRead, Visitor};
use super::visitors_body::{BodyFault, BodyProgress, VisitorsBody};
use super::worker::Worker;
use crate::body::Body;
use crate::edge::Destination;
use crate::targets::connect::connect;
use crate::targets::counters::Cause;
use crate::targets::service::TimeLimits;
use crate::targets::{Sender, Target};

/// How many targets, or connections to one, a request is tried with.
const ATTEMPTS: usize = 3;
/// How long to wait before the only target is tried again.
const RETRY_PAUSE: Duration = Duration::from_millis(100);

pub struct Journey<'a> {
    worker: &'a Worker,
    visitor: &'a Arc<Visitor>,
    exchange: Exchange,
    host: Host,
    accept: Option<HeaderValue>,
    /// If the service compresses its answers.
    compression: Option<WantedCompression>,
    upgrade: Option<Upgrade>,
    tried: Vec<Arc<Target>>,
    /// Taken while it is being tried. In a box, as the whole journey is: both are large, and are handed on often.
    request: Option<Box<Request<Body>>>,
}

struct Upgrade {
    protocol: HeaderValue,
    visitor: OnUpgrade,
}

/// Why a try has failed, and the request if it can be tried again.
struct Failed {
    cause: Cause,
    page: Page,
    again: Option<Box<Request<Body>>>,
}

impl<'a> Journey<'a> {
    pub fn new(
        worker: &'a Worker,
        visitor: &'a Arc<Visitor>,
        mut exchange: Exchange,
        host: Host,
        mut parts: Parts,
        body: Incoming,
    ) -> Box<Self> {
        let accept = parts.headers.get(ACCEPT).cloned();
        let compression = exchange.service.compresses().then(|| WantedCompression::of(&parts)).flatten();
        let upgrade = headers::upgrade(&parts)
            .zip(parts.extensions.remove())
            .map(|(protocol, visitor)| Upgrade { protocol, visitor });
        let is_chunked = !body.is_end_stream() && body.size_hint().exact().is_none();
        let is_held = headers::expects_continue(&parts.headers);
        let protocol = upgrade.as_ref().map(|upgrade| upgrade.protocol.clone());
        headers::prepare_request(&mut parts.headers, host.sent.clone(), is_chunked, protocol);
        let id = worker.edge.next_request_id();
        visitor.set_forwarded(&mut parts.headers, &host.sent, id);
        exchange.set_request_id(parts.headers.get(X_REQUEST_ID));
        if parts.uri.authority().is_some() {
            parts.uri = path_only(parts.uri);
        }
        parts.version = Version::HTTP_11;
        parts.extensions.clear();
        let body = outgoing_body(body, visitor, &mut exchange, is_held);
        let mut request = Box::new(Request::from_parts(parts, body));
        if let Some(progress) = exchange.progress.clone().filter(|_| is_held) {
            let is_continue = |status| status == StatusCode::CONTINUE;
            hyper::ext::on_informational(&mut request, move |informed| {
                if is_continue(informed.status()) {
                    progress.ask();
                }
            });
        }
        let (tried, request) = (Vec::new(), Some(request));
        Box::new(Self { worker, visitor, exchange, host, accept, compression, upgrade, tried, request })
    }

    pub async fn run(mut self: Box<Self>) -> Response<Body> {
        loop {
            let (Some(target), Some(request)) = (self.exchange.target().cloned(), self.request.take()) else {
                return counted::page(self.exchange, Page::NoTarget, self.accept.as_ref());
            };
            let times = self.exchange.service.times();
            let failed = match self.attempt(&target, request, times).await {
                Ok((answer, sender)) => return self.deliver(answer, sender, times),
                Err(failed) => failed,
            };
            self.tried.push(target);
            self.request = failed.again.filter(|_| self.tried.len() < ATTEMPTS);
            let elsewhere = match self.request.is_some() {
                true => self.goes_elsewhere(failed.cause).await,
                false => Err(failed.page),
            };
            match elsewhere {
                Ok(()) => {}
                Err(page) => {
                    self.exchange.failed(failed.cause);
                    return counted::page(self.exchange, page, self.accept.as_ref());
                }
            }
        }
    }

    /// Enters another target, or the same again when there is no other, of the table that there is by now. If there is
    /// none in it, a page says so.
    async fn goes_elsewhere(&mut self, cause: Cause) -> Result<(), Page> {
        if cause == Cause::Connect && !self.exchange.service.has_another(&self.tried) {
            tokio::time::sleep(RETRY_PAUSE).await;
        }
        let path = self.request.as_ref().map_or("/", |request| request.uri().path());
        let mut destination = self.worker.edge.route(&self.host.name, path, &self.tried);
        if matches!(destination, Destination::Held(..)) {
            let (edge, host) = (&self.worker.edge, &self.host.name);
            destination = Box::pin(held::wait(edge, &mut self.exchange, host, path, &self.tried)).await?;
        }
        match destination {
            Destination::Target(service, entry) => {
                self.exchange.leave_for_another(cause);
                self.exchange.move_to(service);
                self.exchange.enter(entry);
                self.exchange.service.counters.retried();
                Ok(())
            }
            Destination::Page(_, notice) => Err(notice.into()),
            Destination::Files(..) | Destination::Held(..) | Destination::Redirect(..) | Destination::Nowhere => {
                Err(Page::NoTarget)
            }
        }
    }

    async fn attempt(
        &mut self,
        target: &Arc<Target>,
        request: Box<Request<Body>>,
        times: TimeLimits,
    ) -> Result<(Response<Incoming>, Sender), Failed> {
        // A second try gets a connection of its own: the others in the pool are as old as the one that failed.
        let kept = if self.tried.is_empty() { target.kept_connection(self.worker.index) } else { None };
        let is_kept = kept.is_some();
        let mut sender = match kept {
            Some(sender) => sender,
            None => match connect(target, times.connect).await {
                Ok(sender) => sender,
                Err(error) => {
                    tracing::debug!(%error, address = %target.address, "a target could not be connected to");
                    return Err(Failed { cause: Cause::Connect, page: Page::NoTarget, again: Some(request) });
                }
            },
        };
        let copy = if is_kept { copy_if_repeatable(&request) } else { None };
        let sending = sender.requests.try_send_request(*request);
        match in_time(sending, &self.exchange, times).await {
            Some(Ok(answer)) => Ok((answer, sender)),
            Some(Err(mut error)) => {
                let unsent = error.take_message().map(Box::new);
                Err(self.explain(target, error.error(), unsent.or(copy)))
            }
            None => Err(Failed { cause: Cause::Slow, page: Page::TimeLimit, again: None }),
        }
    }

    fn explain(&self, target: &Target, error: &hyper::Error, again: Option<Box<Request<Body>>>) -> Failed {
        let fault = self.exchange.progress.as_ref().and_then(|progress| progress.fault());
        if let Some(fault) = fault {
            let page = match fault {
                BodyFault::Malformed => Page::BadRequest("The request's body is malformed."),
                BodyFault::TooLarge => Page::BodyTooLarge,
                BodyFault::TooSlow => Page::BodyTooSlow,
            };
            return Failed { cause: Cause::VisitorBody, page, again: None };
        }
        tracing::debug!(%error, address = %target.address, "a target did not answer");
        if error.is_parse() {
            return Failed { cause: Cause::Invalid, page: Page::UpstreamError, again: None };
        }
        Failed { cause: Cause::Closed, page: Page::UpstreamError, again }
    }

    fn deliver(
        mut self: Box<Self>,
        mut answer: Response<Incoming>,
        sender: Sender,
        times: TimeLimits,
    ) -> Response<Body> {
        let status = answer.status();
        if status == StatusCode::SWITCHING_PROTOCOLS {
            return self.tunnel(answer, sender, times);
        }
        if !headers::is_plainly_framed(answer.headers()) {
            self.exchange.failed(Cause::Invalid);
            return counted::page(self.exchange, Page::UpstreamError, self.accept.as_ref());
        }
        headers::prepare_answer(answer.headers_mut());
        self.exchange.service.set_headers(answer.headers_mut());
        *answer.version_mut() = Version::HTTP_11;
        self.exchange.answered(status.as_u16());
        self.visitor.must_end(self.exchange.sent_from() + times.total);
        let (worker, compression) = (self.worker, self.compression);
        let body =
            |body| Body::stream(AnswerBody::new(body, self.exchange, sender, worker.index, times.idle, times.total));
        let answer = answer.map(body);
        match compression {
            Some(wanted) => wanted.compress(answer, &worker.edge.compressions),
            None => answer,
        }
    }

    /// Both sides change to another protocol. A target that does so unasked, or before it has the whole request, is
    /// wrong.
    fn tunnel(
        mut self: Box<Self>,
        mut answer: Response<Incoming>,
        sender: Sender,
        times: TimeLimits,
    ) -> Response<Body> {
        let is_whole = self.exchange.progress.as_ref().is_none_or(|body| body.is_complete.load(Ordering::Relaxed));
        let upgrade = self.upgrade.take().filter(|_| is_whole);
        let (Some(upgrade), Some(target)) = (upgrade, self.exchange.target().cloned()) else {
            self.exchange.failed(Cause::Invalid);
            return counted::page(self.exchange, Page::UpstreamError, self.accept.as_ref());
        };
        sender.let_go();
        self.exchange.answered(answer.status().as_u16());
        let targets = hyper::upgrade::on(&mut answer);
        let protocol = answer.headers().get(UPGRADE).cloned().unwrap_or(upgrade.protocol);
        headers::prepare_answer(answer.headers_mut());
        self.exchange.service.set_headers(answer.headers_mut());
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        answer.headers_mut().insert(UPGRADE, protocol);
        // The edge does not wait for a tunnel when it stops: what is in it need never end.
        target.spawn(tunnel::run(upgrade.visitor, targets, times.upgrade_idle, self.exchange));
        answer.map(|_| Body::empty())
    }
}

/// Waits for the head of the answer. A body that is still moving puts the limit off.
async fn in_time<T>(sending: impl Future<Output = T>, exchange: &Exchange, times: TimeLimits) -> Option<T> {
    let mut sending = std::pin::pin!(sending);
    let received = || exchange.progress.as_ref().map_or(0, |progress| progress.received.load(Ordering::Relaxed));
    let deadline = exchange.sent_from() + times.total;
    let mut until = (exchange.sent_from() + times.answer).min(deadline);
    loop {
        let before = received();
        match tokio::time::timeout_at(until.into(), sending.as_mut()).await {
            Ok(sent) => return Some(sent),
            Err(_) if received() > before && until < deadline => until = (Instant::now() + times.answer).min(deadline),
            Err(_) => return None,
        }
    }
}

fn outgoing_body(body: Incoming, visitor: &Arc<Visitor>, exchange: &mut Exchange, is_held: bool) -> Body {
    if body.is_end_stream() {
        return Body::empty();
    }
    let times = exchange.service.times();
    let progress = Arc::new(BodyProgress::default());
    exchange.progress = Some(progress.clone());
    let reading = BodyBeingRead::new(visitor.clone());
    let mut body = VisitorsBody::new(body, progress, times.body_bytes, times.idle, reading);
    if is_held {
        body.hold();
    }
    Body::stream(body)
}

/// A copy to be sent if the connection turns out to have been closed by the target. Only what can be done twice without
/// harm is ever sent twice.
fn copy_if_repeatable(request: &Request<Body>) -> Option<Box<Request<Body>>> {
    let is_idempotent = matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS | Method::PUT | Method::DELETE | Method::TRACE
    );
    if !is_idempotent || !request.body().is_empty() {
        return None;
    }
    let mut copy = Box::new(Request::new(Body::empty()));
    *copy.method_mut() = request.method().clone();
    *copy.uri_mut() = request.uri().clone();
    *copy.headers_mut() = request.headers().clone();
    Some(copy)
}

fn path_only(uri: Uri) -> Uri {
    uri.into_parts().path_and_query.map(Uri::from).unwrap_or_default()
}
