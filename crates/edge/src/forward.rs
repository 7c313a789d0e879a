//! A visitor's request: where it belongs, and the answer to it.

use std::sync::Arc;
use std::time::Instant;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Request, Response, Version};

use crate::body::Body;
use crate::connection::Visitor;
use crate::edge::{Edge, Routed};
use crate::exchange::{Exchange, Line};
use crate::files::Files;
use crate::headers::{self, Host};
use crate::journey::Journey;
use crate::pages::Page;
use crate::service::Service;

/// One worker's view of the edge.
#[derive(Clone)]
pub struct Worker {
    pub edge: Arc<Edge>,
    pub index: usize,
}

pub async fn answer(worker: &Worker, visitor: &Arc<Visitor>, request: Request<Incoming>) -> Response<Body> {
    let started = Instant::now();
    let (parts, body) = request.into_parts();
    let host = match headers::host(&parts) {
        Ok(host) => host,
        Err(bad) => return refuse(Page::BadRequest(bad.sentence()), &parts),
    };
    if parts.method == Method::CONNECT {
        return refuse(Page::MethodNotAllowed, &parts);
    }
    if !headers::is_plainly_framed(&parts.headers) {
        return refuse(Page::BadRequest("The request's transfer coding is not one that is understood here."), &parts);
    }
    let begin = |service: Arc<Service>| {
        let line = service.spec.access_log.then(|| line(&parts, &host, visitor));
        Exchange::begin(service, started, line)
    };
    match worker.edge.route(&host.name, parts.uri.path(), &[]) {
        Routed::Nowhere => nowhere(&worker.edge).answer(parts.headers.get(ACCEPT)),
        Routed::Page(service, notice) => begin(service).page(notice.into(), parts.headers.get(ACCEPT)),
        Routed::Files(service, files) => {
            visitor.activity.must_end(started + service.times().total);
            file(begin(service), &files, &parts).await
        }
        Routed::Target(service, entry) => {
            let mut exchange = begin(service);
            exchange.enter(entry);
            Journey::new(worker, visitor, exchange, host, parts, body).run().await
        }
    }
}

/// The last answer on its connection: whoever sends such a request may mean something else by the bytes after it than the
/// edge does.
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

async fn file(mut exchange: Exchange, files: &Arc<Files>, parts: &Parts) -> Response<Body> {
    let answer = match files.answer(parts).await {
        Some(answer) => answer,
        None => Page::NotFound.answer(parts.headers.get(ACCEPT)),
    };
    exchange.answered(answer.status().as_u16());
    answer.map(|body| body.counted(exchange))
}

fn line(parts: &Parts, host: &Host, visitor: &Visitor) -> Box<Line> {
    Box::new(Line {
        method: parts.method.clone(),
        host: host.name.clone(),
        path: parts.uri.path().to_owned(),
        visitor: visitor.address,
        request_id: None,
    })
}
