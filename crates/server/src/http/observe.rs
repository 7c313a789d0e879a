//! What happens around every request: an id, a log line, a measurement, a time limit, safe headers.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;
use windlass_api::ErrorCode;

use crate::app::App;
use crate::auth::caller::RequestId;
use crate::error::Error;

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Outermost. The id is always our own: one that a client sends could collide or carry anything into the log.
pub async fn observe(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = request_id();
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    // The route, not the path: paths hold ids, and unknown ones could hold anything.
    let route = request.extensions().get::<MatchedPath>().map_or("unknown", MatchedPath::as_str).to_owned();
    // Of the highest level, because a span below the log's level is not there when an error is logged inside it.
    let span = tracing::error_span!("request", id, %method, route);
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, took) = (response.status().as_u16(), started.elapsed());
    app.metrics.request(&method, route, status, took);
    let _entered = span.enter();
    if status >= 500 {
        tracing::warn!(status, ms = took.as_millis() as u64, "answered");
    } else {
        tracing::debug!(status, ms = took.as_millis() as u64, "answered");
    }
    harden(&mut response, &id);
    response
}

fn request_id() -> String {
    let mut bytes = [0_u8; 16];
    // An id that repeats costs a confusing log line, no more.
    let _ = getrandom::fill(&mut bytes);
    uuid::Builder::from_random_bytes(bytes).into_uuid().simple().to_string()
}

fn harden(response: &mut Response, request_id: &str) {
    let headers = response.headers_mut();
    if let Ok(id) = HeaderValue::from_str(request_id) {
        headers.insert(REQUEST_ID.clone(), id);
    }
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    headers
        .entry(header::CONTENT_SECURITY_POLICY)
        .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
}

pub async fn time_limit(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let limit = app.config.request_limit;
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let message = format!("This took longer than {} seconds and was stopped.", limit.as_secs());
            Error::new(ErrorCode::TimeLimit, message).into_response()
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over")]
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    Error::internal(format!("panic: {}", text.unwrap_or("without a message"))).into_response()
}
