//! A visitor's request: where it belongs, and the answer to it.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONNECTION, CONTENT_TYPE, HeaderValue, STRICT_TRANSPORT_SECURITY, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};

use super::counted;
use super::exchange::{AccessLogEntry, Exchange};
use super::guard;
use super::headers;
use super::held;
use super::host::{Host, host};
use super::journey::Journey;
use super::pages::Page;
use super::redirect;
use super::visitor::Visitor;
use super::worker::Worker;
use crate::body::Body;
use crate::edge::{Destination, Edge};
use crate::files::Files;
use crate::routes::RedirectSpec;
use crate::scheme::{HTTPS_PORT, Scheme};
use crate::targets::service::Service;

pub async fn answer(worker: &Worker, visitor: &Arc<Visitor>, request: Request<Incoming>) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let host = match host(&parts) {
        Ok(host) => host,
        Err(bad) => return refuse(Page::BadRequest(bad.sentence()), &parts),
    };
    if parts.method == Method::CONNECT {
        return refuse(Page::MethodNotAllowed, &parts);
    }
    if !headers::is_plainly_framed(&parts.headers) {
        return refuse(Page::BadRequest("The request's transfer coding is not one that is understood here."), &parts);
    }
    if !visitor.may_ask_for(&host.name) {
        return refuse(Page::Misdirected, &parts);
    }
    let edge = &worker.edge;
    let table = edge.table_now();
    if let Some(answer) = table.challenge(&host.name, parts.uri.path()) {
        return challenge(answer);
    }
    let rules = table.rules(&host.name, parts.uri.path());
    drop(table);
    if rules.is_none() {
        return routed(worker, visitor, host, parts, body).await;
    }
    let scheme = visitor.asked_over(&parts.headers);
    if rules.https.redirect
        && scheme == Scheme::Http
        && let Some(port) = https_port(edge, visitor, &host.name)
    {
        return redirect::to_https(&host.name, port, &parts);
    }
    let mut answer = match &rules.guarded {
        // In a box: most services are open to all, and their requests would be larger for it.
        Some(service) => Box::pin(guarded(worker, visitor, service, host, parts, body)).await,
        None => routed(worker, visitor, host, parts, body).await,
    };
    if scheme == Scheme::Https && !says_hsts(rules.guarded.as_deref()) {
        redirect::pin_https(&mut answer, rules.https.hsts_seconds);
    }
    answer
}

/// Whether the owner of a service has said what its answers are to tell about https.
fn says_hsts(guarded: Option<&Service>) -> bool {
    let access = guarded.and_then(|service| service.access.as_ref());
    access.is_some_and(|access| access.headers.name(&STRICT_TRANSPORT_SECURITY))
}

/// Where a visitor can come encrypted for this host: at the proxy in front of the edge, else here if there is a certificate.
fn https_port(edge: &Edge, visitor: &Visitor, host: &str) -> Option<u16> {
    if visitor.is_proxy() {
        return Some(HTTPS_PORT);
    }
    edge.https_port().filter(|_| edge.handshakes.certificates.load().find(host).is_some())
}

/// What an authority wants to see that has been asked for a certificate.
fn challenge(answer: &str) -> Response<Body> {
    let mut answer = Response::new(Body::Full(Bytes::copy_from_slice(answer.as_bytes())));
    let media_type = HeaderValue::from_static("application/octet-stream");
    answer.headers_mut().insert(CONTENT_TYPE, media_type);
    answer
}

/// A request for a service with access settings.
async fn guarded(
    worker: &Worker,
    visitor: &Arc<Visitor>,
    service: &Arc<Service>,
    host: Host,
    mut parts: Parts,
    body: Incoming,
) -> Response<Body> {
    let (started, address) = (Instant::now(), visitor.believed_address(&parts.headers));
    let admitted = match &service.access {
        Some(access) => guard::admit(access, &worker.edge.password_checks, address, &mut parts.headers).await,
        None => Ok(()),
    };
    match admitted {
        Ok(()) => routed(worker, visitor, host, parts, body).await,
        Err(page) => {
            let exchange = begin(service.clone(), started, &parts, &host, visitor);
            let mut answer = counted::page(exchange, page, parts.headers.get(ACCEPT));
            if let Some(sign_in) = service.sign_in().filter(|_| page == Page::SignIn) {
                answer.headers_mut().insert(WWW_AUTHENTICATE, sign_in.challenge.clone());
            }
            answer
        }
    }
}

