//! What stands between visitors and a service: whether a request goes on to it.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

use super::pages::Page;
use crate::access::{Access, PasswordChecks, SignInRefusal};

/// The page that the visitor gets instead, if the request does not go on. If it does, it goes without the password.
pub async fn admit(
    access: &Access,
    checks: &PasswordChecks,
    address: IpAddr,
    headers: &mut HeaderMap,
) -> Result<(), Page> {
    if !access.lets_in(address) {
        return Err(Page::Forbidden);
    }
    if let Some(rate) = access.rate() {
        rate.take(address, Instant::now()).map_err(|wait| Page::TooManyRequests(seconds(wait)))?;
    }
    if let Some(sign_in) = &access.sign_in {
        sign_in.check(checks, headers, address).await.map_err(page)?;
        headers.remove(AUTHORIZATION);
    }
    if access.maintenance { Err(Page::Maintenance) } else { Ok(()) }
}

fn page(refusal: SignInRefusal) -> Page {
    match refusal {
        SignInRefusal::NotSignedIn => Page::SignIn,
        SignInRefusal::TooManyTries(wait) => Page::TooManyTries(seconds(wait)),
        SignInRefusal::Busy => Page::SignInBusy,
    }
}

/// Whole ones, after which the visitor has waited for long enough.
fn seconds(wait: Duration) -> u64 {
    wait.as_millis().div_ceil(1000).try_into().unwrap_or(u64::MAX)
}
