//! What sends calls.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use tokio::net::TcpStream;
use tokio::sync::mpsc::Sender;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::call::Destination;
use crate::connect::connect;
use crate::exchange::{Take, exchange};
use crate::lookup::Lookup;
use crate::{Answer, Call, CallError, RootsError, tls};

#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Whether calls may go to addresses that are not the internet's.
    pub allow_private: bool,
    /// A PEM file of root certificates to trust beside the machine's.
    pub extra_roots: Option<PathBuf>,
}

/// Made once and shared. Each call has a connection of its own; nothing of one is left for the next.
pub struct Outgoing {
    lookup: Lookup,
    connector: Option<TlsConnector>,
}

impl Outgoing {
    /// Reads the root certificates. A machine without any is no error here, because http works without them.
    pub async fn new(settings: Settings) -> Result<Self, RootsError> {
        let Settings { allow_private, extra_roots } = settings;
        let path = extra_roots.clone().unwrap_or_default();
        let roots = tokio::task::spawn_blocking(move || tls::load_roots(extra_roots.as_deref()))
            .await
            .map_err(|error| RootsError { path, reason: error.to_string() })??;
        Ok(Self { lookup: Lookup::new(allow_private), connector: tls::connector(roots) })
    }

    /// The answer, whatever its status. When the future is dropped the connection closes.
    pub async fn send(&self, call: Call) -> Result<Answer, CallError> {
        self.send_in_time(call, None, Take::Whole).await
    }

    /// The same for a caller to whom the status says enough: of the body only the beginning is read, however long it is.
    pub async fn send_for_status(&self, call: Call) -> Result<Answer, CallError> {
        self.send_in_time(call, None, Take::Beginning).await
    }

    /// The same for an answer that is too large to be kept in memory: if its status is 200, its body goes to `pieces` while it comes, and
    /// ends early when the receiver of them is gone. The answer that is returned has none.
    pub async fn download(&self, call: Call, pieces: &Sender<Bytes>) -> Result<Answer, CallError> {
        self.send_in_time(call, None, Take::Pieces(pieces)).await
    }

    /// The same as `send` at addresses that the caller has looked up. They are checked as others are.
    pub async fn send_at(&self, call: Call, addresses: Vec<IpAddr>) -> Result<Answer, CallError> {
        self.send_in_time(call, Some(addresses), Take::Whole).await
    }

    /// The same as `send_for_status` at such addresses.
    pub async fn send_for_status_at(&self, call: Call, addresses: Vec<IpAddr>) -> Result<Answer, CallError> {
        self.send_in_time(call, Some(addresses), Take::Beginning).await
    }

    /// The same as `download` at such addresses.
    pub async fn download_at(
        &self,
        call: Call,
        addresses: Vec<IpAddr>,
        pieces: &Sender<Bytes>,
    ) -> Result<Answer, CallError> {
        self.send_in_time(call, Some(addresses), Take::Pieces(pieces)).await
    }

    async fn send_in_time(&self, call: Call, at: Option<Vec<IpAddr>>, take: Take<'_>) -> Result<Answer, CallError> {
        let to = Destination::of(&call.url)?;
        let limit = call.limits.time;
        // On the heap, because a TLS connection is large and callers hold this future.
        let unlimited = Box::pin(self.send_to(&to, call, at, take));
        let too_late = |_| CallError::TimedOut { host: to.name(), limit };
        tokio::time::timeout(limit, unlimited).await.map_err(too_late)?
    }

    async fn send_to(
        &self,
        to: &Destination,
        call: Call,
        at: Option<Vec<IpAddr>>,
        take: Take<'_>,
    ) -> Result<Answer, CallError> {
        // Before the lookup: a call that cannot be made needs none.
        self.connector_for(to)?;
        let addresses = match at {
            Some(at) => {
                let addresses = at.into_iter().map(|address| SocketAddr::new(address, to.port)).collect();
                self.lookup.allowed(to, addresses)?
            }
            None => self.lookup.addresses(to).await?,
        };
        self.exchange_at(to, call, addresses, take).await
    }

    async fn exchange_at(
        &self,
        to: &Destination,
        call: Call,
        addresses: Vec<SocketAddr>,
        take: Take<'_>,
    ) -> Result<Answer, CallError> {
        let (host, limits) = (to.name(), call.limits);
        let connector = self.connector_for(to)?;
        let request = call.into_request()?;
        let stream = connect(&host, addresses, limits.time).await?;
        match connector {
            None => exchange(&host, stream, request, limits.answer_bytes, take).await,
            Some(connector) => {
                let stream = tls::secure(connector, to, stream).await?;
                exchange(&host, stream, request, limits.answer_bytes, take).await
            }
        }
    }

    /// A connection to a host for a protocol that is not HTTP: to one of its addresses, of which all were checked. The caller limits the
    /// time of the whole; `time` is shared by the addresses.
    pub async fn connect(&self, host: &str, port: u16, time: Duration) -> Result<TcpStream, CallError> {
        let to = Destination::of_host(host, port)?;
        let addresses = self.lookup.addresses(&to).await?;
        connect(&to.name(), addresses, time).await
    }

    /// TLS over such a connection, with a certificate for this host.
    pub async fn secure(&self, host: &str, stream: TcpStream) -> Result<TlsStream<TcpStream>, CallError> {
        let to = Destination::of_host(host, 0)?;
        let connector = self.connector.as_ref().ok_or(CallError::NoRoots)?;
        tls::secure(&tls::without_protocol(connector), &to, stream).await
    }

    fn connector_for(&self, to: &Destination) -> Result<Option<&TlsConnector>, CallError> {
        if !to.is_https {
            return Ok(None);
        }
        self.connector.as_ref().map(Some).ok_or(CallError::NoRoots)
    }
}

#[cfg(test)]
mod tests {
    use hyper::{HeaderMap, Method};

    use super::*;
    use crate::Limits;

    #[tokio::test]
    async fn a_machine_without_roots_calls_no_https_address() {
        let outgoing = Outgoing { lookup: Lookup::new(true), connector: None };
        let limits = Limits { time: Duration::from_secs(10), answer_bytes: 1 };
        let url = "https://127.0.0.1:1/".parse().unwrap();
        let call = Call { method: Method::GET, url, headers: HeaderMap::new(), body: "".into(), limits };
        assert_eq!(outgoing.send(call).await.unwrap_err(), CallError::NoRoots);
    }
}
