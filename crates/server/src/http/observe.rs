//! What happens around every request: an id, a log line, a measurement, a time limit, safe headers.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, Method, Version, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use windlass_api::ErrorCode;

use crate::app::App;
use crate::auth::origin::{Peer, RequestId, real_address};
use crate::error::{Error, Result};
use crate::http::body::Arrival;
use crate::http::respond::Cause;
use crate::http::{head, origin, read_only, system, uploads};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Outermost, and one layer instead of several, because each costs every request. The id is always our own: one that a
/// client sends could collide or carry anything into the log.
pub async fn observe(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let id = app.request_ids.next();
    request.extensions_mut().insert(RequestId(id.clone()));
    let method = request.method().clone();
    // The route, not the path: paths hold ids, and unknown ones could hold anything.
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut response = match allow(&app, &request) {
        Ok(()) => within(limit_of(&app, route.as_ref()), request, next).await,
        Err(refusal) => refusal.into_response(),
    };
    note_room(&app, &method, &response);
    let (status, took) = (response.status().as_u16(), started.elapsed());
    let route = route.as_ref().map_or("unknown", MatchedPath::as_str);
    app.metrics.request(&method, route, status, took);
    let ms = took.as_millis() as u64;
    match response.extensions_mut().remove::<Cause>() {
        Some(Cause(cause)) => tracing::error!(id, %method, route, status, ms, cause, "request failed"),
        None => tracing::debug!(id, %method, route, status, ms, "answered"),
    }
    harden(&mut response, &id);
    response
}

/// What changes show about the disk that they are written to.
fn note_room(app: &App, method: &Method, response: &Response) {
    match response.extensions().get::<ErrorCode>() {
        Some(ErrorCode::DiskFull) => app.database_disk.found_no_room(app.now()),
        None if !method.is_safe() && response.status().is_success() => {
            app.database_disk.found_room();
            app.database_probe.forget();
        }
        _ => {}
    }
}

/// What is decided by the head alone.
fn allow(app: &App, request: &Request) -> Result<()> {
    head::check(request)?;
    origin::check(&app.config, request)?;
    limit_address(app, request)?;
    read_only::check(app, request)
}

fn limit_address(app: &App, request: &Request) -> Result<()> {
    let route = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    if route.is_some_and(|route| system::UNLIMITED_PATHS.contains(&route)) {
        return Ok(());
    }
    let Some(peer) = request.extensions().get::<Peer>().copied() else { return Ok(()) };
    let address = real_address(peer, request.headers(), &app.config.trusted_proxies);
    app.requests.count_request_from(address, app.config.address_requests, app.now())
}

fn limit_of(app: &App, route: Option<&MatchedPath>) -> Duration {
    match route.is_some_and(|route| uploads::is_long(route.as_str())) {
        true => crate::uploads::longest(&app.config),
        false => app.config.request_limit,
    }
}

async fn within(limit: Duration, mut request: Request, next: Next) -> Response {
    let (arrival, version) = (Arrival::default(), request.version());
    request.extensions_mut().insert(arrival.clone());
    let answered = tokio::time::timeout(limit, next.run(request)).await;
    answered.unwrap_or_else(|_| too_slow(limit, &arrival, version))
}

/// A client that sends slowly is told something else than one that was kept waiting.
fn too_slow(limit: Duration, arrival: &Arrival, version: Version) -> Response {
    let seconds = match limit.as_secs() {
        1 => "1 second".to_owned(),
        seconds => format!("{seconds} seconds"),
    };
    if !arrival.is_waited_for() {
        let message = format!("This took longer than {seconds} and was stopped.");
        return Error::new(ErrorCode::TimeLimit, message).into_response();
    }
    let message = format!("The body did not arrive within {seconds}. Send it faster, or send less.");
    let mut response = Error::new(ErrorCode::BodyTimeout, message).into_response();
    // The rest of the body could be taken for the next request. HTTP/2 has a stream for each.
    if version < Version::HTTP_2 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
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

#[expect(clippy::needless_pass_by_value, reason = "the layer hands it over")]
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    Error::internal(format!("panic: {}", text.unwrap_or("without a message"))).into_response()
}
