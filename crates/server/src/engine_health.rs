//! Whether the container engine answers, as it was last seen.

use std::sync::{PoisonError, RwLock};

/// The problem, if there is one. Before the first look nothing is known, which is one.
pub struct EngineHealth(RwLock<Option<String>>);

impl Default for EngineHealth {
    fn default() -> Self {
        Self(RwLock::new(Some("it was not asked yet".into())))
    }
}

impl EngineHealth {
    pub fn problem(&self) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn set(&self, problem: Option<String>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = problem;
    }
}
