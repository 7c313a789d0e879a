//! Names into addresses, a few at a time: the system's resolver takes a thread for each.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::error::{Error, Result};

/// How long a name may take before it counts as one that does not resolve now, and how long a caller waits for its
/// turn.
const LOOKUP_LIMIT: Duration = Duration::from_secs(3);
const LOOKUPS: usize = 8;

pub struct Resolver(Arc<Semaphore>);

impl Default for Resolver {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LOOKUPS)))
    }
}

impl Resolver {
    /// Nothing when the name does not resolve, or not in time. Fails when too many others are being resolved: not to
    /// have looked is not the same as not to have found.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>> {
        let name = name.to_owned();
        let turn = tokio::time::timeout(LOOKUP_LIMIT, self.0.clone().acquire_owned()).await;
        let Ok(Ok(permit)) = turn else {
            return Err(Error::unavailable(
                "Too many names are being looked up. Try again in a moment.",
                "all turns taken",
            ));
        };
        // In a task of its own: the lookup goes on when its caller has stopped waiting, and keeps its place until it
        // ends.
        let lookup = tokio::spawn(async move {
            let _permit = permit;
            let found = tokio::net::lookup_host((name, 0)).await.ok()?;
            Some(found.map(|address| address.ip()).collect())
        });
        let found = tokio::time::timeout(LOOKUP_LIMIT, lookup).await;
        Ok(found.ok().and_then(std::result::Result::ok).flatten().unwrap_or_default())
    }
}
