//! Answers that go on until one side ends them: followers and downloads. Each organization and each user has a bounded
//! number of them, and so has the server, so that other callers find a connection.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use uuid::Uuid;

use crate::config::Config;
use crate::error::{Error, Result};

/// When a caller for whom there is no room may try again.
const RETRY_SECONDS: u64 = 10;
/// Streams of one kind take at most this part of the server's connections.
const PART_OF_CONNECTIONS: usize = 4;

/// Streams of one kind, which have a limit of their own.
pub struct Streams {
    /// What is done with them, for the message.
    what: &'static str,
    /// How many each organization, and each user, may have open.
    limit: usize,
    /// How many the server may have open.
    total_limit: usize,
    open: Mutex<Open>,
    /// How many there are in all.
    gauge: Gauge,
}

#[derive(Default)]
struct Open {
    total: usize,
    /// By the id of an organization or of a user.
    counts: HashMap<Uuid, usize>,
}

/// One that is open. It counts until it is dropped.
pub struct OpenStream {
    streams: Arc<Streams>,
    pub organization_id: Uuid,
    user_id: Uuid,
}

impl Streams {
    pub fn new(what: &'static str, limit: usize, config: &Config, gauge: Gauge) -> Arc<Self> {
        let total_limit = (config.max_connections / PART_OF_CONNECTIONS).max(1);
        Arc::new(Self { what, limit, total_limit, open: Mutex::default(), gauge })
    }

    pub fn open(self: &Arc<Self>, organization_id: Uuid, user_id: Uuid) -> Result<OpenStream> {
        let ids = [organization_id, user_id];
        let mut open = self.open.lock();
        if ids.iter().any(|id| open.counts.get(id).is_some_and(|count| *count >= self.limit)) {
            let message = format!(
                "{} {} times at once in this organization, or by you, which is the limit.",
                self.what, self.limit
            );
            return Err(Error::rate_limited(message, RETRY_SECONDS));
        }
        if open.total >= self.total_limit {
            let message = "This server has as many followers as it can take. Try again later.".to_owned();
            return Err(Error::rate_limited(message, RETRY_SECONDS));
        }
        open.total += 1;
        for id in ids {
            *open.counts.entry(id).or_default() += 1;
        }
        self.gauge.inc();
        Ok(OpenStream { streams: self.clone(), organization_id, user_id })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.gauge.dec();
        let mut open = self.streams.open.lock();
        open.total -= 1;
        for id in [self.organization_id, self.user_id] {
            if let Some(count) = open.counts.get_mut(&id) {
                *count -= 1;
                if *count == 0 {
                    open.counts.remove(&id);
                }
            }
        }
    }
}
