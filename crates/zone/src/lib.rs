//! Changes texts in the DNS zones that the operator lets Windlass change: at a name server with a key, or at Cloudflare with a
//! token. Each change touches one value of one name, and can be done again: what is there is added, and what is not there is
//! removed, without a complaint.
//!
//! `record` is what is changed. `name_server` sends it as `update` writes it, signed with a `key`; `cloudflare` calls an API.

mod cloudflare;
mod error;
mod exchange;
mod key;
mod name_server;
mod record;
mod update;

use std::net::SocketAddr;
use std::sync::Arc;

pub use cloudflare::Cloudflare;
pub use error::{SettingError, ZoneError};
pub use key::TsigKey;
pub use name_server::NameServer;
use record::TextRecord;
use windlass_outgoing::Outgoing;

/// Where zones are changed.
#[derive(Clone, Debug)]
pub enum Provider {
    Rfc2136(NameServer),
    Cloudflare(Cloudflare),
}

impl Provider {
    /// The primary server of the zones, and the key that it knows.
    pub fn rfc2136(server: SocketAddr, key: TsigKey) -> Self {
        Self::Rfc2136(NameServer::new(server, key))
    }

    /// An account at Cloudflare: the address of its API ([`Cloudflare::BASE_URL`], unless a proxy is before it), and a token that
    /// may read zones and edit their records.
    pub fn cloudflare(base_url: &str, token: &str, outgoing: Arc<Outgoing>) -> Result<Self, SettingError> {
        Ok(Self::Cloudflare(Cloudflare::new(base_url, token, outgoing)?))
    }

    /// Adds a TXT record beside those that the name has.
    pub async fn add_text(&self, zone: &str, name: &str, value: &str) -> Result<(), ZoneError> {
        let record = TextRecord::new(zone, name, value)?;
        match self {
            Self::Rfc2136(server) => server.add(&record).await,
            Self::Cloudflare(account) => account.add(&record).await,
        }
    }

    /// Removes the TXT record with this value.
    pub async fn remove_text(&self, zone: &str, name: &str, value: &str) -> Result<(), ZoneError> {
        let record = TextRecord::new(zone, name, value)?;
        match self {
            Self::Rfc2136(server) => server.remove(&record).await,
            Self::Cloudflare(account) => account.remove(&record).await,
        }
    }
}
