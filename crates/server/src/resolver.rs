//! Names into addresses, a few at a time: the system's resolver takes a thread for each.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// How long a name may take before it counts as one that does not resolve now.
const PATIENCE: Duration = Duration::from_secs(3);
const LOOKUPS: usize = 8;

pub struct Resolver(Arc<Semaphore>);

impl Default for Resolver {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LOOKUPS)))
    }
}

impl Resolver {
    /// Nothing when the name does not resolve, or not in time.
    pub async fn addresses(&self, name: &str) -> Vec<IpAddr> {
        let (permits, name) = (self.0.clone(), name.to_owned());
        // In a task of its own: the lookup goes on when nobody waits any more, and keeps its place until it ends.
        let lookup = tokio::spawn(async move {
            let _permit = permits.acquire_owned().await.ok()?;
            let found = tokio::net::lookup_host((name, 0)).await.ok()?;
            Some(found.map(|address| address.ip()).collect())
        });
        tokio::time::timeout(PATIENCE, lookup).await.ok().and_then(Result::ok).flatten().unwrap_or_default()
    }
}
