//! Zones at Cloudflare (its API, version 4).

mod answer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_outgoing::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use windlass_outgoing::{Bytes, Call, CallError, HeaderMap, Limits, Method, Outgoing, Url};

use self::answer::{Answer, Record, Zone, not_understood};
use crate::record::{LIFETIME, TextRecord};
use crate::{SettingError, ZoneError};

/// Of one call; a change takes four at most. The answers are short, because each asks for one name.
const LIMITS: Limits = Limits { time: Duration::from_secs(20), answer_bytes: 256 << 10 };
const LONGEST_TOKEN: usize = 512;
/// Cloudflare has one of a value with quotes, and one without.
const MOST_EQUAL: usize = 2;

/// An account, as far as a token opens it.
#[derive(Clone)]
pub struct Cloudflare {
    base_url: Url,
    token: Token,
    outgoing: Arc<Outgoing>,
}

#[derive(Clone)]
struct Token(String);

impl Cloudflare {
    /// Where Cloudflare's API is.
    pub const BASE_URL: &str = "https://api.cloudflare.com/client/v4";

    pub(crate) fn new(base_url: &str, token: &str, outgoing: Arc<Outgoing>) -> Result<Self, SettingError> {
        Ok(Self { base_url: checked_url(base_url)?, token: checked_token(token)?, outgoing })
    }

    pub(crate) async fn add(&self, record: &TextRecord) -> Result<(), ZoneError> {
        let zone_id = self.zone_id(&record.zone).await?;
        if !self.found(&zone_id, record).await?.is_empty() {
            return Ok(());
        }
        // In quotes, as Cloudflare's documents want it.
        let content = format!("\"{}\"", record.value);
        let body = json!({ "type": "TXT", "name": record.name, "content": content, "ttl": LIFETIME });
        let url = self.url(&["zones", &zone_id, "dns_records"]);
        let answer = self.call(Method::POST, url, Some(&body), &record.zone).await?;
        match answer.says_that_it_exists() {
            // Another order has added it meanwhile.
            true => Ok(()),
            false => answer.result(&record.zone).map(drop),
        }
    }

    pub(crate) async fn remove(&self, record: &TextRecord) -> Result<(), ZoneError> {
        let zone_id = self.zone_id(&record.zone).await?;
        for found in self.found(&zone_id, record).await? {
            let url = self.url(&["zones", &zone_id, "dns_records", &found.id]);
            let answer = self.call(Method::DELETE, url, None, &record.zone).await?;
            // Another order may have removed it meanwhile.
            if !answer.says_that_it_is_gone() {
                answer.result(&record.zone)?;
            }
        }
        Ok(())
    }

    /// By which the other calls know the zone.
    async fn zone_id(&self, zone: &str) -> Result<String, ZoneError> {
        let mut url = self.url(&["zones"]);
        url.query_pairs_mut().append_pair("name", zone);
        let mut zones: Vec<Zone> = self.call(Method::GET, url, None, zone).await?.list(zone)?;
        zones.retain(|found| found.name.eq_ignore_ascii_case(zone));
        // Of several with the name, the active one is what name servers show.
        let active = zones.iter().position(|found| found.status.as_deref() == Some("active"));
        match zones.get(active.unwrap_or_default()) {
            Some(found) => Ok(found.id.clone()),
            None => Err(no_zone(zone)),
        }
    }

    /// The records with this value, also those of clients that leave the quotes out.
    async fn found(&self, zone_id: &str, record: &TextRecord) -> Result<Vec<Record>, ZoneError> {
        let mut url = self.url(&["zones", zone_id, "dns_records"]);
        url.query_pairs_mut()
            .append_pair("type", "TXT")
            .append_pair("name.exact", &record.name)
            .append_pair("content.contains", &record.value);
        let mut records: Vec<Record> = self.call(Method::GET, url, None, &record.zone).await?.list(&record.zone)?;
        // Cloudflare compares without regard to case, and values differ by it.
        let is_wanted = |found: &Record| found.content.trim_matches('"') == record.value;
        records.retain(|found| found.name.eq_ignore_ascii_case(&record.name) && is_wanted(found));
        records.truncate(MOST_EQUAL);
        Ok(records)
    }

    async fn call(&self, method: Method, url: Url, body: Option<&Value>, zone: &str) -> Result<Answer, ZoneError> {
        let body = body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        let call = Call { method, url, headers: self.headers(), body, limits: LIMITS };
        let answer = self.outgoing.send(call).await.map_err(|error| failed(zone, &error))?;
        let answer = Answer::read(answer.status.as_u16(), &answer.body, &self.token.0);
        answer.ok_or_else(|| not_understood(zone))
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // The token was checked to have no sign that a header cannot have.
        if let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {}", self.token.0)) {
            bearer.set_sensitive(true);
            headers.insert(AUTHORIZATION, bearer);
        }
        headers
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base_url.clone();
        // Only addresses that cannot have a path have no segments, and neither https nor http is one.
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(path);
        }
        url
    }
}

impl fmt::Debug for Cloudflare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cloudflare").field("base_url", &self.base_url.as_str()).finish_non_exhaustive()
    }
}

/// On any other way than to this machine itself, a token would be read by others.
fn checked_url(text: &str) -> Result<Url, SettingError> {
    let url = Url::parse(text).map_err(|_| SettingError::BadAddress("is none"))?;
    let host = url.host_str().unwrap_or_default();
    let is_here = host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    match url.scheme() {
        "https" => {}
        "http" if is_here => {}
        _ => return Err(SettingError::BadAddress("does not begin with https://")),
    }
    let has_more = !url.username().is_empty() || url.password().is_some() || url.query().is_some();
    match has_more || url.fragment().is_some() {
        true => Err(SettingError::BadAddress("has more than a host and a path")),
        false => Ok(url),
    }
}

fn checked_token(text: &str) -> Result<Token, SettingError> {
    if !(1..=LONGEST_TOKEN).contains(&text.len()) {
        return Err(SettingError::BadToken("is empty or too long"));
    }
    match text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Token(text.to_owned())),
        false => Err(SettingError::BadToken("has spaces or signs that are not ASCII")),
    }
}

fn no_zone(zone: &str) -> ZoneError {
    let reason = "It is not at Cloudflare, or the token has not the permissions Zone:Read and DNS:Edit for it.".into();
    ZoneError::NoSuchZone { zone: zone.to_owned(), reason }
}

fn failed(zone: &str, error: &CallError) -> ZoneError {
    let (zone, reason) = (zone.to_owned(), error.to_string());
    match error.is_temporary() {
        true => ZoneError::Temporary { zone, reason },
        false => ZoneError::BadAnswer { zone, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_goes_over_https_only() {
        for url in [Cloudflare::BASE_URL, "https://proxy.example.org/", "http://127.0.0.1:8080/v4", "http://localhost"]
        {
            assert!(checked_url(url).is_ok(), "{url}");
        }
        let refused = [
            "http://api.cloudflare.com/client/v4",
            "http://127.0.0.1.example.org/",
            "ftp://127.0.0.1/",
            "https://me:secret@example.org/",
            "https://example.org/?a=b",
            "https://example.org/#a",
            "api.cloudflare.com",
            "",
        ];
        for url in refused {
            assert!(checked_url(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_token_is_one_word() {
        assert!(checked_token("YQSn-xWAQiiEh9qM58wZNnyQS7FUdoqGIUAbrh7T").is_ok());
        for token in ["", "a b", "a\n", "ä", &"a".repeat(LONGEST_TOKEN + 1)] {
            assert!(checked_token(token).is_err(), "{token}");
        }
    }
}
