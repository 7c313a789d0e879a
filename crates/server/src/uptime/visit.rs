//! One request to an application, sent to the edge as a visitor sends it: by the name of the domain, over https where that is served so.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;
use windlass_edge::{Listen, PAGE_HEADER};
use windlass_outgoing::{Bytes, Call, CallError, HeaderMap, Limits, Method, Url, header};
use windlass_store::uptime::Uptime;

use super::verdict::Visited;
use crate::app::App;
use crate::served_certificates::Choice;

/// As visitors' programs present themselves.
const NAME: &str = concat!("windlass-uptime/", env!("CARGO_PKG_VERSION"));

/// By what way visitors come.
pub struct Way<'a> {
    /// Where the edge listens.
    pub edge: &'a Listen,
    pub certificates: &'a Choice,
}

pub async fn visit(app: &App, uptime: &Uptime, domain: &str, way: &Way<'_>) -> Visited {
    let Some((url, address)) = target(app, uptime, domain, way) else {
        return Visited::CannotTell("the edge does not listen for visitors of its domain".to_owned());
    };
    // The edge is at a private address, and certificates can be from an authority that the operator has named.
    let outgoing = match app.authority_calls().await {
        Ok(outgoing) => outgoing,
        Err(error) => return Visited::CannotTell(error.cause.unwrap_or(error.message)),
    };
    let time = Duration::from_secs(u64::try_from(uptime.timeout_seconds).unwrap_or(1));
    let mut headers = HeaderMap::new();
    headers.insert(header::USER_AGENT, header::HeaderValue::from_static(NAME));
    headers.insert(header::ACCEPT, header::HeaderValue::from_static("*/*"));
    // Nothing of the body is read.
    let limits = Limits { time, answer_bytes: 0 };
    let call = Call { method: Method::GET, url, headers, body: Bytes::new(), limits };
    let began = Instant::now();
    match outgoing.send_for_status_at(call, vec![address.ip()]).await {
        Ok(answer) => Visited::Answered {
            status: answer.status.as_u16(),
            page: answer.headers.get(PAGE_HEADER).and_then(|page| page.to_str().ok()).map(str::to_owned),
            after: began.elapsed(),
        },
        Err(error) => not_answered(&error),
    }
}

/// What this machine lacks says nothing of the application.
fn not_answered(error: &CallError) -> Visited {
    match error {
        CallError::NoRoots | CallError::BadUrl { .. } | CallError::PrivateAddress { .. } => {
            Visited::CannotTell(error.to_string())
        }
        _ if error.is_unknown_issuer() => Visited::CannotTell(error.to_string()),
        _ => Visited::NotAnswered(error.to_string()),
    }
}

/// The address of the edge is in the URL by its port alone: the host is the domain's.
fn target(app: &App, uptime: &Uptime, domain: &str, way: &Way<'_>) -> Option<(Url, SocketAddr)> {
    let is_https = has_certificate(app, uptime.organization_id, domain, way.certificates);
    let (scheme, listening) = match way.edge.https.first() {
        Some(address) if is_https => ("https", address),
        _ => ("http", way.edge.http.first()?),
    };
    let address = SocketAddr::new(reachable(listening.ip()), listening.port());
    let url = format!("{scheme}://{domain}:{}{}", address.port(), uptime.path).parse().ok()?;
    Some((url, address))
}

/// Also one that has ended: visitors are shown that one then.
fn has_certificate(app: &App, organization_id: Uuid, domain: &str, certificates: &Choice) -> bool {
    certificates.of(Some(organization_id), domain, app.now()).is_some()
}

/// Who listens at all addresses is reached by this machine's own.
const fn reachable(listening: IpAddr) -> IpAddr {
    match listening {
        IpAddr::V4(address) if address.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(address) if address.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        address => address,
    }
}
