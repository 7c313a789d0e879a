//! Accepting visitors: how many, how many from one address, and which worker serves them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;

use super::permit::ConnectionPermits;
use super::workers::{AcceptedConnection, Workers};
use crate::edge::Edge;
use crate::scheme::Scheme;

#[derive(Clone)]
pub struct Acceptor {
    edge: Arc<Edge>,
    permits: ConnectionPermits,
    workers: Arc<Workers>,
}

impl Acceptor {
    pub fn new(edge: Arc<Edge>, workers: Arc<Workers>, listeners: usize) -> Self {
        let permits = ConnectionPermits::new(&edge.settings, listeners);
        Self { edge, permits, workers }
    }

    /// Accepts until its task is ended.
    pub async fn accept(self, scheme: Scheme, listener: Arc<TcpListener>) {
        loop {
            // Visitors beyond the limit wait in the system's queue.
            let Some(next) = self.permits.next().await else { return };
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, most likely: waiting gives connections time to end.
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Some(permit) = self.permits.permit(&self.edge.settings, next, peer) else {
                self.edge.refused.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            match stream.into_std() {
                Ok(stream) => self.workers.serve(AcceptedConnection { stream, scheme, peer, permit }),
                Err(error) => tracing::warn!(%error, "could not hand a connection to its worker"),
            }
        }
    }
}
