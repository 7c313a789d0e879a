//! Refuses changes while another installation, or a server with another engine, holds the containers that this server would change.

use axum::extract::Request;
use axum::http::Method;
use windlass_api::ErrorCode;

use crate::app::App;
use crate::error::{Error, Result};

/// A person who wants to look must be able to log in; that changes nothing but the copy itself.
const LOGIN_PATHS: [&str; 3] = ["/api/v1/auth/login", "/api/v1/auth/logout", "/api/v1/auth/refresh"];

pub fn check(app: &App, request: &Request) -> Result<()> {
    let only_reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    if only_reads || LOGIN_PATHS.contains(&request.uri().path()) {
        return Ok(());
    }
    check_change(app)
}

/// The same for a request that changes something though its method does not say so.
pub fn check_change(app: &App) -> Result<()> {
    match app.engine_health.held_by_another() {
        None => Ok(()),
        Some(problem) => Err(Error::new(ErrorCode::ReadOnly, format!("This server only reads: {problem}"))),
    }
}
