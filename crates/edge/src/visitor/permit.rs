//! How many connections there may be: in all, and from one address.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::addresses::{Counted, HouseholdCounts};
use crate::settings::Settings;

#[derive(Clone)]
pub struct ConnectionPermits {
    all: Arc<Semaphore>,
    addresses: HouseholdCounts,
}

/// The permission to be connected, given back when it is dropped.
pub struct ConnectionPermit {
    open: Option<OpenCount>,
    _of_address: Option<Counted>,
    _one_of_all: OwnedSemaphorePermit,
}

impl ConnectionPermits {
    pub fn new(settings: &Settings, listeners: usize) -> Self {
        // Each listener holds one for the connection that comes next.
        let all = Arc::new(Semaphore::new(settings.max_connections - 1 + listeners.max(1)));
        Self { all, addresses: HouseholdCounts::new(settings.containers) }
    }

    /// Waits until there may be one more connection.
    pub async fn next(&self) -> Option<OwnedSemaphorePermit> {
        self.all.clone().acquire_owned().await.ok()
    }

    /// A permit for a connection, unless its address has enough of them.
    pub fn permit(
        &self,
        settings: &Settings,
        one_of_all: OwnedSemaphorePermit,
        peer: SocketAddr,
    ) -> Option<ConnectionPermit> {
        let is_unlimited =
            settings.address_connections == 0 || settings.trusted_proxies.contains(&peer.ip().to_canonical());
        let of_address = match is_unlimited {
            true => None,
            false => Some(self.addresses.add(peer.ip(), settings.address_connections)?),
        };
        Some(ConnectionPermit { open: None, _of_address: of_address, _one_of_all: one_of_all })
    }
}

impl ConnectionPermit {
    /// The connection is one of those that a worker has open.
    pub fn count(&mut self, open: Arc<AtomicUsize>) {
        self.open = Some(OpenCount::new(open));
    }
}

/// One of the connections that a worker has open.
struct OpenCount(Arc<AtomicUsize>);

impl OpenCount {
    fn new(count: Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for OpenCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
