//! The servers of a zone, each asked by itself: a change is at some of them before it is at the others.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::future::join_all;
use hickory_proto::rr::{RData, RecordType};

use crate::{DnsError, Resolver, records_at, texts_among};

const PORT: u16 = 53;
/// Of a zone with more, the first ones tell whether changes arrive.
const MOST_SERVERS: usize = 8;
/// Of one server. The others lead to the same one.
const MOST_ADDRESSES: usize = 4;
/// For one server, at all its addresses. The servers are asked at the same time.
const LIMIT: Duration = Duration::from_secs(15);

/// A server that speaks for a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneServer {
    /// By which the zone names it.
    pub name: String,
    /// Asked one after the other, until one answers.
    pub addresses: Vec<SocketAddr>,
}

/// A server that does not have a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Without {
    pub server: String,
    /// Why it is not known whether it has the text; none if it said so.
    pub problem: Option<DnsError>,
}

impl ZoneServer {
    /// One that is known by its address.
    pub fn at(address: SocketAddr) -> Self {
        Self { name: address.to_string(), addresses: vec![address] }
    }

    /// The texts that this server itself has for a name.
    pub async fn texts(&self, name: &str) -> Result<Vec<String>, DnsError> {
        let asking = records_at(&self.addresses, name, RecordType::TXT, false);
        let too_late = |_| DnsError::NoAnswer { name: name.to_owned(), reason: "timed out".into() };
        Ok(texts_among(tokio::time::timeout(LIMIT, asking).await.map_err(too_late)??))
    }

    /// None if it has the text.
    async fn without(&self, name: &str, text: &str) -> Option<Without> {
        let problem = match self.texts(name).await {
            Ok(texts) if texts.iter().any(|found| found == text) => return None,
            Ok(_) => None,
            Err(problem) => Some(problem),
        };
        Some(Without { server: self.name.clone(), problem })
    }
}

/// Which of a zone's servers do not have a text (yet). Empty when all have it.
pub async fn servers_without_text(servers: &[ZoneServer], name: &str, text: &str) -> Vec<Without> {
    let asking = servers.iter().take(MOST_SERVERS).map(|server| server.without(name, text));
    join_all(asking).await.into_iter().flatten().collect()
}

impl Resolver {
    /// The servers that speak for a zone. Empty if there is no zone of this name.
    pub async fn servers_of_zone(&self, zone: &str) -> Result<Vec<ZoneServer>, DnsError> {
        let name = |data: RData| match data {
            RData::NS(server) => Some(server.0.to_lowercase().to_ascii().trim_end_matches('.').to_owned()),
            _ => None,
        };
        let mut names: Vec<String> = self.records(zone, RecordType::NS).await?.into_iter().filter_map(name).collect();
        // Name servers tell them in another order each time.
        names.sort();
        names.dedup();
        names.truncate(MOST_SERVERS);
        Ok(join_all(names.into_iter().map(|name| self.zone_server(name))).await)
    }

    /// One whose address is not found has none. It is not left out: an authority may try to ask it.
    async fn zone_server(&self, name: String) -> ZoneServer {
        let found = tokio::time::timeout(LIMIT, self.addresses(&name)).await;
        let found = found.ok().and_then(Result::ok).unwrap_or_default().into_iter().take(MOST_ADDRESSES);
        ZoneServer { addresses: found.map(|address| SocketAddr::new(address, PORT)).collect(), name }
    }
}
