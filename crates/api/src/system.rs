//! The state of the server itself.

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub struct Health {
    pub version: String,
    /// Every dependency answers.
    pub ready: bool,
    pub dependencies: Vec<Dependency>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Dependency {
    pub name: String,
    pub ready: bool,
    /// Why it is not ready; empty when it is.
    pub reason: String,
}
