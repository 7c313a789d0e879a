//! The addresses of a host, looked up once for a fetch: what was looked at is what is called, whatever DNS says by then.

use std::net::IpAddr;
use std::time::Duration;

use windlass_api::{RepositoryAddress, Transport};

use super::error::FetchError;

/// How long the addresses of a host are looked for.
const LOOKUP: Duration = Duration::from_secs(10);

/// The host of a repository on the web.
pub struct Pinned {
    /// As the address has it.
    host: String,
    port: u16,
    pub addresses: Vec<IpAddr>,
}

impl Pinned {
    pub async fn look_up(address: &RepositoryAddress) -> Result<Self, FetchError> {
        let usual_port = if address.transport() == Transport::Http { "80" } else { "443" };
        let authority = address.authority().unwrap_or_default();
        let with_port = authority.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        let (host, port) = with_port.unwrap_or((authority, usual_port));
        let unreachable = |why: &str| FetchError::Unreachable { text: format!("{host}: {why}") };
        let port: u16 = port.parse().map_err(|_| unreachable("its port is none"))?;
        let looking = tokio::time::timeout(LOOKUP, tokio::net::lookup_host((name_of(host), port))).await;
        let addresses: Vec<IpAddr> = match looking {
            Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
            Ok(Err(error)) => return Err(unreachable(&error.to_string())),
            Err(_) => return Err(unreachable("its addresses could not be found in time")),
        };
        match addresses.is_empty() {
            true => Err(unreachable("it has no address")),
            false => Ok(Self { host: host.to_owned(), port, addresses }),
        }
    }

    /// `host:port:address`, as git is told. Empty for a host that is an address: there is nothing that DNS could change.
    pub fn for_git(&self) -> String {
        if name_of(&self.host).parse::<IpAddr>().is_ok() {
            return String::new();
        }
        let shown = |address: &IpAddr| match address {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        let addresses: Vec<_> = self.addresses.iter().map(shown).collect();
        format!("{}:{}:{}", self.host, self.port, addresses.join(","))
    }
}

/// Without the brackets of an address.
fn name_of(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}
