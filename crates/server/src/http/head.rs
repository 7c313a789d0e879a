//! What a request's head must have once: with two of them, the server and what is in front of it could each believe
//! another.

use axum::extract::Request;
use axum::http::{HeaderName, Version, header};

use super::applications::IDEMPOTENCY_HEADER;
use crate::auth::ctx::ORGANIZATION_HEADER;
use crate::error::{Error, Result};

pub fn check(request: &Request) -> Result<()> {
    let once = [
        header::HOST,
        header::AUTHORIZATION,
        HeaderName::from_static(ORGANIZATION_HEADER),
        HeaderName::from_static(IDEMPOTENCY_HEADER),
    ];
    for name in once {
        if request.headers().get_all(&name).iter().nth(1).is_some() {
            return Err(Error::field(name.as_str(), "is given more than once. Send it once."));
        }
    }
    check_host(request)
}

/// HTTP/2 has a field of its own for it, `:authority`, and takes `Host` in its place. HTTP/1.0 did not know it.
fn check_host(request: &Request) -> Result<()> {
    let host = request.headers().get(header::HOST).map(|value| value.as_bytes().trim_ascii());
    let authority = request.uri().authority().map(|authority| authority.as_str().as_bytes());
    let is_missing = match request.version() {
        Version::HTTP_09 | Version::HTTP_10 => false,
        Version::HTTP_11 => host.is_none_or(<[u8]>::is_empty),
        _ => authority.or(host).is_none_or(<[u8]>::is_empty),
    };
    if is_missing {
        return Err(Error::field("host", "is missing. Say once which host the request is for."));
    }
    let differs = |host: &[u8]| authority.is_some_and(|authority| !authority.eq_ignore_ascii_case(host));
    if request.version() == Version::HTTP_2 && host.is_some_and(differs) {
        return Err(Error::field("host", "differs from :authority. Send the same name in both, or leave it out."));
    }
    Ok(())
}
