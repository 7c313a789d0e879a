//! Asks name servers what the machine's own resolver does not tell: which addresses a name has right now, and which certificate
//! authorities may issue for it. Nothing is kept from one question to the next.

mod exchange;
mod servers;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::{Name, RData, RecordType};

use exchange::ask;
pub use servers::of_machine;

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
            let issuers: Vec<Issuer> = records.iter().filter_map(issuer).collect();
            if !issuers.is_empty() {
                return Ok(issuers);
            }
            match rest.split_once('.') {
                Some((_, above)) if !above.is_empty() => rest = above,
                _ => break,
            }
        }
        Ok(Vec::new())
    }

    async fn records(&self, name: &str, kind: RecordType) -> Result<Vec<RData>, DnsError> {
        let asked = Name::from_ascii(format!("{name}.")).map_err(|_| DnsError::BadName(name.to_owned()))?;
        let mut last = DnsError::NoServers;
        for server in &self.servers {
            let no_answer = |reason: String| DnsError::NoAnswer { name: name.to_owned(), reason };
            match ask(*server, &asked, kind).await {
                Ok(answer) => match answer.metadata.response_code {
                    ResponseCode::NoError | ResponseCode::NXDomain => {
                        return Ok(answer.answers.into_iter().map(|record| record.data).collect());
                    }
                    other => last = no_answer(format!("{server} says {other}")),
                },
                Err(error) => last = no_answer(format!("{server}: {error}")),
            }
        }
        Err(last)
    }
}

fn issuer(data: &RData) -> Option<Issuer> {
    let RData::CAA(record) = data else { return None };
    let of_wildcards = match record.tag.to_ascii_lowercase().as_str() {
        "issue" => false,
        "issuewild" => true,
        // What is not understood forbids to issue, if it says that it must be understood.
        _ if record.issuer_critical => return Some(Issuer { of_wildcards: false, name: None }),
        _ => return None,
    };
    let value = String::from_utf8_lossy(&record.value);
    let name = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Some(Issuer { of_wildcards, name: Some(name).filter(|name| !name.is_empty()) })
}
