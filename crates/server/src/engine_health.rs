//! Whether the container engine answers, as it was last seen.

use std::sync::{PoisonError, RwLock};

/// Nothing is known before the first look.
#[derive(Default)]
pub struct EngineHealth(RwLock<Option<Result<(), String>>>);

impl EngineHealth {
    /// Why it cannot be used; nothing when it can.
    pub fn problem(&self) -> Option<String> {
        match self.seen() {
            Some(seen) => seen.err(),
            None => Some("it was not asked yet".into()),
        }
    }

    pub fn is_known(&self) -> bool {
        self.seen().is_some()
    }

    pub fn set(&self, seen: Result<(), String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }

    fn seen(&self) -> Option<Result<(), String>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
