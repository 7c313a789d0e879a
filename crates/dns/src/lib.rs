//! Asks name servers what the machine's own resolver does not tell: which addresses a name has right now, which certificate
//! authorities may issue for it, and which servers of its zone have heard of a change. Nothing is kept from one question to the
//! next.

mod exchange;
mod servers;
mod zone;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{Name, RData, RecordType};

use exchange::{Asked, ask};
pub use servers::of_machine;
pub use zone::{Without, ZoneServer, servers_without_text};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DnsError {
    #[error("{0} is not a name that DNS knows how to ask for")]
    BadName(String),
    #[error("there is no name server to ask")]
    NoServers,
    /// It may have one later.
    #[error("the name servers gave no answer about {name}: {reason}")]
    NoAnswer { name: String, reason: String },
}

/// Asks one name server after the other until one answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolver {
    servers: Vec<SocketAddr>,
}

/// What a CAA record says (RFC 8659).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// Whether it is about wildcards alone.
    pub of_wildcards: bool,
    /// The authority's name for itself; none where no authority may issue.
    pub name: Option<String>,
}

/// A name has fewer labels than this.
const MOST_LABELS: usize = 127;

impl Resolver {
    pub fn new(servers: Vec<SocketAddr>) -> Self {
        Self { servers }
    }

    /// Every address of a name, also of the name that it is another name for. Empty when it has none.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, DnsError> {
        let (four, six) = tokio::join!(self.records(name, RecordType::A), self.records(name, RecordType::AAAA));
        let address = |data: RData| match data {
            RData::A(address) => Some(IpAddr::from(address.0)),
            RData::AAAA(address) => Some(IpAddr::from(address.0)),
            _ => None,
        };
        // A set: an address that is listed twice is one address.
        let all: BTreeSet<IpAddr> = four?.into_iter().chain(six?).filter_map(address).collect();
        Ok(all.into_iter().collect())
    }

    /// The authorities that may issue for a name: what the name says, or else the closest name above it. Empty when all may.
    pub async fn issuers(&self, name: &str) -> Result<Vec<Issuer>, DnsError> {
        let mut rest = name;
        for _ in 0..MOST_LABELS {
            let records = self.records(rest, RecordType::CAA).await?;
            // The closest name that has any decides, also if it says nothing about who may issue.
            if records.iter().any(|data| matches!(data, RData::CAA(_))) {
                let issuer = |data: &RData| match data {
                    RData::CAA(record) => issuer(&record.tag, &record.value, record.issuer_critical),
                    _ => None,
                };
                return Ok(records.iter().filter_map(issuer).collect());
            }
            match rest.split_once('.') {
                Some((_, above)) if !above.is_empty() => rest = above,
                _ => break,
            }
        }
        Ok(Vec::new())
    }

    /// The texts that a name has, each in one piece.
    pub async fn texts(&self, name: &str) -> Result<Vec<String>, DnsError> {
        Ok(texts_among(self.records(name, RecordType::TXT).await?))
    }

    async fn records(&self, name: &str, kind: RecordType) -> Result<Vec<RData>, DnsError> {
        records_at(&self.servers, name, kind, true).await
    }
}

/// What the first server says that answers at all.
async fn records_at(
    servers: &[SocketAddr],
    name: &str,
    kind: RecordType,
    of_others: bool,
) -> Result<Vec<RData>, DnsError> {
    let full_name = Name::from_ascii(format!("{name}.")).map_err(|_| DnsError::BadName(name.to_owned()))?;
    let asked = Asked { name: &full_name, kind, of_others };
    let mut last = DnsError::NoServers;
    for server in servers {
        let no_answer = |reason: String| DnsError::NoAnswer { name: name.to_owned(), reason };
        match ask(*server, asked).await {
            Ok(answer) => match answer.metadata.response_code {
                ResponseCode::NoError | ResponseCode::NXDomain => {
                    return Ok(answer.answers.into_iter().map(|record| record.data).collect());
                }
                // Which server said so is not for tenants to know.
                other => last = no_answer(other.to_string()),
            },
            Err(error) => last = no_answer(error.kind().to_string()),
        }
    }
    Err(last)
}

fn texts_among(records: Vec<RData>) -> Vec<String> {
    let text = |data: RData| match data {
        RData::TXT(record) => Some(record.txt_data.iter().map(|part| String::from_utf8_lossy(part)).collect()),
        _ => None,
    };
    records.into_iter().filter_map(text).collect()
}

/// None for what says nothing about who may issue.
fn issuer(tag: &str, value: &[u8], is_critical: bool) -> Option<Issuer> {
    let of_wildcards = match tag.to_ascii_lowercase().as_str() {
        "issue" => false,
        "issuewild" => true,
        // What is not understood forbids to issue, if it says that it must be understood.
        _ if is_critical => return Some(Issuer { of_wildcards: false, name: None }),
        _ => return None,
    };
    let value = String::from_utf8_lossy(value);
    let name = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(Issuer { of_wildcards, name: Some(name).filter(|name| !name.is_empty()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(tag: &str, value: &str, is_critical: bool) -> Option<Issuer> {
        issuer(tag, value.as_bytes(), is_critical)
    }

    #[test]
    fn records_say_who_may_issue() {
        let named = |name: &str, of_wildcards| Some(Issuer { of_wildcards, name: Some(name.to_owned()) });
        let none = Some(Issuer { of_wildcards: false, name: None });
        assert_eq!(
            record("issue", "LetsEncrypt.org; validationmethods=http-01", false),
            named("letsencrypt.org", false)
        );
        assert_eq!(record("IssueWild", " ca.example.org ", false), named("ca.example.org", true));
        assert_eq!(record("issue", ";", false), none);
        assert_eq!(record("iodef", "mailto:ops@example.org", false), None);
        assert_eq!(record("later", "x", true), none, "what must be understood, and is not");
    }
}
