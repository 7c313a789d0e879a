//! How many connections there may be: in all, and from one address.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::settings::Settings;

#[derive(Clone)]
pub struct ConnectionPermits {
    all: Arc<Semaphore>,
    addresses: Arc<AddressCounts>,
}

/// How many connections each address has.
type AddressCounts = Mutex<HashMap<IpAddr, usize>>;

/// The permission to be connected, given back when it is dropped.
pub struct ConnectionPermit {
    _one_of_all: OwnedSemaphorePermit,
    address: Option<(IpAddr, Arc<AddressCounts>)>,
    open: Option<OpenCount>,
}

impl ConnectionPermits {
    pub fn new(settings: &Settings, listeners: usize) -> Self {
        // Each listener holds one for the connection that comes next.
        let all = Arc::new(Semaphore::new(settings.max_connections - 1 + listeners.max(1)));
        Self { all, addresses: Arc::default() }
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
        let address = peer.ip().to_canonical();
        if settings.address_connections == 0 || settings.trusted_proxies.contains(&address) {
            return Some(ConnectionPermit { _one_of_all: one_of_all, address: None, open: None });
        }
        let mut addresses = self.addresses.lock();
        let count = addresses.entry(address).or_default();
        if *count >= settings.address_connections {
            return None;
        }
        *count += 1;
        drop(addresses);
        let address = Some((address, self.addresses.clone()));
        Some(ConnectionPermit { _one_of_all: one_of_all, address, open: None })
    }
}

impl ConnectionPermit {
    /// The connection is one of those that a worker has open.
    pub fn count(&mut self, open: Arc<AtomicUsize>) {
        self.open = Some(OpenCount::new(open));
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.open = None;
        if let Some((address, addresses)) = &self.address {
            let mut addresses = addresses.lock();
            match addresses.get_mut(address) {
                Some(count) if *count > 1 => *count -= 1,
                _ => {
                    addresses.remove(address);
                }
            }
        }
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
