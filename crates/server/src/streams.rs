//! Answers that go on until one side ends them: followers and downloads. Each organization has a bounded number of them.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

use crate::app::App;
use crate::error::{Error, Result};

/// When a caller for whom there is no room may try again.
const RETRY_SECONDS: u64 = 10;

/// What is streamed. Each has a limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    Logs,
    Events,
}

/// How many each organization has open.
#[derive(Default)]
pub struct Streams(Mutex<HashMap<(StreamKind, Uuid), usize>>);

/// One that is open. It counts until it is dropped.
pub struct OpenStream {
    app: Arc<App>,
    kind: StreamKind,
    pub organization_id: Uuid,
}

impl OpenStream {
    pub fn open(app: &Arc<App>, kind: StreamKind, organization_id: Uuid) -> Result<Self> {
        let (most, what) = match kind {
            StreamKind::Logs => (app.config.log_followers, "The logs of this organization are followed or downloaded"),
            StreamKind::Events => (app.config.event_followers, "The events of this organization are followed"),
        };
        let mut open = app.streams.0.lock();
        let count = open.entry((kind, organization_id)).or_default();
        if *count >= most {
            let message = format!("{what} {most} times at once, which is the limit.");
            return Err(Error::rate_limited(message, RETRY_SECONDS));
        }
        *count += 1;
        app.metrics.open_streams(kind).inc();
        Ok(Self { app: app.clone(), kind, organization_id })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.app.metrics.open_streams(self.kind).dec();
        let mut open = self.app.streams.0.lock();
        if let Some(count) = open.get_mut(&(self.kind, self.organization_id)) {
            *count -= 1;
            if *count == 0 {
                open.remove(&(self.kind, self.organization_id));
            }
        }
    }
}
