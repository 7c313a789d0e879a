//! Answers, and the one place where an error becomes one.

use std::convert::Infallible;

use axum::body::{Body, Bytes};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;
use windlass_api::Envelope;

use crate::error::{Error, Result};

pub type Answer = Result<Response>;

/// 200 with the envelope around `data`.
pub fn success<T: Serialize>(message: &str, data: T) -> Answer {
    Ok(json(StatusCode::OK, &Envelope::success(message, data)))
}

/// For `POST /webhook`, `POST /notification/webhook` and `DELETE /notification/smtp`: always with `error`, and `data` as null.
pub fn bare_success(message: &str) -> Answer {
    Ok(json(StatusCode::OK, &Envelope::bare_success(message)))
}

pub fn json(status: StatusCode, value: &impl Serialize) -> Response {
    // Our own types always serialise; if one ever does not, an empty 500 is all that can be said.
    let (status, body) = match serde_json::to_vec(value) {
        Ok(body) => (status, body),
        Err(error) => {
            tracing::error!(%error, "an answer could not be written as JSON");
            (StatusCode::INTERNAL_SERVER_ERROR, Vec::new())
        }
    };
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Server-sent events, as long as `next` has some.
pub fn events<S, F>(state: S, mut next: impl FnMut(S) -> F + Send + 'static) -> Response
where
    S: Send + 'static,
    F: Future<Output = Option<(Bytes, S)>> + Send + 'static,
{
    let parts = stream::unfold(state, move |state| {
        let next = next(state);
        async move { next.await.map(|(events, state)| (Ok::<Bytes, Infallible>(events), state)) }
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that would collect an answer first are asked not to.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    (headers, Body::from_stream(parts)).into_response()
}

/// What went wrong inside, on its way to the log; it never leaves the server.
#[derive(Clone)]
pub struct Cause(pub String);

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = json(status, &Envelope::failure(self.code, self.message));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response.extensions_mut().insert(self.code);
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(Cause(cause));
        }
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            response.headers_mut().insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
        }
        response
    }
}
