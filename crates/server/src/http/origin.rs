//! Browsers let any page send requests to any server. What such a page may not do here is decided before anything else.

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method, header};
use windlass_api::{ErrorCode, Host};

use crate::config::Config;
use crate::error::{Error, Result};

pub fn check(config: &Config, request: &Request) -> Result<()> {
    let text = |name| request.headers().get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let host = request.uri().authority().map(Authority::as_str).or(text(header::HOST)).unwrap_or_default();
    // A page on a name that its owner points to 127.0.0.1 would look like our own; its name gives it away.
    if config.is_loopback_only() && !host.is_empty() && !is_own_host(config, host) {
        let message = "host: this server is meant for its own machine. Set public-url if it has another name.";
        return Err(Error::new(ErrorCode::Forbidden, message));
    }
    let changes_state = !matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS);
    match text(header::ORIGIN) {
        Some(origin) if changes_state && !is_own_origin(config, origin, host) => {
            let message =
                "origin: pages of this origin may not call the API. The setting cors-origins names those that may.";
            Err(Error::new(ErrorCode::Forbidden, message))
        }
        _ => Ok(()),
    }
}

fn is_own_host(config: &Config, host: &str) -> bool {
    let is_public = |host: &Host| Host::of_url(&config.public_url()).is_some_and(|public| public == *host);
    Host::of_authority(host).is_some_and(|host| host.is_local() || is_public(&host))
}

fn is_own_origin(config: &Config, origin: &str, host: &str) -> bool {
    let same_host = origin.split_once("://").is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
    same_host || origin == config.public_url() || config.cors_origins.iter().any(|allowed| allowed == origin)
}
