//! Answers as Gitea gives them.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::header::{CONTENT_TYPE, LINK};
use hyper::http::response::Parts;
use serde_json::{Value, json};

use super::host::Host;
use crate::git::serve::Answer;

/// What the API says.
pub struct Reply {
    pub status: u16,
    pub body: Option<Value>,
    /// How many there are on all pages.
    pub total: Option<usize>,
    pub link: Option<String>,
}

impl Reply {
    pub fn new(status: u16, body: Value) -> Self {
        Self { status, body: Some(body), total: None, link: None }
    }

    pub fn gone() -> Self {
        Self { status: 204, body: None, total: None, link: None }
    }

    pub fn problem(status: u16, message: &str) -> Self {
        Self::new(status, json!({ "message": message }))
    }

    pub fn not_found() -> Self {
        Self::new(404, json!({ "errors": null, "message": "not found" }))
    }
}

pub fn from_api(host: &Host, mut reply: Reply) -> Answer {
    if let Some(Value::Object(body)) = reply.body.as_mut().filter(|_| reply.status >= 400) {
        body.insert("url".to_owned(), json!(format!("{}/api/swagger", host.url)));
    }
    let mut answer = Response::builder().status(reply.status);
    if let Some(total) = reply.total {
        answer = answer.header("X-Total-Count", total);
    }
    if let Some(link) = &reply.link {
        answer = answer.header(LINK, link);
    }
    if reply.body.is_some() {
        answer = answer.header(CONTENT_TYPE, "application/json;charset=utf-8");
    }
    let body = reply.body.map(|body| format!("{body}\n")).unwrap_or_default();
    answer.body(full(body.into())).expect("an answer")
}

pub fn text(status: u16, body: &'static str) -> Answer {
    let answer = Response::builder().status(status).header(CONTENT_TYPE, "text/plain; charset=utf-8");
    answer.body(full(Bytes::from_static(body.as_bytes()))).expect("an answer")
}

pub fn whole(head: Parts, body: Bytes) -> Answer {
    Response::from_parts(head, full(body))
}

fn full(body: Bytes) -> http_body_util::combinators::BoxBody<Bytes, std::io::Error> {
    Full::new(body).map_err(|never| match never {}).boxed()
}
