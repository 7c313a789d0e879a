//! What is looked at before an authority is asked: whether the domain leads here, and whether the authority may issue for it. An
//! authority counts what fails; this costs nothing.

use std::net::IpAddr;
use std::time::Duration;

use windlass_acme::{Authority, Way};
use windlass_dns::{DnsError, Issuer};
use windlass_outgoing::{Answer, Bytes, Call, CallError, HeaderMap, Limits, Method, StatusCode, Url};

use super::problem::{Problem, Result};
use crate::app::App;
use crate::dns::{here, resolver};

/// Where authorities look (RFC 8555, section 8.3).
const PATH: &str = "/.well-known/acme-challenge/";
const LIMITS: Limits = Limits { time: Duration::from_secs(10), answer_bytes: 4_096 };
const DNS_LIMIT: Duration = Duration::from_secs(20);
/// A name with more addresses is not looked at as a whole.
const MOST_ASKED: usize = 4;
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
    let found = within_limit(resolver.addresses(domain)).await?;
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

/// In which way the authority can see that the domain is served here. It may look at any address of the domain: what answers on port 80 must
/// be this installation's edge. Where nothing answers there, the proof is left to port 443.
pub async fn way(app: &App, domain: &str, addresses: Vec<IpAddr>, asked: &Asked<'_>) -> Result<Way> {
    let url = url(&format!("http://{domain}{PATH}{}", asked.token))?;
    let mut way = None;
    for address in addresses.iter().take(MOST_ASKED) {
        match get(app, url.clone(), vec![*address]).await? {
            Ok(answer) if answer.status == StatusCode::OK && answer.body == asked.key_authorization.as_bytes() => {
                way = Some(Way::Http);
            }
            Ok(answer) => {
                let words = format!(
                    "{domain} leads to {address}, where another server answers (with status {}). Let its record in DNS lead \
                     to this server, and port 80 there to the edge.",
                    answer.status.as_u16()
                );
                return Err(Problem::preflight(words).into());
            }
            Err(error) if is_silent(&error) => {}
            Err(error) => {
                let words = format!("{domain} was asked for a sign of this server. {error}");
                return Err(Problem::preflight(words).into());
            }
        }
    }
    match way {
        Some(way) => Ok(way),
        None => by_handshake(app, domain, addresses).await,
    }
}

/// There must be something that takes connections at least.
async fn by_handshake(app: &App, domain: &str, addresses: Vec<IpAddr>) -> Result<Way> {
    let there = named(&addresses);
    match get(app, url(&format!("https://{domain}/"))?, addresses).await? {
        Err(error) if is_silent(&error) => {
            let words = format!(
                "{domain} leads to {there}, where nothing answers on port 80 or 443. Let its record in DNS lead to this \
                 server, and these ports there to the edge."
            );
            Err(Problem::preflight(words).into())
        }
        // Whether it is this edge is not known: the authority's own look decides.
        _ => Ok(Way::TlsAlpn),
    }
}

/// A name can be one for DNS, and none for the web.
fn url(text: &str) -> Result<Url> {
    Ok(Url::parse(text)
        .map_err(|error| Problem::preflight(format!("No certificate can be ordered for it: {error}.")))?)
}

/// A name with many labels, whose servers are slow, must not take minutes.
async fn within_limit<T>(asking: impl Future<Output = std::result::Result<T, DnsError>>) -> Result<T> {
    match tokio::time::timeout(DNS_LIMIT, Box::pin(asking)).await {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Problem::preflight("The name servers of the domain took too long. It is tried again.").into()),
    }
}

async fn get(app: &App, url: Url, addresses: Vec<IpAddr>) -> Result<std::result::Result<Answer, CallError>> {
    let call = Call { method: Method::GET, url, headers: HeaderMap::new(), body: Bytes::new(), limits: LIMITS };
    Ok(app.outgoing().await?.send_at(call, addresses).await)
}

const fn is_silent(error: &CallError) -> bool {
    matches!(error, CallError::Refused { .. } | CallError::Unreachable { .. } | CallError::TimedOut { .. })
}

/// CAA records name the authorities that may issue. Those about wildcards count alone where a wildcard is ordered, if there are any.
pub async fn may_issue(app: &App, authority: &Authority, domain: &str) -> Result<()> {
    let resolver = resolver(app);
    let above = domain.strip_prefix("*.");
    let issuers = within_limit(resolver.issuers(above.unwrap_or(domain))).await?;
    let of_wildcards = above.is_some() && issuers.iter().any(|issuer| issuer.of_wildcards);
    let counting: Vec<&Issuer> = issuers.iter().filter(|issuer| issuer.of_wildcards == of_wildcards).collect();
    if counting.is_empty() {
        return Ok(());
    }
    let allowed: Vec<&str> = counting.iter().filter_map(|issuer| issuer.name.as_deref()).collect();
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

fn named(addresses: &[IpAddr]) -> String {
    let texts: Vec<String> = addresses.iter().take(MOST_NAMED).map(ToString::to_string).collect();
    texts.join(", ")
}
