//! Accepting visitors: how many, how many from one address, and which worker serves them.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::edge::Edge;
use crate::workers::{Open, Workers};

/// The places that there are for connections.
#[derive(Clone)]
pub struct Door {
    edge: Arc<Edge>,
    places: Arc<Semaphore>,
    addresses: Arc<Addresses>,
    workers: Arc<Workers>,
}

/// How many connections each address has.
#[derive(Default)]
struct Addresses(Mutex<HashMap<IpAddr, usize>>);

/// One connection's place, given back when it is dropped.
pub struct Place {
    _permit: OwnedSemaphorePermit,
    address: Option<(IpAddr, Arc<Addresses>)>,
    open: Option<Open>,
}

impl Place {
    /// It is one of a worker's.
    pub fn count(&mut self, open: Open) {
        self.open = Some(open);
    }
}

impl Door {
    pub fn new(edge: Arc<Edge>, workers: Arc<Workers>, listeners: usize) -> Self {
        // Each listener holds one for whoever comes next.
        let places = Arc::new(Semaphore::new(edge.settings.max_connections - 1 + listeners.max(1)));
        Self { edge, places, addresses: Arc::default(), workers }
    }

    /// Accepts for as long as it is let.
    pub async fn accept(self, listener: Arc<TcpListener>) {
        loop {
            // Those who find no place wait in the system's queue.
            let Ok(permit) = self.places.clone().acquire_owned().await else { return };
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, most likely: waiting gives connections time to end.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Some(place) = self.place(permit, peer) else {
                self.edge.refused.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            match stream.into_std() {
                Ok(stream) => self.workers.serve(stream, peer, place),
                Err(error) => tracing::warn!(%error, "could not hand a connection to its worker"),
            }
        }
    }

    /// A place for a connection, unless its address has enough of them.
    fn place(&self, permit: OwnedSemaphorePermit, peer: SocketAddr) -> Option<Place> {
        let settings = &self.edge.settings;
        let address = peer.ip().to_canonical();
        if settings.address_connections == 0 || settings.trusted_proxies.contains(&address) {
            return Some(Place { _permit: permit, address: None, open: None });
        }
        let mut addresses = self.addresses.lock();
        let count = addresses.entry(address).or_default();
        if *count >= settings.address_connections {
            return None;
        }
        *count += 1;
        drop(addresses);
        Some(Place { _permit: permit, address: Some((address, self.addresses.clone())), open: None })
    }
}

impl Addresses {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
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
