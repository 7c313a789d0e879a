//! What has gone through a tunnel.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub struct Traffic {
    started: Instant,
    /// Bytes from the target, to the visitor.
    read: AtomicU64,
    /// Bytes from the visitor, to the target.
    written: AtomicU64,
    /// When the last byte moved, in milliseconds after `started`.
    moved: AtomicU64,
}

impl Traffic {
    pub fn new() -> Self {
        Self { started: Instant::now(), read: AtomicU64::new(0), written: AtomicU64::new(0), moved: AtomicU64::new(0) }
    }

    pub fn to_visitor(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub fn to_target(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    pub fn was_read(&self, bytes: usize) {
        self.count(&self.read, bytes);
    }

    pub fn was_written(&self, bytes: usize) {
        self.count(&self.written, bytes);
    }

    fn count(&self, counter: &AtomicU64, bytes: usize) {
        counter.fetch_add(bytes as u64, Ordering::Relaxed);
        let millis = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.moved.store(millis, Ordering::Relaxed);
    }

    /// Returns when no byte has moved for so long.
    pub async fn still_for(&self, limit: Duration) {
        loop {
            let moved = Duration::from_millis(self.moved.load(Ordering::Relaxed));
            match limit.checked_sub(self.started.elapsed().saturating_sub(moved)) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    }
}
