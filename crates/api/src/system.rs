//! The state of the server itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    pub version: String,
    /// Every dependency answers.
    pub ready: bool,
    pub dependencies: Vec<Dependency>,
    pub build_cache: BuildCache,
    /// What is not as safe as it could be, in words; often nothing.
    pub warnings: Vec<String>,
}

/// What the container engine keeps of builds so that the next one is faster.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct BuildCache {
    /// When it was last looked at; 0 before that.
    pub bytes: i64,
    /// More is removed, the oldest first; 0 when there is no limit.
    pub budget_bytes: i64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    pub name: String,
    pub ready: bool,
    /// Why it is not ready; empty when it is.
    pub reason: String,
}
