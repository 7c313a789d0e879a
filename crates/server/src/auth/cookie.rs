//! The login of a browser: a cookie that no script can read.
//!
//! A browser sends it with every request to this host, whichever page has caused the request. So a change needs a header beside it, which
//! pages of other origins cannot send, and what a browser says was caused by another origin is not logged in at all.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, header};

use crate::config::Config;
use crate::error::{Error, Result};

/// Sent by programs that run in a browser, with [`BROWSER`].
pub const CLIENT_HEADER: &str = "x-windlass-client";
const BROWSER: &str = "browser";

const NAME: &str = "windlass_session";
/// Only over https. With this name, a browser takes it from no other host, and not from a subdomain.
const SECURE_NAME: &str = "__Host-windlass_session";

/// Whether the client wants its login in a cookie.
pub fn is_wanted(headers: &HeaderMap) -> bool {
    headers.get(CLIENT_HEADER).is_some_and(|value| value == BROWSER)
}

/// The token of the request's cookie, if it has one that may be used for it.
pub fn token<'a>(config: &Config, parts: &'a Parts) -> Option<&'a str> {
    let is_change = !matches!(parts.method, Method::GET | Method::HEAD);
    if (is_change && !is_wanted(&parts.headers)) || is_caused_by_another_origin(&parts.headers) {
        return None;
    }
    let name = name(config);
    let lines = parts.headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut found = pairs.filter(|(known, _)| *known == name).map(|(_, value)| value);
    let token = found.next().filter(|token| !token.is_empty())?;
    // A second one comes from another host of the same domain, which would have the user work in an account of its own.
    found.next().is_none().then_some(token)
}

/// Browsers say so to https and to their own machine; elsewhere this is empty.
fn is_caused_by_another_origin(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-site").is_some_and(|site| site != "same-origin" && site != "none")
}

/// What makes a browser keep the token.
pub fn keep(config: &Config, token: &str, seconds: i64) -> Result<HeaderValue> {
    let secure = if is_secure(config) { "; Secure" } else { "" };
    let name = name(config);
    let text = format!("{name}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    HeaderValue::from_str(&text).map_err(Error::internal)
}

/// What makes a browser forget it.
pub fn forget(config: &Config) -> Result<HeaderValue> {
    keep(config, "", 0)
}

fn name(config: &Config) -> &'static str {
    if is_secure(config) { SECURE_NAME } else { NAME }
}

fn is_secure(config: &Config) -> bool {
    config.public_url().starts_with("https://")
}
