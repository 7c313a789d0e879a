//! What an uninstallation has to do, step by step, as its rows say it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use windlass_store::executions::Step;

/// What a step of an uninstallation removes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "of", rename_all = "snake_case")]
pub enum Target {
    /// All containers and domains, and with the end of it these volumes.
    Services {
        volumes: Vec<String>,
        /// Whether the installation goes although something of it is left.
        force: bool,
    },
    /// What a step of an earlier execution has done to the machine.
    Step { execution_id: Uuid, order: i64 },
}

impl Target {
    pub fn of(step: &Step) -> Result<Self, String> {
        serde_json::from_str(&step.undo).map_err(|error| format!("what to uninstall: {error}"))
    }

    pub fn is_forced(&self) -> bool {
        matches!(self, Self::Services { force: true, .. })
    }

    pub fn deleted_volumes(self) -> Vec<String> {
        match self {
            Self::Services { volumes, .. } => volumes,
            Self::Step { .. } => Vec::new(),
        }
    }
}
