//! HTTP: who calls, and whether it is for the API or for git.

use std::net::TcpListener;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Collected, Full};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, LINK, WWW_AUTHENTICATE};
use hyper::{HeaderMap, Request, Response};
use tokio::sync::oneshot;

use super::api::{self, Called};
use super::host::Host;
use crate::git::serve::{Answer, Manner, answer_all, ask_git, basic};

const API: &str = "/api/v3";

pub fn run(listener: TcpListener, stopped: oneshot::Receiver<()>, host: Arc<Host>) {
    answer_all(listener, stopped, move |request| {
        let host = host.clone();
        async move {
            match request.uri().path().starts_with(API) {
                true => answer_api(&host, request).await,
                false => answer_git(&host, request).await,
            }
        }
    });
}

async fn answer_api(host: &Host, request: Request<Incoming>) -> Answer {
    let outage = host.state().outage;
    if let Some(status) = outage {
        return text(status, "");
    }
    let (head, body) = request.into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let called = Called {
        host,
        method: head.method,
        path: head.uri.path().trim_start_matches(API).to_owned(),
        query: head.uri.query().unwrap_or_default().to_owned(),
        token: given(&head.headers).and_then(|given| given.strip_prefix("Bearer ")).unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let reply = api::answer(&called);
    let mut answer = Response::builder().status(reply.status).header(CONTENT_TYPE, "application/json; charset=utf-8");
    if let Some(link) = &reply.link {
        answer = answer.header(LINK, link);
    }
    answer.body(full(reply.body.to_string().into())).expect("an answer")
}

/// Reading alone: the app may do no more.
async fn answer_git(host: &Host, request: Request<Incoming>) -> Answer {
    let Some((user, token)) = given(request.headers()).and_then(basic) else {
        let mut answer = text(401, "Unauthorized\n");
        answer.headers_mut().insert(WWW_AUTHENTICATE, "Basic realm=\"GitHub\"".parse().expect("a header"));
        return answer;
    };
    let full_name = request.uri().path().split_once(".git/").map(|(name, _)| name.trim_start_matches('/').to_owned());
    let reached = host.reached_by(&token).filter(|_| user == "x-access-token");
    match (reached, full_name) {
        (None, _) => text(401, "Invalid username or token\n"),
        (Some(reached), Some(name)) if reached.contains(&name) => {
            ask_git(&host.root, &Manner::default(), None, request).await
        }
        _ => text(404, "Repository not found\n"),
    }
}

fn given(headers: &HeaderMap) -> Option<&str> {
    headers.get(AUTHORIZATION)?.to_str().ok()
}

fn text(status: u16, body: &'static str) -> Answer {
    let answer = Response::builder().status(status).header(CONTENT_TYPE, "text/plain; charset=utf-8");
    answer.body(full(Bytes::from_static(body.as_bytes()))).expect("an answer")
}

fn full(body: Bytes) -> http_body_util::combinators::BoxBody<Bytes, std::io::Error> {
    Full::new(body).map_err(|never| match never {}).boxed()
}