async fn routed(worker: &Worker, visitor: &Arc<Visitor>, host: Host, parts: Parts, body: Incoming) -> Response<Body> {
    let started = Instant::now();
    let begin = |service| begin(service, started, &parts, &host, visitor);
    match worker.edge.route(&host.name, parts.uri.path(), &[]) {
        Destination::Nowhere => nowhere(&worker.edge).answer(parts.headers.get(ACCEPT)),
        Destination::Page(service, notice) => counted::page(begin(service), notice.into(), parts.headers.get(ACCEPT)),
        Destination::Files(service, files) => {
            visitor.must_end(started + service.times().total);
            let exchange = begin(service);
            if !exchange.has_room(worker.edge.settings.service_requests) {
                return counted::page(exchange, Page::Busy, parts.headers.get(ACCEPT));
            }
            file(exchange, &files, &parts).await
        }
        Destination::Redirect(service, to) => counted::counted(begin(service), sent_on(visitor, &to, &host, &parts)),
        Destination::Held(service, _) => {
            let exchange = begin(service);
            // In a box: few requests wait, and all others would be larger for them.
            Box::pin(held_request(worker, visitor, exchange, host, parts, body)).await
        }
        Destination::Target(service, entry) => {
            let mut exchange = begin(service);
            if !exchange.has_room(worker.edge.settings.service_requests) {
                return counted::page(exchange, Page::Busy, parts.headers.get(ACCEPT));
            }
            exchange.enter(entry);
            Journey::new(worker, visitor, exchange, host, parts, body).run().await
        }
    }
}

/// A request whose service is held waits, and then goes where all others go by then. What would change the protocol is told
/// to come again: such visitors do so by themselves, and would otherwise take up the room of those who cannot.
async fn held_request(
    worker: &Worker,
    visitor: &Arc<Visitor>,
    mut exchange: Exchange,
    host: Host,
    parts: Parts,
    body: Incoming,
) -> Response<Body> {
    let accept = parts.headers.get(ACCEPT).cloned();
    if headers::upgrade(&parts).is_some() {
        return counted::page(exchange, Page::Held, accept.as_ref());
    }
    let page = match held::wait(&worker.edge, &mut exchange, &host.name, parts.uri.path(), &[]).await {
        Ok(Destination::Target(service, entry)) => {
            exchange.move_to(service);
            if !exchange.has_room(worker.edge.settings.service_requests) {
                return counted::page(exchange, Page::Busy, accept.as_ref());
            }
            exchange.enter(entry);
            return Journey::new(worker, visitor, exchange, host, parts, body).run().await;
        }
        Ok(Destination::Files(service, files)) => {
            exchange.move_to(service);
            if !exchange.has_room(worker.edge.settings.service_requests) {
                return counted::page(exchange, Page::Busy, accept.as_ref());
            }
            return file(exchange, &files, &parts).await;
        }
        Ok(Destination::Page(service, notice)) => {
            exchange.move_to(service);
            notice.into()
        }
        Ok(Destination::Redirect(service, to)) => {
            exchange.move_to(service);
            return counted::counted(exchange, sent_on(visitor, &to, &host, &parts));
        }
        Ok(Destination::Held(..)) => Page::Held,
        Ok(Destination::Nowhere) => nowhere(&worker.edge),
        Err(page) => page,
    };
    counted::page(exchange, page, accept.as_ref())
}

fn sent_on(visitor: &Visitor, to: &RedirectSpec, asked: &Host, parts: &Parts) -> Response<Body> {
    redirect::to_host(to, visitor.asked_over(&parts.headers), asked, parts)
}

/// The last answer on its connection: the sender of such a request may mean something else by the bytes after it than
/// the edge does, or must connect elsewhere.
fn refuse(page: Page, parts: &Parts) -> Response<Body> {
    let mut answer = page.answer(parts.headers.get(ACCEPT));
    if parts.version != Version::HTTP_2 {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    answer
}

fn nowhere(edge: &Edge) -> Page {
    if edge.has_damaged_routes() { Page::RoutesDamaged } else { Page::UnknownHost }
}

async fn file(exchange: Exchange, files: &Arc<Files>, parts: &Parts) -> Response<Body> {
    match files.answer(parts).await {
        Some(answer) => counted::counted(exchange, answer),
        None => counted::page(exchange, Page::NotFound, parts.headers.get(ACCEPT)),
    }
}

fn begin(service: Arc<Service>, started: Instant, parts: &Parts, host: &Host, visitor: &Visitor) -> Exchange {
    let log_entry = service.spec.access_log.then(|| log_entry(parts, host, visitor));
    Exchange::begin(service, started, log_entry)
}

fn log_entry(parts: &Parts, host: &Host, visitor: &Visitor) -> Box<AccessLogEntry> {
    Box::new(AccessLogEntry {
        method: parts.method.clone(),
        host: host.name.clone(),
        path: parts.uri.path().to_owned(),
        visitor: visitor.address,
        request_id: None,
    })
}
