//! What is looked at before an authority is asked: whether the domain leads here, and whether the authority may issue for it. An
//! authority counts what fails; this costs nothing.

use std::net::IpAddr;
use std::time::Duration;

use windlass_acme::{Authority, Way};
use windlass_api::Host;
use windlass_dns::Resolver;
use windlass_outgoing::{Answer, Bytes, Call, CallError, HeaderMap, Limits, Method, StatusCode, Url};

use super::problem::{Problem, Result};
use crate::app::App;
use crate::error::Error;

/// Where authorities look (RFC 8555, section 8.3).
const PATH: &str = "/.well-known/acme-challenge/";
const LIMITS: Limits = Limits { time: Duration::from_secs(10), answer_bytes: 4_096 };
/// Addresses that a sentence names.
const MOST_NAMED: usize = 4;

/// What the edge is asked for.
pub struct Asked<'a> {
    pub token: &'a str,
    pub key_authorization: &'a str,
}

/// The addresses of a domain, which must be there.
pub async fn addresses(app: &App, domain: &str) -> Result<Vec<IpAddr>> {
    let resolver = resolver(app);
    let found = resolver.addresses(domain).await?;
    if found.is_empty() {
        let record = match here(app, &resolver).await.as_slice() {
            [] => "an A or AAAA record with the address of this server".to_owned(),
            here => format!("an A or AAAA record with {}", named(here)),
        };
        let words = format!("DNS has no address for {domain} yet. Create {record}.");
        return Err(Problem::preflight(words).into());
    }
    Ok(found)
}

/// In which way the authority can see that the domain is served here. What answers on port 80 must be this installation's edge; where
/// nothing answers there, the proof is left to port 443.
pub async fn way(app: &App, domain: &str, addresses: Vec<IpAddr>, asked: &Asked<'_>) -> Result<Way> {
    let there = named(&addresses);
    let url = format!("http://{domain}{PATH}{}", asked.token);
    let url = url.parse().map_err(|error| Error::internal(format!("{url}: {error}")))?;
    match get(app, url, addresses.clone()).await? {
        Ok(answer) if answer.status == StatusCode::OK && answer.body == asked.key_authorization.as_bytes() => {
            Ok(Way::Http)
        }
        Ok(answer) => {
            let words = format!(
                "{domain} leads to {there}, where another server answers (with status {}). Let its record in DNS lead to \
                 this server, and port 80 there to the edge.",
                answer.status.as_u16()
            );
            Err(Problem::preflight(words).into())
        }
        Err(CallError::PrivateAddress { .. }) => {
            let words = format!("{domain} leads to {there}, which is not an address of the internet.");
            Err(Problem::preflight(words).into())
        }
        Err(error) if is_silent(&error) => by_handshake(app, domain, addresses).await,
        Err(error) => Err(Problem::preflight(format!("{domain} was asked for a sign of this server. {error}")).into()),
    }
}

/// There must be something that takes connections at least.
async fn by_handshake(app: &App, domain: &str, addresses: Vec<IpAddr>) -> Result<Way> {
    let there = named(&addresses);
    let url = format!("https://{domain}/");
    let url = url.parse().map_err(|error| Error::internal(format!("{url}: {error}")))?;
    match get(app, url, addresses).await? {
        Err(error) if is_silent(&error) => {
            let words = format!(
                "{domain} leads to {there}, where nothing answers on port 80 or 443. Let its record in DNS lead to this \
                 server, and these ports there to the edge."
            );
            Err(Problem::preflight(words).into())
        }
        // It has no certificate yet, so there is no other answer than a broken handshake.
        _ => Ok(Way::TlsAlpn),
    }
}

async fn get(app: &App, url: Url, addresses: Vec<IpAddr>) -> Result<std::result::Result<Answer, CallError>> {
    let call = Call { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new(), limits: LIMITS };
    Ok(app.outgoing().await?.send_at(call, addresses).await)
}

const fn is_silent(error: &CallError) -> bool {
    matches!(error, CallError::Refused { .. } | CallError::Unreachable { .. } | CallError::TimedOut { .. })
}

/// CAA records name the authorities that may issue.
pub async fn may_issue(app: &App, authority: &Authority, domain: &str) -> Result<()> {
    let issuers = resolver(app).issuers(domain).await?;
    let allowed: Vec<&str> =
        issuers.iter().filter(|issuer| !issuer.of_wildcards).filter_map(|issuer| issuer.name.as_deref()).collect();
    if issuers.iter().all(|issuer| issuer.of_wildcards) {
        return Ok(());
    }
    let own = authority.names().await?;
    // An authority that does not say its name judges for itself.
    let may =
        if own.is_empty() { !allowed.is_empty() } else { own.iter().any(|name| allowed.contains(&name.as_str())) };
    if may {
        return Ok(());
    }
    let others = if allowed.is_empty() { "no authority".to_owned() } else { allowed.join(", ") };
    let name = own.first().map_or("the authority that is to issue", String::as_str);
    let words =
        format!("A CAA record in DNS lets {others} issue certificates for {domain}. Add one that names {name}.");
    Err(Problem::preflight(words).into())
}

fn resolver(app: &App) -> Resolver {
    match app.config.dns_servers.as_slice() {
        [] => Resolver::new(windlass_dns::of_machine()),
        servers => Resolver::new(servers.to_vec()),
    }
}

/// Where the server's own address leads, if it has a public one.
async fn here(app: &App, resolver: &Resolver) -> Vec<IpAddr> {
    match Host::of_url(&app.config.public_url()).filter(|host| !host.is_local()) {
        Some(host) => match host.parse() {
            Ok(address) => vec![address],
            Err(_) => resolver.addresses(&host).await.unwrap_or_default(),
        },
        None => Vec::new(),
    }
}

fn named(addresses: &[IpAddr]) -> String {
    let texts: Vec<String> = addresses.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    texts.join(", ")
}
