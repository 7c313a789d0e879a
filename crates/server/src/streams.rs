//! Answers that go on until one side ends them: followers and downloads. Each organization has a bounded number of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::metrics::gauge::Gauge;
use uuid::Uuid;

use crate::error::{Error, Result};

/// When a caller for whom there is no room may try again.
const RETRY_SECONDS: u64 = 10;

/// Streams of one kind, which have a limit of their own.
pub struct Streams {
    /// What is done with them, for the message.
    what: &'static str,
    /// How many each organization may have open.
    limit: usize,
    /// How many each has open.
    open: Mutex<HashMap<Uuid, usize>>,
    /// How many there are in all.
    gauge: Gauge,
}

/// One that is open. It counts until it is dropped.
pub struct OpenStream {
    streams: Arc<Streams>,
    pub organization_id: Uuid,
}

impl Streams {
    pub fn new(what: &'static str, limit: usize, gauge: Gauge) -> Arc<Self> {
        Arc::new(Self { what, limit, open: Mutex::default(), gauge })
    }

    pub fn open(self: &Arc<Self>, organization_id: Uuid) -> Result<OpenStream> {
        let mut open = self.open.lock();
        let count = open.entry(organization_id).or_default();
        if *count >= self.limit {
            let message = format!("{} {} times at once, which is the limit.", self.what, self.limit);
            return Err(Error::rate_limited(message, RETRY_SECONDS));
        }
        *count += 1;
        self.gauge.inc();
        Ok(OpenStream { streams: self.clone(), organization_id })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.streams.gauge.dec();
        let mut open = self.streams.open.lock();
        if let Some(count) = open.get_mut(&self.organization_id) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.organization_id);
            }
        }
    }
}
